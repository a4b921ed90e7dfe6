"""Solutions of linear systems by products alone, as in `scipy.sparse.linalg`: cg, bicgstab, gmres.

A may be a matrix, or a linear function of pytrees like b. The methods run inside jit and vmap; derivatives are those of the
equation (`lax.custom_linear_solve`): they solve for another right-hand side, in reverse mode with the transposed function, by the
same method.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad.bridge.flat import as_values, function_name
from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.aval import shaped
from funcgrad.core.errors import ShapeError, TreeError, UsageError, message
from funcgrad.core.pytree import tree_flatten, tree_unflatten
from funcgrad.core.tracebacks import api_boundary
from funcgrad.ir.primitive import LinearArg
from funcgrad.lax.implicit import custom_linear_solve
from funcgrad.numpy._axes import static_int
from funcgrad.numpy._promote import as_value, cast, inexact_dtype
from funcgrad.ops.convert import stop_gradient
from funcgrad.scipy.sparse import _krylov as krylov
from funcgrad.trace.stage import stage
from funcgrad.trace.value import Value
from funcgrad.transforms.linearize import linearize
from funcgrad.transforms.transpose import backward

__all__ = ["bicgstab", "cg", "gmres"]

Method = Callable[..., tuple[Any, Any]]


# --- functions of flat vectors ----------------------------------------------------------------------------------


class _Shape:
    """The pytree that b is, as one vector of one dtype."""

    def __init__(self, name: str, b: Any):
        leaves, self.tree = tree_flatten(b)
        if not leaves:
            raise TreeError(message(f"{name}: got no array for b", "one array or more", "b=fnp.zeros(n)"))
        self.name, self.leaves = name, as_values(f"{name} b", leaves, b)
        self.shapes = [x.shape for x in self.leaves]
        self.dtype = inexact_dtype(fnp.result_type(*self.leaves))

    def flat(self, what: str, x: Any) -> Any:
        """A pytree like b as a vector."""
        leaves, given = tree_flatten(x)
        values = as_values(f"{self.name} {what}", leaves, x)
        if given != self.tree or [v.shape for v in values] != self.shapes:
            raise TreeError(
                message(
                    f"{self.name}: got {what} with the structure {given} and shapes {[v.shape for v in values]}",
                    f"those of b: {self.tree}, {self.shapes}",
                    "return the same pytree",
                )
            )
        return fnp.concatenate([fnp.reshape(cast(v, dt.promote_dtypes(self.dtype, v.dtype)), (-1,)) for v in values])

    def whole(self, v: Any) -> Any:
        """A vector as a pytree like b."""
        sizes = np.cumsum([0, *[int(np.prod(s)) for s in self.shapes]]).tolist()
        parts = [fnp.reshape(v[a:z], s) for a, z, s in zip(sizes, sizes[1:], self.shapes, strict=False)]
        return tree_unflatten(self.tree, parts)


def _product(shape: _Shape, what: str, f: Any) -> Callable[[Any], Any]:
    """A matrix or function as a function of flat vectors."""
    if callable(f):
        return lambda v: shape.flat(f"the outcome of {function_name(f)}", f(shape.whole(v)))
    matrix = fnp.asarray(f) if isinstance(f, Sequence) else f
    if not isinstance(matrix, (Value, np.ndarray)) or len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        got = getattr(matrix, "shape", type(f).__name__)
        raise ShapeError(
            message(f"{shape.name}: got {got} for {what}", "a square matrix, or a function", f"lambda x: {what} @ x")
        )
    if len(shape.shapes) != 1 or not shape.shapes[0] or shape.shapes[0][0] != matrix.shape[0]:
        raise ShapeError(
            message(
                f"{shape.name}: got a matrix {matrix.shape} for {what}, and b of shapes {shape.shapes}",
                "b with as many rows as the matrix",
                "check b.shape",
            )
        )
    return lambda v: shape.flat(
        what, tree_unflatten(shape.tree, [fnp.matmul(matrix, x) for x in tree_flatten(shape.whole(v))[0]])
    )


def _transposed(f: Callable[[Any], Any], like: Any) -> Callable[[Any], Any]:
    """The transpose of a linear function of a vector."""

    def run(ct: Any) -> Any:
        line = linearize(lambda v: [f(v)], [like])
        if not line.moving_out[0]:
            return fnp.zeros_like(like)
        (out,) = backward(line.jaxpr, line.residuals, [LinearArg(v.aval) for v in line.jaxpr.invars], [ct])
        return fnp.zeros_like(like) if out is None else out

    return run


def _solve(name: str, method: Method, A: Any, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, M: Any, hermitian: bool) -> Any:
    shape = _Shape(name, b)
    apply, rhs = _product(shape, "A", A), shape.flat("b", b)
    # A matrix or function that is wider than b gives a wider x.
    while True:
        program, _ = stage(lambda v: [apply(v)], [shaped(rhs.shape, rhs.dtype)])
        wide = dt.promote_dtypes(rhs.dtype, program.out_avals[0].dtype)
        if wide == rhs.dtype:
            break
        shape.dtype, rhs = wide, cast(rhs, wide)
    n = rhs.shape[0]
    precondition = (lambda v: v) if M is None else _product(shape, "M", M)
    for arg, given in (("tol", tol), ("atol", atol), ("maxiter", 1 if maxiter is None else maxiter)):
        as_value(given, name, arg)
    limit = 10 * n if maxiter is None else maxiter
    real = fnp.finfo(rhs.dtype).dtype
    enough = lambda size: fnp.maximum(tol * size, atol).astype(real)

    def by(preconditioner: Callable[[Any], Any]) -> Callable[..., Any]:
        def solve(matvec: Callable[[Any], Any], given: Any) -> Any:
            vector, least = given
            product = lambda v: matvec((v, fnp.zeros_like(least)))[0]
            least_size = fnp.abs(least)
            small = fnp.where(least_size > 0, least_size, enough(krylov.norm(vector)))
            x, info = method(product, lambda v: cast(preconditioner(v), v.dtype), vector, small, limit)
            return (x, least), info

        return solve

    # The second entry goes along: the residual that is small enough for b, where b - A x0 is solved for instead. Right-hand sides
    # of derivatives have 0 there, and are judged by their own size.
    system = lambda v: (cast(apply(v[0]), rhs.dtype), v[1])
    start = None if x0 is None else stop_gradient(cast(shape.flat("x0", x0), rhs.dtype))
    least = fnp.zeros((), real) if start is None else stop_gradient(enough(krylov.norm(rhs)))
    left = rhs if start is None else rhs - cast(apply(start), rhs.dtype)
    symmetric = hermitian and rhs.dtype not in dt.COMPLEXES
    back = by(precondition if M is None or symmetric else _transposed(precondition, fnp.zeros_like(rhs)))
    (x, _), info = custom_linear_solve(
        system, (left, least), by(precondition), transpose_solve=back, symmetric=symmetric, has_aux=True
    )
    return shape.whole(x if start is None else start + x), info


# --- the methods ------------------------------------------------------------------------------------------------


@api_boundary
def cg(
    A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, maxiter: Any = None, M: Any = None
) -> tuple[Any, Any]:
    """The solution x of A x = b by conjugate gradients, for A that is Hermitian and positive definite.

    A: a square matrix, or a linear function of pytrees like b. b: an array or pytree; integers become the default float. x0:
    where to start, like b (zeros). tol, atol: x is good where norm(b - A x) <= max(tol norm(b), atol). maxiter: the most
    iterations (10 for each unknown). M: a matrix or function that is about the inverse of A, Hermitian and positive definite too.
    Returns: (x, info), x like b; info is 0 where x is good, else the number of iterations. Differentiable in b and in what A is
    made of. Raises ShapeError or TreeError where the shapes do not fit. Method: Hestenes & Stiefel, 1952.

    >>> from funcgrad.scipy.sparse import linalg
    >>> x, info = linalg.cg(fnp.array([[4.0, 1.0], [1.0, 3.0]]), fnp.array([1.0, 2.0]))
    >>> x.round(4).tolist(), int(info)
    ([0.09090000391006470, 0.6363999843597412], 0)
    """
    return _solve("scipy.sparse.linalg.cg", krylov.conjugate_gradients, A, b, x0, tol, atol, maxiter, M, True)


@api_boundary
def bicgstab(
    A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, maxiter: Any = None, M: Any = None
) -> tuple[Any, Any]:
    """The solution x of A x = b by stabilised bi-conjugate gradients, for any A: two products an iteration, little memory.

    A: a square matrix, or a linear function of pytrees like b. b: an array or pytree; integers become the default float. x0:
    where to start, like b (zeros). tol, atol: x is good where norm(b - A x) <= max(tol norm(b), atol). maxiter: the most
    iterations (10 for each unknown). M: a matrix or function that is about the inverse of A. Returns: (x, info), x like b; info
    is 0 where x is good, else the number of iterations, or negative where the method broke down. Differentiable in b and in what
    A is made of. Raises ShapeError or TreeError where the shapes do not fit. Method: van der Vorst, 1992.

    >>> from funcgrad.scipy.sparse import linalg
    >>> shifted = lambda x: 3 * x + fnp.roll(x, 1)
    >>> x, info = linalg.bicgstab(shifted, fnp.array([4.0, 4.0, 4.0]))
    >>> x.round(4).tolist(), int(info)
    ([1.0, 1.0, 1.0], 0)
    """
    return _solve("scipy.sparse.linalg.bicgstab", krylov.bicgstab, A, b, x0, tol, atol, maxiter, M, False)


@api_boundary
def gmres(
    A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, restart: int = 20, maxiter: Any = None, M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Any]:  # fmt: skip
    """The solution x of A x = b by generalised minimal residuals, for any A: one product an iteration, restart vectors of memory.

    A: a square matrix, or a linear function of pytrees like b. b: an array or pytree; integers become the default float. x0:
    where to start, like b (zeros). tol, atol: x is good where norm(b - A x) <= max(tol norm(b), atol). restart: how
    many vectors a round gathers (at most as many as there are unknowns). maxiter: the most rounds (10 for each unknown). M: a
    matrix or function that is about the inverse of A. solve_method: "batched" looks at the residual after every round,
    "incremental" after every vector. Returns: (x, info), x like b; info is 0 where x is good, else the number of rounds.
    Differentiable in b and in what A is made of. Raises ShapeError or TreeError where the shapes do not fit, UsageError for
    another method. Method: Saad & Schultz, 1986.

    >>> from funcgrad.scipy.sparse import linalg
    >>> x, info = linalg.gmres(fnp.array([[1.0, 2.0], [3.0, 4.0]]), fnp.array([5.0, 11.0]))
    >>> x.round(3).tolist(), int(info)
    ([1.0, 2.0], 0)
    """
    name = "scipy.sparse.linalg.gmres"
    size = static_int(restart, "x.gmres", "restart")
    if not among(solve_method, ("batched", "incremental")) or size < 1:
        raise UsageError(
            message(
                f"{name}: got restart={restart}, solve_method={solve_method!r}",
                "a positive restart; 'batched' or 'incremental'",
                "restart=20, solve_method='incremental'",
            )
        )

    def method(apply: Any, precondition: Any, b: Any, small: Any, limit: Any) -> tuple[Any, Any]:
        return krylov.gmres(apply, precondition, b, small, limit, min(size, b.shape[0]), solve_method == "incremental")

    return _solve(name, method, A, b, x0, tol, atol, maxiter, M, False)
