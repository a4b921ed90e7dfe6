"""minimize: quasi-Newton methods as loops that stay inside a program."""

import builtins
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad.bridge.flat import check_callable, function_name
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, describe, message
from funcgrad.core.tracebacks import api_boundary
from funcgrad.numpy._promote import as_value, cast, inexact_dtype, operand
from funcgrad.scipy.optimize._descent import Limits, State, dense, descend, limited
from funcgrad.scipy.optimize._line_search import value_and_gradient
from funcgrad.trace.value import aval_of

__all__ = ["OptimizeResults", "minimize"]

NAME = "scipy.optimize.minimize"
_BFGS = {"maxiter": None, "norm": np.inf, "gtol": 1e-5, "line_search_maxiter": 10}
_LIMITED = {
    "maxiter": None, "norm": np.inf, "gtol": 1e-5, "ftol": 2.220446049250313e-09, "maxcor": 10, "maxfun": None, "maxgrad": None,
    "maxls": 20,
}  # fmt: skip
_METHODS = {"bfgs": _BFGS, "l-bfgs": _LIMITED, "l-bfgs-experimental-do-not-rely-on-this": _LIMITED}


class OptimizeResults(NamedTuple):
    """What `minimize` found.

    x: the point; success: whether it satisfies the tolerance; status: 0 (it does), 1 (a limit of iterations or evaluations came
    first), 2 (no step made progress: the precision of the dtype is reached), 3 (the function or its gradient is not finite);
    fun, jac: the value and the gradient there; hess_inv: the estimate of the inverse Hessian, None where the method has none;
    nfev, njev, nit: evaluations of the function and the gradient, and iterations.

    >>> from funcgrad.scipy import optimize
    >>> optimize.minimize(lambda x: fnp.sum((x - 2.0) ** 2), fnp.zeros(3), method="BFGS").success
    Array(True, dtype=bool)
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def _options(method: Any, tol: Any, options: Any) -> dict[str, Any]:
    """The options of a method, with its defaults."""
    known = _METHODS.get(method.lower()) if isinstance(method, str) else None
    if known is None:
        near = "L-BFGS" if str(method).lower().startswith("l") else "BFGS"
        scipys = "; SciPy's minimize has other methods, and takes gradients from here: jac=fg.jit(fg.grad(fun))"
        raise UsageError(message(f"{NAME}: got method={method!r}", "'BFGS', 'L-BFGS'", f"method={near!r}{scipys}"))
    if not isinstance(options, (Mapping, type(None))):
        raise UsageError(message(f"{NAME}: got {describe(options)} for options", "a dict, or None", "options={'maxiter': 100}"))
    if tol is not None and (getattr(operand(tol, NAME, "tol"), "ndim", 0) or aval_of(tol).dtype in dt.COMPLEXES):
        raise UsageError(message(f"{NAME}: got {describe(tol)} for tol", "a real number, or None", "tol=1e-6"))
    given = dict(options or {})
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise UsageError(
            message(f"{NAME}: got the options {', '.join(unknown)} for {method}", ", ".join(known), "options={'maxiter': 100}")
        )
    # Who names a gradient is not content with a small decrease.
    asked = {} if tol is None else {"gtol": tol} | ({"ftol": 0.0} if "ftol" in known else {})
    return known | asked | given


@api_boundary
def minimize(
    fun: Callable[..., Any], x0: Any, args: tuple = (), *, method: str, tol: float | None = None, options: Any = None
) -> OptimizeResults:
    """A local minimum of a differentiable function.

    fun: `fun(x, *args)` -> a real scalar, for a vector x. x0: where to start, a vector of real numbers; integers become the
    default float. args: a tuple of further arguments. method: "BFGS" (Nocedal & Wright, 2006, algorithm 6.1), or "L-BFGS"
    (algorithm 7.4, for many variables; also by JAX's name "l-bfgs-experimental-do-not-rely-on-this"), each with a line search for
    the strong Wolfe conditions. tol: the gradient's norm that is small enough, as option gtol, with ftol 0. Returns: an
    `OptimizeResults`.

    options, of BFGS: maxiter (200 for each variable), gtol (1e-5), norm (the order of the gradient's norm, inf),
    line_search_maxiter (evaluations of one line search, 10). Of L-BFGS: maxiter, gtol, norm, ftol (the relative decrease that is
    small enough, 2.2e-9), maxcor (steps that are remembered, 10), maxfun, maxgrad (evaluations, no limit), maxls (as
    line_search_maxiter, 20).

    It runs as loops of the program: inside jit, and under vmap, where each example stops by itself. Raises UsageError for other
    methods and options, ShapeError where x0 is no vector or fun gives no scalar.

    >>> from funcgrad.scipy import optimize
    >>> rosenbrock = lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    >>> result = optimize.minimize(rosenbrock, np.array([-1.2, 1.0]), method="BFGS")
    >>> result.x.round(4).tolist(), bool(result.success)
    ([1.0, 1.0], True)
    """
    check_callable(NAME, fun)
    if not isinstance(args, tuple):
        raise UsageError(message(f"{NAME}: got {type(args).__name__} for args", "a tuple", "args=(a,)"))
    o = _options(method, tol, options)
    x = fnp.asarray(x0) if isinstance(x0, (list, tuple)) else as_value(x0, NAME, "x0")
    if x.ndim != 1:
        raise ShapeError(message(f"{NAME}: got x0 {x.aval.str_short()}", "a vector", "x0.reshape(-1), and reshape in fun"))
    if x.dtype in dt.COMPLEXES or x.dtype in dt.KEYS:
        raise DtypeError(
            message(f"{NAME}: got x0 {x.aval.str_short()}", "real numbers", "real and imaginary parts in one vector")
        )
    x = fnp.array(x, inexact_dtype(x.dtype))

    def scalar(x: Any) -> Any:
        out = as_value(fun(x, *args), NAME, "what fun returned")
        if out.size != 1 or out.dtype in dt.COMPLEXES or out.dtype in dt.KEYS:
            raise ShapeError(
                message(f"{NAME}: {function_name(fun)} returned {out.aval.str_short()}", "a real scalar", "fnp.sum(...)")
            )
        return cast(fnp.reshape(out, ()), x.dtype)

    n, d = x.shape[0], x.dtype
    whole = method.lower() == "bfgs"
    limit = 200 * builtins.max(n, 1) if o["maxiter"] is None else o["maxiter"]
    if whole:
        limits = Limits(o["gtol"], o["norm"], limit, o["line_search_maxiter"])
        memory = dense(n, d)
    else:
        most = [m for m in (o["maxfun"], o["maxgrad"]) if m is not None]
        limits = Limits(o["gtol"], o["norm"], limit, o["maxls"], o["ftol"], builtins.min(most, default=np.inf))
        memory = limited(n, d, builtins.max(1, int(o["maxcor"])))
    return _result(descend(value_and_gradient(scalar), x, memory, limits), whole)


def _result(s: State, whole: bool) -> OptimizeResults:
    finite = fnp.isfinite(s.value) & fnp.all(fnp.isfinite(s.gradient))
    zero, limit, stuck, wild = np.int64(0), np.int64(1), np.int64(2), np.int64(3)
    status = fnp.where(s.converged, zero, fnp.where(~finite, wild, fnp.where(s.failed, stuck, limit)))
    hess_inv = s.memory if whole else None
    return OptimizeResults(s.x, s.converged, status, s.value, s.gradient, hess_inv, s.nfev, s.nfev, s.nit)
