"""Derivatives against finite differences, to any order: check_jvp, check_vjp, check_grads.

In: a function of arrays (or pytrees), and the point. Out: nothing, or AssertionError with the place and the figures.
Central differences; the tolerance follows the narrowest dtype among the arguments unless it is given.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.api.autodiff import jvp, vjp
from funcgrad.bridge.flat import as_value
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import UsageError, message
from funcgrad.core.pytree import tree_flatten, tree_leaves_with_path, tree_map

_TOLERANCE = {dt.float64: 1e-6, dt.complex128: 1e-6, dt.float32: 6e-3, dt.complex64: 6e-3}
_WIDER = {dt.float64: 1e-5, dt.complex128: 1e-5, dt.float32: 2e-2, dt.complex64: 2e-2}
_EPS = {dt.float64: 1e-5, dt.complex128: 1e-5, dt.float32: 5e-3, dt.complex64: 5e-3}


def _numbers(tree: Any) -> Any:
    return tree_map(lambda x: np.asarray(as_value(x)), tree)


def _narrowest(args: Any) -> np.dtype:
    found = [x.dtype for x in tree_flatten(_numbers(args))[0] if x.dtype in dt.INEXACT]
    return min(found, key=lambda d: np.finfo(d).bits, default=dt.float64)


def _random_like(rng: np.random.Generator, tree: Any) -> Any:
    """A direction: normal numbers, float0 for integers."""

    def draw(x: np.ndarray) -> Any:
        if x.dtype not in dt.INEXACT:
            return np.zeros(x.shape, dt.float0)
        t = rng.standard_normal(x.shape)
        return np.asarray(t + 1j * rng.standard_normal(x.shape) if x.dtype in dt.COMPLEXES else t, x.dtype)

    return tree_map(draw, _numbers(tree))


def _step(args: Any, tangents: Any, eps: float) -> Any:
    def move(x: np.ndarray, t: np.ndarray) -> Any:
        return x if t.dtype == dt.float0 else np.asarray(x + eps * t, x.dtype)

    return tree_map(move, _numbers(args), tangents)


def _difference(f: Callable[..., Any], args: Any, tangents: Any, eps: float) -> Any:
    high, low = f(*_step(args, tangents, eps)), f(*_step(args, tangents, -eps))
    return tree_map(
        lambda a, b: (np.asarray(a, np.result_type(a.dtype, np.float64)) - b) / (2 * eps), _numbers(high), _numbers(low)
    )


def _inner(x: Any, y: Any) -> Any:
    """The sum of all products, without conjugation: the pairing of a cotangent with a tangent."""
    pairs = zip(tree_flatten(x)[0], tree_flatten(y)[0], strict=True)
    return sum(np.sum(np.asarray(a) * np.asarray(b)) for a, b in pairs if np.asarray(a).dtype in dt.INEXACT)


def _close(got: Any, want: Any, atol: float, rtol: float, what: str) -> None:
    for (path, g), w in zip(tree_leaves_with_path(got), tree_flatten(want)[0], strict=True):
        g = np.asarray(g)
        if g.dtype in dt.INEXACT:
            np.testing.assert_allclose(g, w, atol=atol, rtol=rtol, err_msg=f"{what} {path}")


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Any,
    atol: Any = None,
    rtol: Any = None,
    eps: float = 1e-4,
    err_msg: str = "",
) -> None:
    """AssertionError unless `f_jvp(args, tangents)` gives f's value and its derivative along random tangents.

    args: a sequence of arrays or pytrees. atol, rtol: by dtype where not given. eps: the step of the central difference.
    err_msg: the beginning of the error's text.

    >>> from funcgrad.test_util import check_jvp
    >>> def sine_and_derivative(args, tangents):
    ...     return fnp.sin(args[0]), fnp.cos(args[0]) * tangents[0]
    >>> print(check_jvp(fnp.sin, sine_and_derivative, (np.array([0.3, 1.0]),)))
    None
    >>> check_jvp(fnp.cos, sine_and_derivative, (np.array([0.3, 1.0]),))
    Traceback (most recent call last):
        ...
    AssertionError: ...
    """
    args, rng = tuple(args), np.random.default_rng(0)
    tolerance = _WIDER[_narrowest(args)]
    tangents = _random_like(rng, args)
    out, t_out = f_jvp(args, tangents)
    _close(_numbers(f(*args)), _numbers(out), 1e-5, 1e-5, f"{err_msg} value")
    want = _difference(f, args, tangents, eps or _EPS[_narrowest(args)])
    _close(t_out, want, tolerance if atol is None else atol, tolerance if rtol is None else rtol, f"{err_msg} jvp")


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Any,
    atol: Any = None,
    rtol: Any = None,
    eps: float = 1e-4,
    err_msg: str = "",
) -> None:
    """AssertionError unless `f_vjp(*args)` gives f's value and a pullback that is the transpose of its derivative.

    Arguments as for `check_jvp`.

    >>> from funcgrad.test_util import check_vjp
    >>> def product(x, y):
    ...     return x * y, lambda ct: (ct * y, ct * x)
    >>> print(check_vjp(lambda x, y: x * y, product, (np.array([1.0, 2.0]), np.array([3.0, 4.0]))))
    None
    >>> check_vjp(lambda x, y: x * y, lambda x, y: (x * y, lambda ct: (ct, ct)), (np.array(1.0), np.array(3.0)))
    Traceback (most recent call last):
        ...
    AssertionError: ...
    """
    args, rng = tuple(args), np.random.default_rng(1)
    tolerance = _WIDER[_narrowest(args)]
    out, pull = f_vjp(*args)
    _close(_numbers(f(*args)), _numbers(out), 1e-5, 1e-5, f"{err_msg} value")
    tangents, ct = _random_like(rng, args), _random_like(rng, out)
    want = _inner(ct, _difference(f, args, tangents, eps or _EPS[_narrowest(args)]))
    got = _inner(_numbers_or_float0(pull(ct)), tangents)
    np.testing.assert_allclose(
        got, want, tolerance if rtol is None else rtol, tolerance if atol is None else atol, err_msg=f"{err_msg} vjp"
    )


def _numbers_or_float0(tree: Any) -> Any:
    return tree_map(lambda x: x if getattr(x, "dtype", None) == dt.float0 else np.asarray(x), tree)


def check_grads(
    f: Callable[..., Any],
    args: Any,
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: Any = None,
    rtol: Any = None,
    eps: Any = None,
) -> None:
    """AssertionError unless the derivatives of `f` at `args` agree with finite differences, up to `order`.

    modes: "fwd", "rev", or both, at each order (so all of their nestings). atol, rtol: by dtype where not given.

    >>> from funcgrad.test_util import check_grads
    >>> print(check_grads(fnp.sin, (np.array([0.3, 1.0]),), order=2))
    None
    >>> @fg.custom_jvp
    ... def wrong(x):
    ...     return x**2
    >>> @wrong.defjvp
    ... def wrong_jvp(xs, ts):
    ...     return wrong(xs[0]), 3 * xs[0] * ts[0]
    >>> check_grads(wrong, (np.array(2.0),), order=1)
    Traceback (most recent call last):
        ...
    AssertionError: ...
    """
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    if not set(modes) <= {"fwd", "rev"}:
        raise UsageError(message(f"check_grads: got modes={modes}", "'fwd' and 'rev'", "mend modes="))
    args = tuple(args)
    eps = _EPS[_narrowest(args)] if eps is None else eps

    def check(f: Callable[..., Any], args: Any, order: int, said: str) -> None:
        if "fwd" in modes:
            forward = lambda xs, ts: jvp(f, xs, ts)
            check_jvp(f, forward, args, atol, rtol, eps, said + "jvp of f")
            if order > 1:
                tangents = _random_like(np.random.default_rng(order), args)
                check(lambda *xs: jvp(f, xs, tangents)[1], args, order - 1, said + "jvp of ")
        if "rev" in modes:
            check_vjp(f, lambda *xs: vjp(f, *xs), args, atol, rtol, eps, said + "vjp of f")
            if order > 1:
                ct = _random_like(np.random.default_rng(order), f(*args))
                check(lambda *xs: _floating(vjp(f, *xs)[1](ct), xs), args, order - 1, said + "vjp of ")

    check(f, args, order, "")


def _floating(cts: Any, args: Any) -> Any:
    """The cotangents that are numbers, as a list."""
    return [ct for ct, x in zip(tree_flatten(cts)[0], tree_flatten(args)[0], strict=True) if as_value(x).aval.dtype in dt.INEXACT]


__all__ = ["check_grads", "check_jvp", "check_vjp"]
