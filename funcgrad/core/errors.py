"""The exceptions of the package, and how their texts are built.

Every text has three parts in order: what came (and where it was made), what is allowed, what to type next:
`message` joins them. The exceptions about traced values take the tracer itself and read its abstract value, the
line that made it, and the user's current line; a ready string is taken as it stands (so that they pickle). Each
also derives from the built-in exception that a NumPy user would catch in its place.
"""

from __future__ import annotations

from typing import Any

from funcgrad.core import source as _source

__all__ = [
    "CacheWarning",
    "CheckError",
    "CompileError",
    "ConcretizationTypeError",
    "DeletedArrayError",
    "DtypeError",
    "FuncgradError",
    "IRError",
    "ImmutableArrayError",
    "NanError",
    "NonConcreteBooleanIndexError",
    "ShapeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TreeError",
    "UnboundAxisError",
    "UnexpectedTracerError",
    "UsageError",
    "asked_at",
    "describe",
    "index_error",
    "made_at",
    "message",
    "too_large",
]


def message(came: str, allowed: str = "", fix: str = "") -> str:
    """One error text of three parts: what came, what is allowed, what to type next (empty parts are left out)."""
    lines = [came if came.endswith((".", ":", "`")) or "\n" in came else came + "."]
    if allowed:
        lines.append(f"  Allowed: {allowed}")
    if fix:
        lines.append(f"  Try: {fix}")
    return "\n".join(lines)


def index_error(found: str, index: Any, size: Any) -> IndexError:
    """The error of an index that an operator found out of range: `found` says so, with {index} and {size} in it.

    Operators count from the start; `x[i]` has turned -1 into size - 1 before, so a negative one is told as it was written too."""
    index, size = int(index), int(size)
    came = found.replace("{index}", str(index)).replace("{size}", str(size))
    if index < 0:
        came += f" (written as {index - size}, if negative numbers count from the end)"
    allowed = f"indices from 0 to {size - 1}, in x[i] also from {-size}" if size > 0 else "no index: the axis is too short"
    return IndexError(message(came, allowed, "mode='clip' or mode='fill' to allow others: x.at[i].get(mode='clip')"))


def too_large(x: Any, dtype: Any) -> OverflowError:
    """The error of a Python number that this dtype cannot hold."""
    return OverflowError(
        message(f"the Python number {x} does not fit {dtype}", "numbers within its range", f"a wider dtype, or float({x})")
    )


def describe(x: Any) -> str:
    """A value in a few words: the shape and dtype of an array or tracer, the type of anything else."""
    aval = getattr(x, "aval", None)
    if aval is not None:
        return str(aval)
    shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
    if isinstance(shape, tuple) and dtype is not None:
        return f"{dtype}[{','.join(map(str, shape))}]"
    return f"a value of type {type(x).__name__}"


def made_at(x: Any) -> str:
    """ ", made at train.py:12 (loss)" where the value knows its place, or nothing."""
    place = getattr(x, "source", None)
    return "" if place is None or place is _source.UNKNOWN else f", made at {place}"


def asked_at() -> str:
    """ "; at train.py:12 (loss): y = x @ w", the user's line that runs now, or nothing where there is none."""
    now = _source.current()
    return "" if now is _source.UNKNOWN else f"; at {now.quote()}"


class FuncgradError(Exception):
    """Base of all exceptions that the package raises on purpose.

    >>> try:
    ...     fnp.ones(3) + fnp.ones(4)
    ... except fg.errors.FuncgradError as error:
    ...     print(type(error).__name__)
    ShapeError
    """


class ShapeError(FuncgradError, TypeError, ValueError):
    """Shapes that do not fit together (caught as TypeError by habits from JAX, as ValueError by habits from NumPy).

    >>> fnp.ones(3) + fnp.ones(4)
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.ShapeError: fnp.add: got shapes (3,), (4,)...
      Allowed: shapes that broadcast: ...
    """


class DtypeError(FuncgradError, TypeError):
    """A dtype that the operation does not take.

    >>> lax.sin(3)
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.DtypeError: sin: got i64[].
      Allowed: it takes ...
    """


class UsageError(FuncgradError, TypeError, ValueError):
    """Arguments that contradict each other or lie outside what is allowed.

    >>> fg.grad(fnp.sin, argnums=5)(1.0)
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.UsageError: grad: got argnums=5 for a call with 1 positional argument.
      Allowed: numbers from 0 to 0
      Try: ...
    """


class UnboundAxisError(UsageError, NameError):
    """A named axis that nothing around binds (caught as NameError by habits from JAX).

    >>> lax.psum(fnp.ones(3), "batch")
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.UnboundAxisError: psum: axis 'batch' is not bound; bound are none; at ...
      Allowed: names of axes that an enclosing vmap binds
      Try: vmap(f, axis_name='batch'), ...
    >>> fg.vmap(lambda x: lax.psum(x, "batch"), axis_name="batch")(fnp.ones(3))
    Array([3., 3., 3.], dtype=float32)
    """


class TreeError(FuncgradError, ValueError, TypeError):
    """Pytrees whose structures do not fit together, or that cannot be taken apart.

    >>> tree.map(lambda a, b: a + b, {"w": 1, "b": 2}, {"w": 1})
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.TreeError: tree_map: tree 2 differs from tree 1 at the top: expected a dict with keys 'b', 'w', ...
    """


class IRError(FuncgradError, TypeError):
    """A program that breaks the rules of the intermediate representation: a fault of a rule, not of the user's data.

    `config.check_ir` looks for it after each pass.

    >>> from funcgrad.ir.check import check
    >>> program = fg.make_jaxpr(lambda x: x * 2)(1.0).jaxpr
    >>> check(program.replace(invars=()))
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.IRError: equation 0 (mul): ... is used before it is bound
    """


class CompileError(FuncgradError, RuntimeError):
    """A kernel could not be compiled or loaded.

    >>> @fg.numba_kernel
    ... def shout(x):
    ...     return x.upper()
    >>> shout(1.0)
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.CompileError: numba_kernel: shout does not compile in nopython mode for ...
      Allowed: what numba's nopython mode compiles for these types
      Try: ...
    """


class NanError(FuncgradError, FloatingPointError):
    """A NaN was produced while `config.debug_nans` was on.

    >>> with fg.debug_nans(True):
    ...     fnp.log(fnp.array(-1.0))
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.NanError: log gave a NaN in its output f32[] at ...
    """


class CheckError(FuncgradError, ValueError):
    """A condition that the user's program checks (`fg.check`, `checkify`) did not hold.

    >>> fg.check(fnp.array([1, -2]) > 0, "all must be positive")
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.CheckError: all must be positive...
    """


class DeletedArrayError(FuncgradError, RuntimeError):
    """An array was used after its memory had been donated.

    >>> x = fnp.arange(3.0)
    >>> y = fg.jit(lambda x: x + 1, donate_argnums=0)(x)
    >>> x + 1
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.DeletedArrayError: an array f32[3] was used after its memory had been donated to a jitted call.
      Allowed: ...
    """


class ImmutableArrayError(FuncgradError, TypeError):
    """An in-place assignment to an array; arrays are immutable, `x.at[i].set(v)` returns a new one.

    >>> x = fnp.zeros(3)
    >>> x[0] = 1.0
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.ImmutableArrayError: ... was written for f32[3]; at ...
    >>> x.at[0].set(1.0)
    Array([1., 0., 0.], dtype=float32)
    """


class CacheWarning(UserWarning):
    """The disk cache is damaged, foreign or not writable; kernels are compiled again, nothing is lost.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", fg.errors.CacheWarning)  # where a lost cache shall not pass unnoticed
    ...     fg.jit(lambda x: x + 1)(1.5)
    Array(2.5, dtype=float32, weak_type=True)
    """


class _TracedValueError(FuncgradError):
    """Shared way to build the text: a tracer gives its aval, its place and the user's current line; a string is the text."""

    _needed = "a concrete value"
    _allowed = ""
    _fix = ""

    def __init__(self, tracer: Any, context: str = "", fix: str = "") -> None:
        super().__init__(tracer if isinstance(tracer, str) else self._text(tracer, context, fix))

    def _text(self, tracer: Any, context: str, fix: str = "") -> str:
        now = _source.current()
        came = f"{self._needed} was asked of a traced value {describe(tracer)}{made_at(tracer)}"
        if now is not _source.UNKNOWN:
            came += f"; asked at {now.quote()}"
        if context:
            came += f"\n  {context}"
        return message(came, self._allowed, fix or self._fix)


class ConcretizationTypeError(_TracedValueError, TypeError):
    """A traced value was needed as a concrete one, for instance as a shape or an axis.

    Inside `jit` a value has a shape and a dtype, but no numbers yet::

        @fg.jit
        def zeros(n):
            return fnp.zeros(n)           # ConcretizationTypeError: a shape must be known

    Say which argument is static (the function is traced once for each of its values)::

        zeros = fg.jit(zeros, static_argnums=0)

    or take the number from a shape: ``fnp.zeros(x.shape[0])``.

    >>> fg.jit(fnp.zeros)(3)
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.ConcretizationTypeError: a concrete value was asked of a traced value i64[]; asked at ...
    >>> fg.jit(fnp.zeros, static_argnums=0)(3)
    Array([0., 0., 0.], dtype=float32)
    """

    _needed = "a concrete value"
    _allowed = "while tracing: values that do not depend on a traced argument (shapes, dtypes, static arguments)"
    _fix = "jit(f, static_argnums=...) or static_argnames=... for that argument, or x.shape[i] where it is a size"


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value stood in `if`, `while`, `and`, `or`, `not` or `assert`.

    Python must know at once which way to go, and inside `jit` there is no number yet::

        @fg.jit
        def relu(x):
            if x > 0:                     # TracerBoolConversionError
                return x
            return 0.0

    Choose with an operator instead::

        return fnp.where(x > 0, x, 0.0)
        return lax.cond(x > 0, lambda: x, lambda: 0.0)     # runs only one side

    or make the argument static, ``jit(relu, static_argnums=0)``, where it takes few values. Use ``&``, ``|``, ``~`` in the
    place of ``and``, ``or``, ``not``.

    >>> fg.jit(lambda x: x if x > 0 else 0.0)(1.0)
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.TracerBoolConversionError: a truth value (if, while, and, or, not, assert) was asked of a traced ...
    >>> fg.jit(lambda x: fnp.where(x > 0, x, 0.0))(1.0)
    Array(1., dtype=float32, weak_type=True)
    """

    _needed = "a truth value (if, while, and, or, not, assert)"
    _allowed = "while tracing: Python branches on shapes, dtypes, static arguments and other concrete values"
    _fix = (
        "fnp.where(condition, a, b), or lax.cond(condition, f, g, x), or jit(f, static_argnums=...) for that "
        'argument; `&` `|` `~` for and/or/not; lax.while_loop for while; or jit(f, branches="specialise")'
    )


class TracerIntegerConversionError(_TracedValueError, TypeError):
    """A traced value was used where Python needs an integer: `range(n)`, an index into a list, `int(n)`.

    ::

        @fg.jit
        def pick(i):
            return ["a", "b"][i]          # TracerIntegerConversionError

    Index an array instead of a list, ``fnp.asarray(table)[i]``; loop with ``lax.fori_loop(0, n, body, x)``; or make the
    argument static, ``jit(pick, static_argnums=0)``.

    >>> fg.jit(lambda i: ["a", "b"][i])(1)
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.TracerIntegerConversionError: a Python integer (int(), range(), an index into a list or tuple) was ...
    >>> fg.jit(lambda i: fnp.array([10, 20])[i])(1)
    Array(20, dtype=int64)
    """

    _needed = "a Python integer (int(), range(), an index into a list or tuple)"
    _allowed = "while tracing: integers that do not depend on a traced argument (shapes, static arguments)"
    _fix = "fnp.asarray(items)[i] to index, lax.fori_loop(0, n, body, x) to loop, or jit(f, static_argnums=...)"


class TracerArrayConversionError(_TracedValueError, TypeError):
    """A traced value was given to code that needs a NumPy array: `np.asarray(x)`, `float(x)`, another library.

    ::

        @fg.jit
        def f(x):
            return scipy.ndimage.laplace(x)    # TracerArrayConversionError

    Use a function of the package (of the same name, where it has one), move the call out of the traced function, or call back
    to the host with ``fg.pure_callback(scipy.ndimage.laplace, fg.ShapeDtypeStruct(x.shape, x.dtype), x)``.

    >>> fg.jit(lambda x: np.asarray(x) + 1)(fnp.ones(2))
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.TracerArrayConversionError: a NumPy array or Python number was asked of a traced value f32[2]; ...
    >>> fg.jit(lambda x: fnp.asarray(x) + 1)(fnp.ones(2))
    Array([2., 2.], dtype=float32)
    """

    _needed = "a NumPy array or Python number"
    _allowed = "while tracing: the functions of funcgrad (and NumPy functions that have a counterpart there)"
    _fix = "the function of the same name in funcgrad.numpy, or fg.pure_callback(f, result_shape, x), or call it outside"


class NonConcreteBooleanIndexError(_TracedValueError, IndexError):
    """An array was indexed with a traced boolean mask: the shape of the result would depend on the numbers.

    ::

        @fg.jit
        def positive_sum(x):
            return x[x > 0].sum()         # NonConcreteBooleanIndexError

    Keep the shape and mask the values::

        return fnp.where(x > 0, x, 0).sum()

    or give the number of kept elements: ``x[fnp.nonzero(x > 0, size=10, fill_value=0)]``.

    >>> fg.jit(lambda x: x[x > 0].sum())(fnp.array([1.0, -1.0]))
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.NonConcreteBooleanIndexError: a concrete boolean mask (the result's shape depends on it) was ...
    >>> fg.jit(lambda x: fnp.where(x > 0, x, 0).sum())(fnp.array([1.0, -1.0]))
    Array(1., dtype=float32)
    """

    _needed = "a concrete boolean mask (the result's shape depends on it)"
    _allowed = "while tracing: masks known beforehand, integer indices, slices"
    _fix = "fnp.where(mask, x, fill) keeps the shape; fnp.nonzero(mask, size=n) for a known count"


class UnexpectedTracerError(FuncgradError):
    """A traced value was used after the function that made it had been traced: it leaked.

    ::

        kept = []

        @fg.jit
        def f(x):
            kept.append(x * 2)            # a side effect: the tracer outlives the trace
            return x

        f(1.0)
        kept[0] + 1                       # UnexpectedTracerError

    Return what is needed later: ``return x, x * 2``. ``with fg.checking_leaks():`` finds the place of the leak.

    >>> kept = []
    >>> y = fg.jit(lambda x: kept.append(x * 2) or x)(1.0)
    >>> kept[0] + 1
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.UnexpectedTracerError: a traced value f32[], made at ... was used after its function had been traced; ...
    """

    def __init__(self, msg: Any) -> None:
        super().__init__(msg if isinstance(msg, str) else self._text(msg))

    @staticmethod
    def _text(tracer: Any) -> str:
        came = f"a traced value {describe(tracer)}{made_at(tracer)} was used after its function had been traced"
        now = _source.current()
        if now is not _source.UNKNOWN:
            came += f"; used at {now.quote()}"
        return message(
            came,
            "traced values are for use inside the transformed function only (no globals, attributes, appended lists)",
            "return the value from the function; `with fg.checking_leaks():` shows where it escapes",
        )
