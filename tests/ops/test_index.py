"""gather and scatter against loops in plain Python, over drawn dimension numbers; modes; gradients with repeated indices."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funcgrad.core.errors import DtypeError, ShapeError, UsageError
from funcgrad.ops import index as ops
from funcgrad.ops.arithmetic import mul
from funcgrad.ops.index import GatherDimensionNumbers, ScatterDimensionNumbers
from tests.ops.helpers import arr, grad, grad_value, loops

ROWS = GatherDimensionNumbers((), (0,), (0,))
ROWS_SET = ScatterDimensionNumbers((), (0,), (0,))


def take(x, i, mode="raise", fill_value=None):
    return ops.gather(x, i, dimension_numbers=ROWS, slice_sizes=(1,), mode=mode, fill_value=fill_value)


def put(op, x, i, u, mode="raise", unique_indices=False):
    return op(x, i, u, dimension_numbers=ROWS_SET, mode=mode, unique_indices=unique_indices)


def index(*values):
    return arr(np.asarray(values)[:, None], np.int64)


# --- drawn dimension numbers ----------------------------------------------------------------------------------------


@st.composite
def gathers(draw):
    """A gather with axes of all kinds, and for each output position a way to say what it reads (see `reads`)."""
    rank = draw(st.integers(1, 4))
    kinds = [draw(st.sampled_from(["window", "dropped", "batching"])) for _ in range(rank)]
    indexed = [k != "batching" and draw(st.booleans()) or k == "dropped" for k in kinds]
    batch_axes = [d for d in range(rank) if kinds[d] == "batching"]
    extra = draw(st.integers(0, 2))
    places_rank = len(batch_axes) + extra
    batch_at = draw(st.permutations(range(places_rank)))[: len(batch_axes)]
    shape = [draw(st.integers(1, 4)) for _ in range(rank)]
    places = [draw(st.integers(1, 3)) for _ in range(places_rank)]
    for d, i in zip(batch_axes, batch_at, strict=True):
        places[i] = shape[d]
    sizes = [draw(st.integers(1, n)) if k == "window" else 1 for n, k in zip(shape, kinds, strict=True)]
    order = draw(st.permutations([d for d in range(rank) if indexed[d]]))
    windows = [d for d in range(rank) if kinds[d] == "window"]
    out_rank = places_rank + len(windows)
    offset = tuple(sorted(draw(st.permutations(range(out_rank)))[: len(windows)]))
    numbers = GatherDimensionNumbers(
        offset, tuple(d for d in range(rank) if kinds[d] == "dropped"), tuple(order), tuple(batch_axes), tuple(batch_at)
    )
    mode = draw(st.sampled_from(["clip", "fill", "raise"]))
    reach = 2 if mode != "raise" else 0
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    indices = np.zeros((*places, len(order)), np.int64)
    for k, d in enumerate(order):
        indices[..., k] = rng.integers(-reach, shape[d] - sizes[d] + 1 + reach, places)
    return tuple(shape), indices, numbers, tuple(sizes), mode


def reads(shape, indices, numbers, sizes, mode):
    """(output position, operand position or None) for every element of the output, by the definition."""
    places_rank = indices.ndim - 1
    out_rank = places_rank + len(numbers.offset_dims)
    place_axes = [a for a in range(out_rank) if a not in numbers.offset_dims]
    dropped = numbers.collapsed_slice_dims + numbers.operand_batching_dims
    windows = [d for d in range(len(shape)) if d not in dropped]
    out_shape = [0] * out_rank
    for a, n in zip(place_axes, indices.shape[:-1], strict=True):
        out_shape[a] = n
    for a, d in zip(numbers.offset_dims, windows, strict=True):
        out_shape[a] = sizes[d]
    found = []
    for at in itertools.product(*[range(n) for n in out_shape]):
        place = tuple(at[a] for a in place_axes)
        position, outside = [0] * len(shape), False
        for k, d in enumerate(numbers.start_index_map):
            start, most = int(indices[place][k]), shape[d] - sizes[d]
            outside |= not 0 <= start <= most
            position[d] += min(max(start, 0), most)
        for d, i in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True):
            position[d] += place[i]
        for a, d in zip(numbers.offset_dims, windows, strict=True):
            position[d] += at[a]
        found.append((at, None if outside and mode == "fill" else tuple(position)))
    return out_shape, found


@settings(deadline=None, max_examples=120)
@given(gathers())
def test_gather_reads_what_its_definition_says(case):
    shape, indices, numbers, sizes, mode = case
    x = np.random.default_rng(0).standard_normal(shape)
    out_shape, found = reads(*case)
    want = np.zeros(out_shape)
    for at, position in found:
        want[at] = -1 if position is None else x[position]
    fun = lambda x, i: ops.gather(x, i, dimension_numbers=numbers, slice_sizes=sizes, mode=mode, fill_value=-1)
    np.testing.assert_array_equal(np.asarray(fun(arr(x), arr(indices, np.int64))), want)
    np.testing.assert_array_equal(loops(fun, x, indices), want)
    ct = np.random.default_rng(1).standard_normal(out_shape)
    back = np.zeros(shape)
    for at, position in found:
        if position is not None:
            back[position] += ct[at]
    got = grad(lambda x: mul(fun(x, arr(indices, np.int64)), arr(ct)), arr(x))[0]
    np.testing.assert_allclose(got, back, atol=1e-12)


@settings(deadline=None, max_examples=120)
@given(gathers(), st.sampled_from(["scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"]))
def test_scatter_writes_what_its_definition_says(case, name):
    shape, indices, numbers, _, mode = case
    rng = np.random.default_rng(0)
    out_shape, found = reads(*case)
    x, u = rng.standard_normal(shape), rng.standard_normal(out_shape)
    combine = {"scatter": lambda a, b: b, "scatter_add": np.add, "scatter_mul": np.multiply}
    combine |= {"scatter_min": np.minimum, "scatter_max": np.maximum}
    want = x.copy()
    for at, position in found:
        if position is not None:
            want[position] = combine[name](want[position], u[at])
    numbers = ScatterDimensionNumbers(*numbers)
    fun = lambda x, i, u: getattr(ops, name)(x, i, u, dimension_numbers=numbers, mode=mode, unique_indices=False)
    np.testing.assert_allclose(np.asarray(fun(arr(x), arr(indices, np.int64), arr(u))), want, atol=1e-12)
    np.testing.assert_allclose(loops(fun, x, indices, u), want, atol=1e-12)


# --- modes --------------------------------------------------------------------------------------------------------------


def test_out_of_range_is_an_error():
    x = arr([1.0, 2, 3])
    with pytest.raises(IndexError, match=r"(?s)gather: index 3 is out of range for axis 0 with size 3.*0 to 2.*mode='clip'"):
        take(x, index(0, 3))
    with pytest.raises(IndexError, match="index -1 is out of range"):
        take(x, index(-1))
    with pytest.raises(IndexError, match="scatter_add: index 5 is out of range"):
        put(ops.scatter_add, x, index(5), arr([1.0]))
    with pytest.raises(IndexError, match="the axis is too short"):
        take(arr([]), index(0))


def test_other_modes():
    x = arr([1.0, 2, 3])
    np.testing.assert_array_equal(np.asarray(take(x, index(-1, 1, 7), "clip")), [1, 2, 3])
    np.testing.assert_array_equal(np.asarray(take(x, index(-1, 1, 7), "fill")), [np.nan, 2, np.nan])
    np.testing.assert_array_equal(np.asarray(take(x, index(-1, 1, 7), "fill", 0)), [0, 2, 0])
    np.testing.assert_array_equal(np.asarray(take(arr([1, 2], np.int8), index(5), "fill")), [-128])
    np.testing.assert_array_equal(np.asarray(take(arr([1, 2], np.uint8), index(5), "fill")), [255])
    np.testing.assert_array_equal(np.asarray(take(arr([], np.float64), index(0, 1), "fill", 4)), [4, 4])
    u = arr([10.0, 20, 30])
    for mode in ("fill", "drop"):
        np.testing.assert_array_equal(np.asarray(put(ops.scatter, x, index(-1, 1, 7), u, mode)), [1, 20, 3])
    np.testing.assert_array_equal(np.asarray(put(ops.scatter, x, index(-1, 1, 7), u, "clip")), [10, 20, 30])
    with pytest.raises(UsageError, match="(?s)got mode='wrap'.*raise, clip"):
        take(x, index(0), "wrap")


def test_indices_of_any_integer_dtype():
    x = arr([1.0, 2, 3])
    for d in (np.int8, np.uint8, np.int16, np.uint32, np.uint64):
        np.testing.assert_array_equal(np.asarray(take(x, arr([[2], [0]], d))), [3, 1])
    with pytest.raises(IndexError, match="out of range"):
        take(x, arr([[2**64 - 1]], np.uint64))
    with pytest.raises(DtypeError, match="(?s)gather: got indices f64.*integer.*astype"):
        take(x, arr([[1.0]]))


def test_numbers_that_do_not_fit():
    with pytest.raises(ShapeError, match=r"(?s)gather: got GatherDimensionNumbers.*one index for each"):
        take(arr([[1.0]]), index(0))
    with pytest.raises(ShapeError, match="(?s)scatter: got .*updates that have"):
        put(ops.scatter, arr([1.0, 2]), index(0), arr([1.0, 2]))


# --- gradients with repeated indices --------------------------------------------------------------------------------


def test_the_last_update_wins_and_has_the_gradient():
    x, u = arr([1.0, 2, 3]), arr([10.0, 20, 30])
    gx, gu = grad(lambda x, u: mul(put(ops.scatter, x, index(1, 0, 1), u), arr([5.0, 7, 9])), x, u)
    np.testing.assert_array_equal(gx, [0, 0, 9])
    np.testing.assert_array_equal(gu, [0, 5, 7])


def test_products_with_repeated_indices_and_zeros():
    x, u = arr([2.0, 3, 0]), arr([0.0, 5, 0, 7, 11])
    places = index(0, 0, 1, 2, 0)
    fun = lambda x, u: put(ops.scatter_mul, x, places, u)
    gx, gu = grad(fun, x, u)
    np.testing.assert_array_equal(gx, [0, 0, 7])
    np.testing.assert_array_equal(gu, [2 * 5 * 11, 0, 3, 0, 0])
    # The second derivative of 2 u0 u1 u4 in (u0, .) at u = (0, 5, 0, 7, 11)
    row = grad(lambda u: mul(grad_value(lambda u: fun(x, u), u), arr([1.0, 0, 0, 0, 0])), u)[0]
    np.testing.assert_array_equal(row, [0, 2 * 11, 0, 0, 2 * 5])


def test_extrema_share_their_gradient():
    x, u = arr([2.0, 3, 0]), arr([2.0, 1, 4, 4, -1])
    gx, gu = grad(lambda x, u: put(ops.scatter_max, x, index(0, 0, 1, 1, 2), u), x, u)
    np.testing.assert_allclose(gx, [0.5, 0, 1])
    np.testing.assert_allclose(gu, [0.5, 0, 0.5, 0.5, 0])
    gx, gu = grad(lambda x, u: put(ops.scatter_min, x, index(0, 0, 1, 1, 2), u), x, u)
    np.testing.assert_allclose(gx, [0, 1, 0])
    np.testing.assert_allclose(gu, [0, 1, 0, 0, 1])


def test_dropped_updates_have_no_gradient():
    x, u = arr([1.0, 2]), arr([3.0, 4])
    for op, want in ((ops.scatter, [[0, 1], [1, 0]]), (ops.scatter_add, [[1, 1], [1, 0]]), (ops.scatter_mul, [[3, 1], [1, 0]])):
        np.testing.assert_array_equal(grad(lambda x, u, op=op: put(op, x, index(0, 9), u, "drop"), x, u), want)
