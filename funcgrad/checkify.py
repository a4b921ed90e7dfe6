"""Errors as values: `checkify(f)` gives a function that returns, beside its result, the first error that was found.

    err, out = checkify(f, errors=index_checks | nan_checks)(x)
    err.throw()             # raises CheckError if there was one

A function with errors as values can be jitted and vectorised, and its errors can be looked at later. What is looked for:

user_checks: `check` (and `fg.check`) in the function; the default.
nan_checks: a NaN among the results of an operator.
div_checks: a division by zero.
index_checks: an index out of range, where the access does not say what it does then.
float_checks: nan_checks | div_checks.
automatic_checks: float_checks | index_checks, all that need no `check` in the function.
all_checks: automatic_checks | user_checks.

>>> from funcgrad import checkify
>>> checkify.all_checks == checkify.nan_checks | checkify.div_checks | checkify.index_checks | checkify.user_checks
True
>>> err, out = checkify.checkify(lambda x, i: x[i], errors=checkify.index_checks)(fnp.zeros(3), 5)
>>> print(err.get().splitlines()[0])
out-of-bounds indexing: gather: index 5 is out of range for axis 0 with size 3.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.api.callback import check
from funcgrad.bridge.flat import FlatFunction, as_values, check_callable
from funcgrad.core.errors import CheckError, UsageError, message
from funcgrad.core.pytree import register_pytree_node, tree_flatten, tree_unflatten
from funcgrad.core.tracebacks import api_boundary
from funcgrad.ops.compare import ne
from funcgrad.trace.interpreter import current, running
from funcgrad.trace.value import aval_of
from funcgrad.transforms.checkify import Category, Checkify
from funcgrad.transforms.checking import check as check_op
from funcgrad.transforms.sites import Found, Group

__all__ = [
    "Error",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "div_checks",
    "float_checks",
    "index_checks",
    "nan_checks",
    "user_checks",
]

user_checks = frozenset({Category.USER})
nan_checks = frozenset({Category.NAN})
div_checks = frozenset({Category.DIV})
index_checks = frozenset({Category.INDEX})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks


class Error:
    """The first error of a run, or none: a pytree. `get()` is its text, `throw()` raises it. Made by `checkify`.

    >>> from funcgrad import checkify
    >>> err, out = checkify.checkify(lambda x: 1 / x, errors=checkify.div_checks)(0.0)
    >>> err.get().splitlines()[0]
    'division by zero'
    >>> err, out = checkify.checkify(lambda x: 1 / x, errors=checkify.div_checks)(4.0)
    >>> err, out
    (Error(None), Array(0.25, dtype=float32, weak_type=True))
    """

    def __init__(self, _pred: Any, _code: Any, _metadata: tuple[Found, ...], _payload: list[Any]):
        self._pred, self._code, self._metadata, self._payload = _pred, _code, _metadata, _payload

    def get(self) -> str | None:
        """The text of the error, None where there is none. Of errors under vmap: a line for each example that has one."""
        codes = np.asarray(self._code)
        if not codes.any():
            return None
        values = [np.asarray(x) for x in self._payload]
        site = Group(self._metadata)
        if codes.ndim == 0:
            return site.text([codes, *values])
        lines = []
        for place in np.argwhere(codes):
            at = tuple([int(i) for i in place])
            text = site.text([codes[at], *[x[at] for x in values]])
            lines.append(f"at mapped index {', '.join(map(str, at))}: {text}")
        return "\n".join(lines)

    def throw(self) -> None:
        """Raise CheckError if there is an error. Inside a function to be jitted, or given to checkify again, it does so there."""
        check_error(self)

    def get_exception(self) -> CheckError | None:
        """The exception that `throw` raises, or None."""
        text = self.get()
        return None if text is None else CheckError(text)

    def __repr__(self) -> str:
        try:
            return f"Error({self.get()})"
        except TypeError:  # while tracing, nobody knows
            return f"Error({self._code})"


def _rebuilt(found: tuple[Found, ...], children: Any) -> Error:
    pred, code, payload = children
    return Error(pred, code, found, payload)


register_pytree_node(Error, lambda e: ((e._pred, e._code, e._payload), e._metadata), _rebuilt)


@api_boundary
def check_error(error: Error) -> None:
    """Raise CheckError where `error` holds an error, also from inside compiled code; under `checkify`, the error becomes its own.

    >>> from funcgrad import checkify
    >>> positive = checkify.checkify(lambda x: checkify.check(x > 0, "not positive: {}", x))
    >>> err, _ = positive(1.0)
    >>> checkify.check_error(err)
    >>> err, _ = positive(-1.0)
    >>> checkify.check_error(err)
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.CheckError: not positive: -1.0...
    """
    if not isinstance(error, Error):
        raise UsageError(message(f"check_error: got {type(error).__name__}", "an Error", "err, out = checkify(f)(x)"))
    values = [error._code, *error._payload]
    if aval_of(error._code).ndim:
        axes = tuple([(True,) * aval_of(error._code).ndim] * len(values))
    else:
        axes = ((),) * len(values)
    levels = ("axis",) * aval_of(error._code).ndim
    failed = ne(error._code, np.int32(0))
    check_op(failed, *values, site=Group(error._metadata), levels=levels, axes=axes, tags=0, debug=False)


def checkify(f: Callable[..., Any], errors: frozenset = user_checks) -> Callable[..., tuple[Error, Any]]:
    """A function that returns `(err, f(...))`, where err is the first error found, and raises none of those errors.

    errors: what is looked for, a union of user_checks, nan_checks, div_checks, index_checks (see the module).

    Checks that are not looked for are left out. Works through jit, vmap, scan, while_loop, cond and custom rules, and under jit,
    vmap and grad. In loops the error is that of the first step that failed; a branch is checked where it is taken. After an
    error, what f returns means nothing.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> from funcgrad import checkify
    >>> def f(x):
    ...     checkify.check(x > 0, "{x} is not positive", x=x)
    ...     return fnp.log(x)
    >>> err, y = fg.jit(checkify.checkify(f))(-1.0)
    >>> err.get().splitlines()[0]
    '-1.0 is not positive'
    """
    check_callable("checkify", f)
    chosen = frozenset(errors) if isinstance(errors, (frozenset, set, tuple, list)) else None
    if chosen is None or not chosen <= all_checks:
        raise UsageError(
            message(
                f"checkify: got errors={errors!r}",
                "user_checks, nan_checks, div_checks, index_checks, joined by |",
                "user_checks",
            )
        )

    @functools.wraps(f, updated=())
    @api_boundary
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        leaves, in_tree = tree_flatten((args, kwargs))
        values = as_values("checkify", leaves, (args, kwargs))
        flat = FlatFunction("checkify", f, in_tree, lambda both: f(*both[0], **both[1]))
        trace = Checkify(current(), chosen)
        try:
            with running(trace):
                outs = flat(*values)
            code, payload, found = trace.summary()
            (code, *payload) = as_values("checkify", [code, *payload], ())
            return Error(ne(code, np.int32(0)), code, found, payload), tree_unflatten(flat.out_tree, outs)
        finally:
            trace.live = False

    return checked
