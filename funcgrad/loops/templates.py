"""The scalar body of a pointwise primitive, recorded once for each signature.

In: a rule's function `fn(b, *xs, **params)`, the dtypes of its operands. Out: a `Template`, the few
instructions that the function asked for, with numbered placeholders for the operands. A program's thousands
of equations share some dozens of templates, so that lowering an equation is a look-up.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.dtypes import KEY
from funcgrad.ir.loop_rules import External
from funcgrad.loops.expr import BINARY, MORE, OTHER, UNARY, Expr

BOOL, INT64, UINT64 = np.dtype(np.bool_), np.dtype(np.int64), np.dtype(np.uint64)

KERNEL_DTYPES = frozenset(
    np.dtype(n) for n in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()
) | {KEY}

# What one evaluation costs, in units of an addition. What is not named costs 1.
_COSTS: dict[str, float] = dict.fromkeys(("const", "param", "arg", "index", "extent", "target", "size", "load", "acc"), 0.0)
_COSTS |= dict.fromkeys(("div", "rem", "sqrt", "rsqrt"), 3.0)
_COSTS |= dict.fromkeys(("exp", "exp2", "log", "log1p", "expm1", "cbrt", "logistic", "tanh"), 10.0)
_COSTS |= dict.fromkeys(("sin", "cos", "tan", "erf", "erfc", "sinh", "cosh", "asinh", "acosh", "atanh"), 14.0)
_COSTS |= dict.fromkeys(("asin", "acos", "atan", "atan2", "erf_inv", "pow", "lgamma", "digamma", "nextafter"), 20.0)
_COSTS |= dict.fromkeys("gamma erfcx ndtri dawsn bessel_i0e bessel_i1e betaln spence gcd".split(), 40.0)
_COSTS |= dict.fromkeys("exp1 expi expn poch jn si ci fresnel_s fresnel_c owens_t wofz".split(), 200.0)
_COSTS |= dict.fromkeys("igamma igammac zeta betainc gamma_ratio betainc_ratio".split(), 500.0)
_COSTS |= dict.fromkeys(("threefry_hi", "threefry_lo"), 12.0)
_COSTS |= {"at": 6.0, "check": 1.0, "external": 20.0}

# What one more of them in a kernel costs to compile, in tenths of a millisecond, measured with 8 to 48 in float32 on an
# EPYC (a kernel alone: 18 ms; a multiplication: 0.07 ms). What is not named costs 1.
_BURDENS: dict[str, int] = dict.fromkeys(("const", "param", "arg", "index", "extent", "target", "size", "acc"), 0)
_BURDENS |= dict.fromkeys(("sqrt", "rsqrt"), 8) | dict.fromkeys(("div", "rem", "cbrt"), 15)
_BURDENS |= dict.fromkeys(("exp", "exp2", "logistic", "atan"), 40)
_BURDENS |= dict.fromkeys(("log", "tanh", "log1p", "expm1", "sinh", "cosh", "threefry_hi", "threefry_lo"), 65)
_BURDENS |= dict.fromkeys(("erf", "erfc", "asin", "acos", "atan2", "asinh", "acosh", "atanh", "erf_inv", "external"), 80)
_BURDENS |= dict.fromkeys(("sin", "cos"), 145) | dict.fromkeys(("tan", "pow", "lgamma", "digamma"), 175)
# Complex arithmetic is compiled anew for each use (measured with 20 and 200 in complex128).
_COMPLEX_BURDENS: dict[str, int] = {"mul": 16, "add": 7, "sub": 7, "neg": 7, "conj": 7, "select": 20}

_REAL = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}
_COMPLEX = {real: c for c, real in _REAL.items()}


def cost_of(op: str) -> float:
    """The cost of one evaluation of `op`, in additions."""
    return _COSTS.get(op, 1.0)


def burden_of(op: str, dtype: np.dtype) -> int:
    """What one more `op` in a kernel adds to its compile time, in tenths of a millisecond."""
    burden = _BURDENS.get(op, 1)
    if burden <= 1:
        return _COMPLEX_BURDENS.get(op, burden) if dtype.kind == "c" else burden
    # Measured in ms: sin 35 in float64; complex exp 27, sin 33, log1p 64, sqrt 9, division 14.
    return 6 * burden if dtype.kind == "c" else 2 * burden if burden > 100 and dtype.itemsize == 8 else burden


def storage_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype under which kernels move elements of `dtype`: keys are uint64, small floats their bits."""
    if dtype in KERNEL_DTYPES:
        return UINT64 if dtype == KEY else dtype
    return np.dtype(f"uint{dtype.itemsize * 8}")


class Handle(NamedTuple):
    """An operand that is read at computed indices: `b.at(handle, indices)`. `shape` holds int64 expressions."""

    number: int
    dtype: np.dtype
    shape: tuple[Expr, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)


class Template(NamedTuple):
    """`instrs[k]` is (op, dtype, argument numbers, attr). Beyond the ops of expr.py there are the leaves
    ("arg", operand), ("size", (operand, axis)) and ("at", operand) with index arguments, and the attr of a
    check is its message."""

    instrs: tuple[tuple[str, np.dtype, tuple[int, ...], Any], ...]
    outs: tuple[int, ...]
    guard: int | None
    weight: float
    positional: bool  # whether it asks for positions or extents of the output
    burden: int = 0  # on the compile time of its kernel, in tenths of a millisecond


class Builder:
    """What a loop rule's function speaks to: one method for each op of expr.py, and those below."""

    def __init__(self, in_dtypes: Sequence[np.dtype], out_dtypes: Sequence[np.dtype]):
        self.in_dtypes, self.out_dtypes = tuple(in_dtypes), tuple(out_dtypes)
        self.conditions: list[Expr] = []

    @property
    def out_dtype(self) -> np.dtype:
        return self.out_dtypes[0]

    def const(self, value: Any, dtype: Any) -> Expr:
        """A number that belongs to the operator (and so to the kernel's key)."""
        dtype = np.dtype(dtype)
        if dtype == KEY:
            return Expr("const", UINT64, (), int(np.asarray(value, KEY).view(UINT64)) if not isinstance(value, int) else value)
        return Expr("const", dtype, (), dtype.type(value).item())

    def index(self, axis: int) -> Expr:
        """The position along the output's `axis`, int64."""
        return Expr("index", INT64, (), axis)

    def extent(self, axis: int) -> Expr:
        """The extent of the output's `axis`, int64."""
        return Expr("extent", INT64, (), axis)

    def target(self, axis: int) -> Expr:
        """In a scatter, whose positions and extents are those of the updates: the extent of the written array's `axis`, int64."""
        return Expr("target", INT64, (), axis)

    def cast(self, x: Any, dtype: Any) -> Expr:
        dtype = storage_dtype(np.dtype(dtype))
        return x if x.dtype == dtype else Expr("cast", dtype, (x,))

    def bitcast(self, x: Any, dtype: Any) -> Expr:
        dtype = storage_dtype(np.dtype(dtype))
        return x if x.dtype == dtype else Expr("bitcast", dtype, (x,))

    def select(self, c: Any, x: Any, y: Any) -> Expr:
        """x where c, else y."""
        x, y = self._same(x, y)
        return Expr("select", x.dtype, (self._bool(c), x, y))

    def at(self, handle: Handle, indices: Sequence[Any]) -> Expr:
        """The element of `handle` at `indices`: one int64 a dimension."""
        if len(indices) != handle.ndim:
            raise TypeError(f"at: got {len(indices)} indices for {handle.ndim} axes; give one for each axis")
        return Expr("at", handle.dtype, tuple(self._int64(i) for i in indices), handle.number)

    def check(self, i: Any, size: Any, message: str) -> Expr:
        """`i`, if 0 <= i < size; otherwise the call raises IndexError(message) and `i` reads as 0."""
        return Expr("check", INT64, (self._int64(i), self._int64(size)), message)

    def external(self, function: External, dtype: Any, *xs: Expr) -> Expr:
        """The user's function of `xs`, which gives a `dtype`."""
        return Expr("external", np.dtype(dtype), xs, function)

    def guard(self, condition: Expr) -> None:
        """The element is stored only where all `condition`s hold (scatter)."""
        self.conditions.append(condition)

    def _int64(self, x: Any) -> Expr:
        return self.cast(x, INT64) if isinstance(x, Expr) else Expr("const", INT64, (), int(x))

    def _bool(self, x: Any) -> Expr:
        return x if isinstance(x, Expr) else Expr("const", BOOL, (), bool(x))

    def _same(self, *xs: Any) -> tuple[Expr, ...]:
        dtype = next(x.dtype for x in xs if isinstance(x, Expr))
        return tuple(x if isinstance(x, Expr) else self.const(x, dtype) for x in xs)


_COMPARISONS = frozenset("eq ne lt le gt ge".split())


def _unary(op: str) -> Callable[..., Expr]:
    def method(self: Builder, x: Expr) -> Expr:
        dtype = x.dtype
        if op == "is_finite":
            dtype = BOOL
        elif op in ("real", "imag", "abs"):
            dtype = _REAL.get(dtype, dtype)
        return Expr(op, dtype, (x,))

    return method


def _binary(op: str) -> Callable[..., Expr]:
    def method(self: Builder, x: Any, y: Any) -> Expr:
        x, y = self._same(x, y)
        dtype = BOOL if op in _COMPARISONS else _COMPLEX[x.dtype] if op == "complex" else x.dtype
        return Expr(op, dtype, (x, y))

    return method


def _threefry(op: str) -> Callable[..., Expr]:
    def method(self: Builder, k0: Any, k1: Any, c0: Any, c1: Any) -> Expr:
        args = tuple(x if isinstance(x, Expr) else self.const(x, np.uint32) for x in (k0, k1, c0, c1))
        return Expr(op, np.dtype(np.uint32), args)

    return method


def _more(op: str) -> Callable[..., Expr]:
    def method(self: Builder, x: Expr, *xs: Expr) -> Expr:
        return Expr(op, x.dtype, (x, *xs))

    return method


for _op in UNARY | BINARY | MORE | OTHER:
    if not hasattr(Builder, _op):
        _make = _unary if _op in UNARY else _binary if _op in BINARY else _more if _op in MORE else _threefry
        setattr(Builder, _op + "_" if _op in ("not", "and", "or") else _op, _make(_op))


def flatten(outs: Sequence[Expr], guard: Expr | None) -> Template:
    """The expressions as a list of instructions, arguments first."""
    instrs: list[tuple[str, np.dtype, tuple[int, ...], Any]] = []
    table: dict[Any, int] = {}
    numbers: dict[int, int] = {}
    weight, positional = 0.0, False
    stack = [e for e in (guard, *reversed(outs)) if e is not None]
    while stack:
        e = stack[-1]
        if id(e) in numbers:
            stack.pop()
            continue
        waiting = [a for a in e.args if id(a) not in numbers]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        # repr tells apart constants that compare equal (0.0 and -0.0, 1 and True).
        key = (e.op, e.dtype, tuple(numbers[id(a)] for a in e.args), repr(e.attr))
        if key not in table:
            table[key] = len(instrs)
            instrs.append((*key[:3], e.attr))
            weight += cost_of(e.op)
            positional |= e.op in ("index", "extent")
        numbers[id(e)] = table[key]
    done = tuple(numbers[id(e)] for e in outs)
    burden = sum([burden_of(i[0], i[1]) for i in instrs])
    return Template(tuple(instrs), done, None if guard is None else numbers[id(guard)], weight, positional, burden)


_CACHE: dict[Any, Template] = {}
_LIMIT = 4096


def template(
    fn: Callable[..., Any],
    in_dtypes: tuple[np.dtype, ...],
    out_dtypes: tuple[np.dtype, ...],
    params: dict[str, Any],
    ranks: tuple[int | None, ...] = (),
) -> Template:
    """The body of `fn` for these dtypes. `ranks[i]` is the rank of operand i where it is a handle, None where a scalar."""
    key = (fn, in_dtypes, out_dtypes, ranks, *params.items()) if params else (fn, in_dtypes, out_dtypes, ranks)
    found = _CACHE.get(key)
    if found is None:
        found = _record(fn, in_dtypes, out_dtypes, params, ranks or (None,) * len(in_dtypes))
        if len(_CACHE) >= _LIMIT:
            _CACHE.clear()
        _CACHE[key] = found
    return found


def _record(
    fn: Callable[..., Any],
    in_dtypes: tuple[np.dtype, ...],
    out_dtypes: tuple[np.dtype, ...],
    params: dict[str, Any],
    ranks: tuple[int | None, ...],
) -> Template:
    b = Builder(in_dtypes, out_dtypes)
    xs: list[Any] = []
    for k, (dtype, rank) in enumerate(zip(in_dtypes, ranks, strict=True)):
        stored = storage_dtype(dtype)
        if rank is None:
            xs.append(Expr("arg", stored, (), k))
        else:
            xs.append(Handle(k, stored, tuple(Expr("size", INT64, (), (k, a)) for a in range(rank))))
    outs = fn(b, *xs, **params)
    outs = (outs,) if isinstance(outs, Expr) else tuple(outs)
    guard = None
    for condition in b.conditions:
        guard = condition if guard is None else Expr("and", BOOL, (guard, condition))
    return flatten(outs, guard)


def read_in_place(body: Template, rank: int) -> tuple[int, ...]:
    """The operands that `body` reads only at the position of the output itself, at all of its `rank` axes."""
    instrs = body.instrs
    here: dict[int, bool] = {}
    for op, _, args, attr in instrs:
        if op == "at":
            same = len(args) == rank and all([instrs[k][0] == "index" and instrs[k][3] == a for a, k in enumerate(args)])
            here[attr] = here.get(attr, True) and same
        elif op == "size":
            here[attr[0]] = False
    return tuple([k for k, same in here.items() if same])


@functools.lru_cache(maxsize=1024)
def without_handles(body: Template, operands: tuple[int, ...]) -> Template:
    """`body` with the operands that it reads in place as scalars."""
    instrs = [
        ("arg", dtype, (), attr) if op == "at" and attr in operands else (op, dtype, args, attr)
        for op, dtype, args, attr in body.instrs
    ]
    needed = set(body.outs) | ({body.guard} if body.guard is not None else set())
    for k in range(len(instrs) - 1, -1, -1):
        if k in needed:
            needed.update(instrs[k][2])
    kept = {k: i for i, k in enumerate(sorted(needed))}
    chosen = [instrs[k] for k in kept]
    return Template(
        tuple([(op, dtype, tuple([kept[a] for a in args]), attr) for op, dtype, args, attr in chosen]),
        tuple([kept[k] for k in body.outs]),
        None if body.guard is None else kept[body.guard],
        sum([cost_of(i[0]) for i in chosen]),
        any([i[0] in ("index", "extent") for i in chosen]),
        sum([burden_of(i[0], i[1]) for i in chosen]),
    )


def copy_template(dtype: np.dtype) -> Template:
    """One element as it is."""
    return template(_copy, (dtype,), (dtype,), {})


def _copy(b: Builder, x: Expr) -> Expr:
    return x


def cast_template(dtype: np.dtype, to: np.dtype) -> Template:
    """One element converted."""
    return template(_cast, (dtype,), (to,), {})


def _cast(b: Builder, x: Expr) -> Expr:
    return b.cast(x, b.out_dtype)


def mul_template(dtype: np.dtype, to: np.dtype) -> Template:
    """One product of a contraction, in the dtype of its sum."""
    return template(_mul, (dtype, dtype), (to,), {})


def _mul(b: Builder, x: Expr, y: Expr) -> Expr:
    op = "and" if b.out_dtype == BOOL else "mul"
    return Expr(op, b.out_dtype, (b.cast(x, b.out_dtype), b.cast(y, b.out_dtype)))


def fold_template(op: str, dtype: np.dtype) -> Template:
    """One step of a fold: two elements combined."""
    return template(_FOLDS[op], (dtype, dtype), (dtype,), {})


_FOLDS: dict[str, Callable[..., Expr]] = {op: _binary(op) for op in ("add", "mul", "max", "min", "and", "or", "xor")}
