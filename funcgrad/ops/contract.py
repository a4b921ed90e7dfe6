"""dot_general: sums of products over contracted axes, side by side over batch axes.

`dimension_numbers = ((lhs contract, rhs contract), (lhs batch, rhs batch))`. The output's axes are the batch axes, then what is
left of lhs, then of rhs, each in order. Sums of float16 and bfloat16 are taken in float32; `preferred_element_type` is
the output's dtype (None: the operands'), and integers are summed in it.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, format_avals, shaped
from funcgrad.core.errors import DtypeError, ShapeError, message
from funcgrad.ir.loop_rules import Dot
from funcgrad.ops._family import bilinear, check_dtypes, transpose
from funcgrad.ops._samples import NARROW, uniform
from funcgrad.ops.convert import convert
from funcgrad.trace.value import aval_of

Numbers = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]


def _rest(rank: int, *used: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that are in none of `used`."""
    return tuple([i for i in range(rank) if not any(i in u for u in used)])


@lru_cache(maxsize=4096)
def _abstract(
    x: ShapedArray, y: ShapedArray, *, dimension_numbers: Numbers, preferred_element_type: np.dtype | None = None
) -> ShapedArray:
    (xc, yc), (xb, yb) = dimension_numbers
    check_dtypes("dot_general", dt.BOOLS | dt.NUMBERS, x, y)
    if x.dtype != y.dtype:
        raise DtypeError(
            message(
                f"dot_general: got {format_avals((x, y))}", "operands of one dtype", "use x @ y, which promotes, or convert one"
            )
        )
    _check_axes(x, y, dimension_numbers)
    shape = (
        tuple([x.shape[i] for i in xb])
        + tuple([x.shape[i] for i in _rest(x.ndim, xc, xb)])
        + tuple([y.shape[i] for i in _rest(y.ndim, yc, yb)])
    )
    dtype = x.dtype if preferred_element_type is None else np.dtype(preferred_element_type)
    return shaped(shape, dtype, x.weak_type and y.weak_type and preferred_element_type is None)


def _check_axes(x: ShapedArray, y: ShapedArray, dimension_numbers: Numbers) -> None:
    (xc, yc), (xb, yb) = dimension_numbers
    for aval, axes in ((x, xc + xb), (y, yc + yb)):
        if len(set(axes)) != len(axes) or any(not 0 <= i < aval.ndim for i in axes):
            raise ShapeError(
                message(
                    f"dot_general: got dimension_numbers={dimension_numbers} for {format_avals((x, y))}",
                    "axes of each operand, none of them twice",
                    "mend dimension_numbers=((lhs contract, rhs contract), (lhs batch, rhs batch))",
                )
            )
    for kind, xs, ys in (("contracted", xc, yc), ("batch", xb, yb)):
        if [x.shape[i] for i in xs] != [y.shape[i] for i in ys]:
            raise ShapeError(
                message(
                    f"dot_general: got {format_avals((x, y))} with {kind} axes {xs} and {ys}, of extents "
                    f"{tuple(x.shape[i] for i in xs)} and {tuple(y.shape[i] for i in ys)}",
                    "equal extents on axes that belong together",
                    "transpose one operand (x.T), or choose other axes",
                )
            )


def _accumulable(x: np.ndarray, out_dtype: np.dtype) -> np.ndarray:
    """The operand in the dtype in which products are summed."""
    if x.dtype in NARROW:
        x = x.astype(np.float32)
    if out_dtype not in NARROW and x.dtype != out_dtype and dt.category(out_dtype) >= dt.category(x.dtype):
        x = x.astype(out_dtype)
    return x


@lru_cache(maxsize=1024)
def _plan(x_rank: int, y_rank: int, numbers: Numbers) -> tuple[Any, ...]:
    """How operands become stacks of matrices: permutations (None: as it is), and where the groups of axes begin."""
    (xc, yc), (xb, yb) = numbers
    x_order, y_order = xb + _rest(x_rank, xc, xb) + xc, yb + yc + _rest(y_rank, yc, yb)
    return (
        None if x_order == tuple(range(x_rank)) else x_order,
        None if y_order == tuple(range(y_rank)) else y_order,
        len(xb),
        len(xc),
    )


def dot_numpy(x: np.ndarray, y: np.ndarray, dimension_numbers: Numbers, preferred_element_type: Any = None) -> np.ndarray:
    """The meaning, by BLAS on operands that are transposed (a view) and reshaped (a copy where it must be)."""
    dtype = x.dtype
    out_dtype = dtype if preferred_element_type is None else np.dtype(preferred_element_type)
    if out_dtype is not dtype or dtype.itemsize < 4:
        x, y = _accumulable(x, out_dtype), _accumulable(y, out_dtype)
    x_order, y_order, batch, contracted = _plan(x.ndim, y.ndim, dimension_numbers)
    if x_order is not None:
        x = x.transpose(x_order)
    if y_order is not None:
        y = y.transpose(y_order)
    if contracted == 1 and x.ndim == y.ndim == batch + 2:
        out = np.matmul(x, y)
    else:
        xs, ys = x.shape, y.shape
        split = x.ndim - contracted
        k = 1
        for n in xs[split:]:
            k *= n
        rows, columns = xs[batch:split], ys[batch + contracted :]
        m = n_ = 1
        for n in rows:
            m *= n
        for n in columns:
            n_ *= n
        out = np.matmul(x.reshape((*xs[:batch], m, k)), y.reshape((*xs[:batch], k, n_)))
        out = out.reshape(xs[:batch] + rows + columns)
    return out if out.dtype == out_dtype else out.astype(out_dtype)


def _ordered(x: Any, permutation: Sequence[int]) -> Any:
    permutation = tuple(permutation)
    return x if permutation == tuple(range(len(permutation))) else transpose(x, permutation=permutation)


def _cotangent(ct: Any, aval: ShapedArray, y: Any, numbers: Numbers, y_is_left: bool) -> Any:
    """The cotangent of the operand of aval `aval`, whose partner is y: ct contracted with y over what is left of y.

    `numbers` is written from the operand's side: ((its contracted, y's), (its batch, y's))."""
    (xc, yc), (xb, yb) = numbers
    y_aval, ct_aval = aval_of(y), aval_of(ct)
    x_rest, y_rest = _rest(aval.ndim, xc, xb), _rest(y_aval.ndim, yc, yb)
    batch = tuple(range(len(xb)))
    if y_is_left:  # ct: batch, rest of y, rest of x
        ct_y = tuple(range(len(xb), len(xb) + len(y_rest)))
    else:
        ct_y = tuple(range(ct_aval.ndim - len(y_rest), ct_aval.ndim))
    dtype = ct_aval.dtype
    wide = dtype if dt.promote_dtypes(dtype, y_aval.dtype) == dtype else y_aval.dtype
    ct, y = convert(ct, wide), convert(y, wide)
    preferred = None if wide == aval.dtype else aval.dtype
    # Axes of the product: batch, rest of x, then y's contracted axes in y's order, which are x's in the order that follows.
    by_y = sorted(range(len(yc)), key=yc.__getitem__)
    if y_is_left:
        # y first: batch, y's contracted axes, rest of x. Its matrices then are as the forward pass had them.
        out = dot_general(y, ct, dimension_numbers=((y_rest, ct_y), (yb, batch)), preferred_element_type=preferred)
        axes = xb + tuple(xc[i] for i in by_y) + x_rest
    else:
        out = dot_general(ct, y, dimension_numbers=((ct_y, y_rest), (batch, yb)), preferred_element_type=preferred)
        axes = xb + x_rest + tuple(xc[i] for i in by_y)
    return _ordered(out, sorted(range(len(axes)), key=axes.__getitem__))


def _transpose_lhs(ct: Any, aval: ShapedArray, y: Any, *, dimension_numbers: Numbers, preferred_element_type: Any = None) -> Any:
    return _cotangent(ct, aval, y, dimension_numbers, False)


def _transpose_rhs(ct: Any, x: Any, aval: ShapedArray, *, dimension_numbers: Numbers, preferred_element_type: Any = None) -> Any:
    (xc, yc), (xb, yb) = dimension_numbers
    return _cotangent(ct, aval, x, ((yc, xc), (yb, xb)), True)


def _batch(
    size: int, args: Sequence[Any], dims: Sequence[int | None], *, dimension_numbers: Numbers, preferred_element_type: Any = None
) -> Any:
    (x, y), (dx, dy) = args, dims
    (xc, yc), (xb, yb) = dimension_numbers

    def moved(axes: tuple[int, ...], d: int | None) -> tuple[int, ...]:
        return axes if d is None else tuple([i + (i >= d) for i in axes])

    if dx is not None and dy is not None:
        numbers = ((moved(xc, dx), moved(yc, dy)), ((dx, *moved(xb, dx)), (dy, *moved(yb, dy))))
        return dot_general(x, y, dimension_numbers=numbers, preferred_element_type=preferred_element_type), 0
    # One operand has the batch: it is one more of its own axes, and comes out among them.
    numbers = ((moved(xc, dx), moved(yc, dy)), (moved(xb, dx), moved(yb, dy)))
    out = dot_general(x, y, dimension_numbers=numbers, preferred_element_type=preferred_element_type)
    if dx is not None:
        return out, len(xb) + _rest(aval_of(x).ndim, *[a for a in (numbers[0][0], numbers[1][0])]).index(dx)
    x_left = aval_of(x).ndim - len(xc) - len(xb)
    return out, len(xb) + x_left + _rest(aval_of(y).ndim, numbers[0][1], numbers[1][1]).index(dy)


def _samples(rng: np.random.Generator, dtype: np.dtype) -> list[Any]:
    draw = uniform(-3, 3)
    cases = [
        ((2, 3), (3, 4), (((1,), (0,)), ((), ()))),
        ((3,), (3,), (((0,), (0,)), ((), ()))),
        ((3, 2), (4, 3), (((0,), (1,)), ((), ()))),
        ((2, 3, 4), (2, 4, 5), (((2,), (1,)), ((0,), (0,)))),
        ((4, 2, 3), (3, 5, 4), (((2,), (0,)), ((0,), (2,)))),
        ((2, 3, 4), (4, 5, 3), (((1, 2), (2, 0)), ((), ()))),
        ((2,), (3,), (((), ()), ((), ()))),
        ((), (2,), (((), ()), ((), ()))),
        ((2, 0), (0, 3), (((1,), (0,)), ((), ()))),
        ((3, 2), (3, 2), (((1,), (1,)), ((0,), (0,)))),
    ]
    return [
        (
            (np.asarray(draw(rng, a, dtype)), np.asarray(draw(rng, b, dtype))),
            {"dimension_numbers": n, "preferred_element_type": None},
        )
        for a, b, n in cases
    ]


dot_general = bilinear(
    "dot_general",
    abstract=_abstract,
    numpy=dot_numpy,
    transpose_lhs=_transpose_lhs,
    transpose_rhs=_transpose_rhs,
    batch=_batch,
    loop=Dot(),
    samples=_samples,
    doc="sums of products over contracted axes, side by side over batch axes",
)
