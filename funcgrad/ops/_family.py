"""Families of primitives: what all elementwise, structural, bilinear or reducing operators have in common.

A declaration in `ops/` gives what is special about one operator; the family gives the rest of its rules.
Each returns a registered `Operator`, which is called like a function.

Two words are kept apart. A *linear* operator has one operand and its tangent is the operator applied to the
operand's tangent. A *bilinear* one has two and its tangent is a sum of two products. `add` is neither: it is
linear in both operands jointly, and has a rule of its own.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, format_avals, shaped
from funcgrad.core.errors import DtypeError, ShapeError, asked_at, message
from funcgrad.ir.loop_rules import Pointwise, Reduce, View
from funcgrad.ir.primitive import LinearArg, register
from funcgrad.ops._samples import elementwise_samples, uniform
from funcgrad.trace.interpreter import Operator
from funcgrad.trace.value import Value, aval_of

_PYTHON: tuple[Any, ...] = (bool, int, float, complex)
NOT_DIFFERENTIABLE = "its output is not a continuous function of its inputs"


def like(x: Any, number: complex) -> Any:
    """The literal `number` in the dtype of `x`; a Python scalar where `x` is weak, so that weakness stays."""
    aval = aval_of(x)
    if aval.weak_type:
        python = _PYTHON[dt.category(aval.dtype)]
        if dt.scalar_dtype(python) == aval.dtype:
            return python(number)
    return aval.dtype.type(number)


def full(shape: tuple[int, ...], number: Any) -> Any:
    """An array that repeats `number` (a scalar of its dtype)."""
    return broadcast_in_dim(number, shape=shape, dims=())


def zeros(aval: ShapedArray) -> Any:
    """An array of zeros of this shape and dtype."""
    return full(aval.shape, np.zeros((), aval.dtype)[()])


def zeros_like(x: Any) -> Any:
    """Zeros of the shape and dtype of `x`."""
    return zeros(aval_of(x))


def add_tangents(x: Any, y: Any) -> Any:
    """x + y where None is zero."""
    if x is None or y is None:
        return y if x is None else x
    return add(x, y)


def move_dim(x: Any, source: int, target: int) -> Any:
    """`x` with axis `source` moved to position `target`."""
    if source == target:
        return x
    permutation = [i for i in range(aval_of(x).ndim) if i != source]
    permutation.insert(target, source)
    return transpose(x, permutation=tuple(permutation))


def broadcast_batch(x: Any, size: int, target: int = 0) -> Any:
    """`x` repeated along a new axis `target` of extent `size`."""
    aval = aval_of(x)
    shape = aval.shape[:target] + (size,) + aval.shape[target:]
    return broadcast_in_dim(x, shape=shape, dims=tuple(i for i in range(len(shape)) if i != target))


def expand_dims_last(x: Any) -> Any:
    """`x` with a last axis of extent 1."""
    shape = aval_of(x).shape
    return broadcast_in_dim(x, shape=(*shape, 1), dims=tuple(range(len(shape))))


def batch_at(x: Any, dim: int | None, size: int, target: int = 0) -> Any:
    """`x` with its batch axis at `target`, whether it had one or not."""
    return broadcast_batch(x, size, target) if dim is None else move_dim(x, dim, target)


def check_dtypes(name: str, allowed: frozenset, *avals: ShapedArray) -> None:
    """DtypeError unless every operand's dtype is allowed."""
    for a in avals:
        if a.dtype not in allowed:
            raise DtypeError(
                message(
                    f"{name}: got {format_avals(avals)}",
                    f"it takes {', '.join(sorted({dt.short_name(d) for d in allowed}))}",
                    "convert first, for example with x.astype('float32')",
                )
            )


# --- elementwise ----------------------------------------------------------------------------------------


def elementwise_shape(name: str, avals: Sequence[ShapedArray]) -> tuple[int, ...]:
    """The common shape of the operands; scalars fit any."""
    shape: tuple[int, ...] = ()
    for a in avals:
        if a.shape != shape and a.shape:
            if shape:
                raise ShapeError(
                    message(
                        f"{name}: got shapes {format_avals(avals)}{asked_at()}",
                        "at this level all operands have one shape, or are scalars",
                        "use the function of funcgrad.numpy, which broadcasts",
                    )
                )
            shape = a.shape
    return shape


def elementwise_batch(op: Callable[..., Any]) -> Callable[..., Any]:
    """Arrays are brought to one batch axis, then the operator applies as it is; literals fit any shape. Scalars beside arrays are
    repeated, so that all that is left has one shape."""

    def batch(size: int, args: Sequence[Any], dims: Sequence[int | None], /, **params: Any) -> Any:
        ranks = [x.aval.ndim - (d is not None) if isinstance(x, Value) else -1 for x, d in zip(args, dims, strict=True)]
        rank = max(ranks)
        target = next((d for d, r in zip(dims, ranks, strict=True) if d is not None and r == rank), 0)
        moved = [batch_at(x, d, size, target) if r == rank else x for x, d, r in zip(args, dims, ranks, strict=True)]
        shape = aval_of(moved[ranks.index(rank)]).shape
        for i, (r, d) in enumerate(zip(ranks, dims, strict=True)):
            if 0 <= r < rank:
                moved[i] = broadcast_in_dim(args[i], shape=shape, dims=() if d is None else (target,))
        return op(*moved, **params), target

    return batch


def elementwise(
    name: str,
    *,
    dtypes: frozenset,
    numpy: Callable[..., Any],
    jvp: Sequence[Callable[..., Any] | None] | Callable[..., Any] | str,
    loop: Callable[..., Any] | Any,
    samples: Any,
    cases: Sequence[dict[str, Any]] = ({},),
    arity: int | None = None,
    result: Callable[..., Any] | np.dtype | None = None,
    transpose: Callable[..., Any] | None = None,
    doc: str = "",
) -> Operator:
    """One output element from the same element of each operand, all operands of one dtype.

    `jvp[i](t, out, *xs, **params)` is the tangent of the output for tangent t of operand i (None: zero). Where the
    tangents are better taken together it is one function `jvp(ts, out, *xs, **params)`; a text says why the operator is
    not differentiable (its tangent is zero). `result` is the output's dtype where it is not
    the operands' (a dtype, or a function of the operands' dtype and the params). `transpose(ct, *args, **params)` is
    given for operators that are linear in some operand. `cases` are the params that the samples are made for.
    """
    count = arity if arity is not None else (len(jvp) if isinstance(jvp, (list, tuple)) else len(samples))

    def abstract(*avals: ShapedArray, **params: Any) -> ShapedArray:
        first = avals[0].dtype
        for a in avals:
            if a.dtype is not first and a.dtype != first:
                raise DtypeError(
                    message(
                        f"{name}: got {format_avals(avals)}",
                        "at this level all operands have one dtype",
                        "use the function of funcgrad.numpy, which promotes, or convert with x.astype(...)",
                    )
                )
        if first not in dtypes:
            check_dtypes(name, dtypes, *avals)
        out = first if result is None else result if isinstance(result, np.dtype) else result(first, **params)
        weak = not isinstance(result, np.dtype) and all([a.weak_type for a in avals])  # a part of a weak number is weak
        if len(avals) == 1:
            return shaped(avals[0].shape, out, weak)
        return shaped(elementwise_shape(name, avals), out, weak)

    def jvp_rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        out = op(*primals, **params)
        t_out = None
        for rule, t in zip(jvp, tangents, strict=True):  # type: ignore[arg-type]
            if t is not None and rule is not None:
                t_out = add_tangents(t_out, rule(t, out, *primals, **params))  # type: ignore[operator]
        return out, t_out

    def joint_jvp_rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        out = op(*primals, **params)
        return out, jvp(tangents, out, *primals, **params)  # type: ignore[operator]

    def no_jvp_rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return op(*primals, **params), None

    op = Operator(
        name,
        abstract=abstract,
        numpy=numpy,
        jvp=jvp_rule if isinstance(jvp, (list, tuple)) else joint_jvp_rule if callable(jvp) else no_jvp_rule,
        transpose=transpose or "it is not linear",
        batch="set below",
        mask_transpose=same_mask if transpose else None,
        loop=Pointwise(loop) if callable(loop) else loop,
        dtypes=dtypes,
        samples=elementwise_samples(samples, count, cases),
        doc=doc,
    )
    op.batch = elementwise_batch(op)
    register(op)
    return op


def same_mask(mask: Any, *args: Any, **params: Any) -> list[Any]:
    """An elementwise linear operator passes the live places on as they are."""
    return [mask if isinstance(a, LinearArg) else None for a in args]


# --- linear (one operand) and structural --------------------------------------------------------------------


def linear(
    name: str,
    *,
    abstract: Callable[..., ShapedArray],
    numpy: Callable[..., Any],
    transpose: Callable[..., Any],
    batch: Callable[..., Any],
    loop: Any,
    samples: Callable[..., Any],
    dtypes: frozenset = dt.ANY,
    masks: bool = False,
    doc: str = "",
) -> Operator:
    """One operand, linear in it: the tangent is the operator applied to the tangent.

    `transpose(ct, aval, **params)` is the cotangent of the operand (of aval `aval`); `masks` says that the same function
    carries a boolean mask (it moves elements without adding any). `batch(x, d, size, **params) -> (out, d)`.
    A function as `loop` is a view rule.
    """

    def jvp_rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        (x,), (t,) = primals, tangents
        out = op(x, **params)
        return out, None if aval_of(out).dtype not in dt.INEXACT else op(t, **params)

    def transpose_rule(ct: Any, x: LinearArg, **params: Any) -> list[Any]:
        return [transpose(ct, x.aval, **params)]

    def mask_rule(mask: Any, x: LinearArg, **params: Any) -> list[Any]:
        return [transpose(mask, shaped(x.aval.shape, dt.bool_), **params)]

    def batch_rule(size: int, args: Sequence[Any], dims: Sequence[int | None], /, **params: Any) -> Any:
        return batch(args[0], dims[0], size, **params)

    op = Operator(
        name,
        abstract=abstract,
        numpy=numpy,
        jvp=jvp_rule,
        transpose=transpose_rule,
        batch=batch_rule,
        mask_transpose=mask_rule if masks else None,
        loop=View(loop) if callable(loop) else loop,
        dtypes=dtypes,
        samples=samples,
        doc=doc,
    )
    register(op)
    return op


# --- bilinear -----------------------------------------------------------------------------------------------


def bilinear(
    name: str,
    *,
    abstract: Callable[..., ShapedArray],
    numpy: Callable[..., Any],
    transpose_lhs: Callable[..., Any],
    transpose_rhs: Callable[..., Any],
    batch: Callable[..., Any],
    loop: Any,
    samples: Callable[..., Any],
    dtypes: frozenset = dt.NUMBERS | dt.BOOLS,
    mask_transpose: Callable[..., Any] | None = None,
    doc: str = "",
) -> Operator:
    """Two operands, linear in each: d(x * y) = dx * y + x * dy.

    `transpose_lhs(ct, aval, y, **params)` is the cotangent of the left operand, `transpose_rhs(ct, x, aval, **params)` that
    of the right one.
    `batch(size, args, dims, **params) -> (out, dim)`.
    """

    def jvp_rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        (x, y), (tx, ty) = primals, tangents
        out = op(x, y, **params)
        left = None if tx is None else op(tx, y, **params)
        right = None if ty is None else op(x, ty, **params)
        return out, add_tangents(left, right)

    def transpose_rule(ct: Any, x: Any, y: Any, **params: Any) -> list[Any]:
        if isinstance(x, LinearArg):
            return [transpose_lhs(ct, x.aval, y, **params), None]
        return [None, transpose_rhs(ct, x, y.aval, **params)]

    op = Operator(
        name,
        abstract=abstract,
        numpy=numpy,
        jvp=jvp_rule,
        transpose=transpose_rule,
        batch=batch,
        mask_transpose=mask_transpose,
        loop=loop,
        dtypes=dtypes,
        samples=samples,
        doc=doc,
    )
    register(op)
    return op


# --- reductions ---------------------------------------------------------------------------------------------


def reduced_shape(aval: ShapedArray, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for i, n in enumerate(aval.shape) if i not in axes)


def check_axes(name: str, aval: ShapedArray, axes: tuple[int, ...]) -> None:
    """ShapeError unless `axes` are distinct, sorted and within the operand's rank."""
    if any(not 0 <= a < aval.ndim for a in axes) or list(axes) != sorted(set(axes)):
        raise ShapeError(
            message(
                f"{name}: got axes={axes} for {aval.str_short()}",
                f"distinct axes in order, from 0 to {aval.ndim - 1}",
                "mend axes=",
            )
        )


def reduction(
    name: str,
    *,
    dtypes: frozenset,
    numpy: Callable[..., Any],
    jvp: Callable[..., Any] | str,
    op: str,
    samples: Any,
    transpose: Callable[..., Any] | None = None,
    mask_transpose: Callable[..., Any] | None = None,
    result: np.dtype | None = None,
    doc: str = "",
) -> Operator:
    """Fold along params `axes` (a sorted tuple). `numpy(x, axes)`; `jvp(t, out, x, axes)`, or a text where it is zero."""

    @lru_cache(maxsize=1024)
    def abstract(x: ShapedArray, *, axes: tuple[int, ...], **params: Any) -> ShapedArray:
        check_dtypes(name, dtypes, x)
        check_axes(name, x, axes)
        out = params.get("index_dtype", result)
        return shaped(reduced_shape(x, axes), x.dtype if out is None else np.dtype(out), x.weak_type and out is None)

    def jvp_rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        (x,), (t,) = primals, tangents
        out = self(x, **params)
        return out, None if isinstance(jvp, str) or t is None else jvp(t, out, x, **params)

    def batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, axes: tuple[int, ...], **params: Any) -> Any:
        (x,), (d,) = args, dims
        assert d is not None
        shifted = tuple(a + (a >= d) for a in axes)
        return self(x, axes=shifted, **params), d - sum(a < d for a in shifted)

    def sample(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
        draws = [((5,), (0,)), ((2, 3), (1,)), ((2, 3, 4), (0, 2)), ((3, 2), (0,)), ((2, 2), (0, 1)), ((3,), ())]
        return [((samples(rng, shape, dtype),), {"axes": axes}) for shape, axes in draws]

    self = Operator(
        name,
        abstract=abstract,
        numpy=numpy,
        jvp=jvp_rule,
        transpose=transpose or "it is not linear",
        batch=batch,
        mask_transpose=mask_transpose,
        loop=Reduce(op),
        dtypes=dtypes,
        samples=sample,
        doc=doc,
    )
    register(self)
    return self


# --- the operators that the families themselves use -----------------------------------------------------------


def _add_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    return [ct if isinstance(x, LinearArg) else None, ct if isinstance(y, LinearArg) else None]


add = elementwise(
    "add",
    dtypes=dt.NUMBERS,
    numpy=np.add,
    jvp=[lambda t, out, x, y: t, lambda t, out, x, y: t],
    transpose=_add_transpose,
    loop=lambda b, x, y: b.add(x, y),
    samples=uniform(-10, 10),
    doc="x + y",
)


def _transpose_samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    draw = uniform(-9, 9)
    cases = [((2, 3), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((), ()), ((3, 0), (1, 0))]
    return [((draw(rng, shape, dtype),), {"permutation": p}) for shape, p in cases]


def _transpose_batch(x: Any, d: int, size: int, *, permutation: tuple[int, ...]) -> Any:
    return transpose(x, permutation=(d, *(p + (p >= d) for p in permutation))), 0


def _inverse(permutation: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def _transpose_abstract(x: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    if sorted(permutation) != list(range(x.ndim)):
        raise ShapeError(
            message(f"transpose: got axes {permutation} for {x.str_short()}", f"each of 0 to {x.ndim - 1} once", "mend the axes")
        )
    return shaped(tuple([x.shape[p] for p in permutation]), x.dtype, x.weak_type)


transpose = linear(
    "transpose",
    abstract=_transpose_abstract,
    numpy=lambda x, permutation: np.transpose(x, permutation),
    transpose=lambda ct, aval, permutation: transpose(ct, permutation=_inverse(permutation)),
    masks=True,
    batch=_transpose_batch,
    loop=lambda v, permutation: v.transpose(permutation),
    samples=_transpose_samples,
    doc="the axes in another order: axis i of the output is axis permutation[i] of the operand",
)


@lru_cache(maxsize=4096)
def _broadcast_abstract(x: ShapedArray, *, shape: tuple[int, ...], dims: tuple[int, ...]) -> ShapedArray:
    ok = len(dims) == x.ndim and list(dims) == sorted(set(dims)) and all(0 <= d < len(shape) for d in dims)
    if not ok or any(n not in (1, shape[d]) for n, d in zip(x.shape, dims, strict=True)):
        raise ShapeError(
            message(
                f"broadcast_in_dim: got {x.str_short()} for shape {shape} along dims {dims}",
                "each axis of the operand goes to one axis of the shape, in order, with its extent or from 1",
                "check the shapes with fnp.broadcast_shapes(...)",
            )
        )
    return shaped(shape, x.dtype, x.weak_type)


def _broadcast_numpy(x: Any, shape: tuple[int, ...], dims: tuple[int, ...]) -> np.ndarray:
    x = np.asarray(x)
    if dims != tuple(range(len(shape) - len(dims), len(shape))):
        at = dict(zip(dims, x.shape, strict=True))
        x = x.reshape([at.get(i, 1) for i in range(len(shape))])
    return np.broadcast_to(x, shape)


def _broadcast_axes(aval: ShapedArray, shape: tuple[int, ...], dims: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """The output axes along which elements were repeated, and whether some of them are the operand's own."""
    kept = {d for n, d in zip(aval.shape, dims, strict=True) if n == shape[d]}
    return tuple(i for i in range(len(shape)) if i not in kept), len(kept) < len(dims)


def _broadcast_transpose(ct: Any, x: LinearArg, *, shape: tuple[int, ...], dims: tuple[int, ...]) -> list[Any]:
    axes, repeated = _broadcast_axes(x.aval, shape, dims)
    out = reduce_sum(ct, axes=axes) if axes else ct
    return [reshape(out, shape=x.aval.shape) if repeated else out]


def _broadcast_mask(mask: Any, x: LinearArg, *, shape: tuple[int, ...], dims: tuple[int, ...]) -> list[Any]:
    axes, repeated = _broadcast_axes(x.aval, shape, dims)
    out = reduce_or(mask, axes=axes) if axes else mask
    return [reshape(out, shape=x.aval.shape) if repeated else out]


def _broadcast_batch(x: Any, d: int, size: int, *, shape: tuple[int, ...], dims: tuple[int, ...]) -> Any:
    x = move_dim(x, d, 0)
    return broadcast_in_dim(x, shape=(size, *shape), dims=(0, *(i + 1 for i in dims))), 0


def _broadcast_samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    draw = uniform(-9, 9)
    cases = [((), (2, 3), ()), ((3,), (2, 3), (1,)), ((2, 1), (2, 4, 3), (0, 2)), ((0,), (2, 0), (1,)), ((2,), (2, 3), (0,))]
    return [((draw(rng, s, dtype),), {"shape": shape, "dims": dims}) for s, shape, dims in cases]


broadcast_in_dim = linear(
    "broadcast_in_dim",
    abstract=_broadcast_abstract,
    numpy=_broadcast_numpy,
    transpose=lambda ct, aval, **params: _broadcast_transpose(ct, LinearArg(aval), **params)[0],
    batch=_broadcast_batch,
    loop=lambda v, shape, dims: v.broadcast(shape, dims),
    samples=_broadcast_samples,
    doc="the operand repeated: its axis i becomes axis dims[i] of the shape",
)
broadcast_in_dim.mask_transpose = _broadcast_mask


def _reshape_abstract(x: ShapedArray, *, shape: tuple[int, ...]) -> ShapedArray:
    out = shaped(shape, x.dtype, x.weak_type)
    if out.size != x.size or any(n < 0 for n in shape):
        raise ShapeError(
            message(
                f"reshape: got {x.str_short()} ({x.size} elements) for shape {shape} ({out.size} elements){asked_at()}",
                "the number of elements must stay",
                "write -1 for one extent to have it computed",
            )
        )
    return out


def _reshape_batch(x: Any, d: int, size: int, *, shape: tuple[int, ...]) -> Any:
    return reshape(move_dim(x, d, 0), shape=(size, *shape)), 0


def _reshape_samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    draw = uniform(-9, 9)
    cases = [((2, 3), (6,)), ((6,), (3, 1, 2)), ((), (1, 1)), ((0, 3), (0,)), ((2, 3, 2), (2, 6)), ((2, 3), (3, 2))]
    return [((draw(rng, s, dtype),), {"shape": shape}) for s, shape in cases]


reshape = linear(
    "reshape",
    abstract=_reshape_abstract,
    numpy=lambda x, shape: np.reshape(x, shape),
    transpose=lambda ct, aval, shape: reshape(ct, shape=aval.shape),
    masks=True,
    batch=_reshape_batch,
    loop=lambda v, shape: v.reshape(shape),
    samples=_reshape_samples,
    doc="the same elements, in row-major order, in another shape",
)


def _reduce_sum_transpose(ct: Any, x: LinearArg, *, axes: tuple[int, ...]) -> list[Any]:
    dims = tuple(i for i in range(x.aval.ndim) if i not in axes)
    return [broadcast_in_dim(ct, shape=x.aval.shape, dims=dims)]


def sum_numpy(x: Any, axes: tuple[int, ...]) -> np.ndarray:
    """Sum in the operand's dtype; 16-bit floats are accumulated in float32, bool as `or`."""
    x = np.asarray(x)
    if x.dtype in dt.FLOATS and x.dtype.itemsize < 4:
        return np.sum(x.astype(np.float32), axis=axes).astype(x.dtype)
    return np.sum(x, axis=axes, dtype=x.dtype)


reduce_sum = reduction(
    "reduce_sum",
    dtypes=dt.NUMBERS,
    numpy=sum_numpy,
    jvp=lambda t, out, x, axes: reduce_sum(t, axes=axes),
    transpose=_reduce_sum_transpose,
    mask_transpose=_reduce_sum_transpose,
    op="add",
    samples=uniform(-9, 9),
    doc="the sum",
)

reduce_or = reduction(
    "reduce_or",
    dtypes=dt.BOOLS | dt.INTEGERS,
    numpy=lambda x, axes: np.bitwise_or.reduce(x, axis=axes),
    jvp=NOT_DIFFERENTIABLE,
    op="or",
    samples=uniform(0, 1),
    doc="whether one holds; of integers bit by bit",
)
