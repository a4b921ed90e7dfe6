"""Random programs: what the whole machine wing computes, run by the interpreter, is what NumPy computes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad.bridge.eager  # noqa: F401  (the floor of the interpreter stack)
from funcgrad.core.aval import shaped
from funcgrad.core.config import config
from funcgrad.ir.evaluate import evaluate_numpy
from funcgrad.loops import axes, draft, fuse, lower, tile
from funcgrad.loops.compile import compile_program
from funcgrad.loops.interpreter import run
from funcgrad.ops._indexing import GatherDimensionNumbers, ScatterDimensionNumbers
from funcgrad.ops.contract import dot_general
from funcgrad.ops.convert import convert_element_type
from funcgrad.ops.cumulative import cumsum
from funcgrad.ops.elementwise import add, exp, gt, max_, mul, neg, select_n, sub, tanh
from funcgrad.ops.gathering import gather, scatter, scatter_add
from funcgrad.ops.reduce import argmax, reduce_max, reduce_sum
from funcgrad.ops.shape import broadcast_in_dim, concatenate, iota, pad, reshape, rev, slice_, transpose
from funcgrad.passes import simplify
from funcgrad.trace.stage import stage

EXTENTS = st.sampled_from([0, 1, 1, 2, 3, 4, 5])


def permutation(draw, n):
    return tuple(draw(st.permutations(range(n))))


def factorings(size, draw):
    if size == 0:
        return (0, draw(st.integers(1, 3)))
    shape = []
    for p in (2, 2, 3, 5):
        if size % p == 0 and draw(st.booleans()):
            shape.append(p)
            size //= p
    return (*shape, size)


def step(draw, values):
    """One more value from those there are."""
    x = draw(st.sampled_from(values))
    shape = x.aval.shape
    n = len(shape)
    kind = draw(st.integers(0, 22))
    if kind == 0:
        return draw(
            st.sampled_from(
                [neg, tanh, lambda x: mul(x, np.float64(0.5)), lambda x: exp(mul(x, np.float64(-0.25))), lambda x: sub(x, x)]
            )
        )(x)
    if kind in (1, 2, 3):
        same = [y for y in values if y.aval.shape == shape]
        return draw(st.sampled_from([add, sub, mul, max_]))(x, draw(st.sampled_from(same)))
    if kind in (4, 5):
        axes = tuple(a for a in range(n) if draw(st.booleans()))
        if draw(st.booleans()) and 0 not in shape:
            return reduce_max(x, axes=axes)
        return reduce_sum(x, axes=axes)
    if kind in (6, 7, 8):
        # Back to the shape of another value, if this one fits into it.
        wanted = draw(st.sampled_from([y.aval.shape for y in values]))
        dims, at = [], 0
        for extent in shape:
            while at < len(wanted) and extent not in (1, wanted[at]):
                at += 1
            if at == len(wanted):
                return broadcast_in_dim(x, shape=(2, *shape), dims=tuple(range(1, n + 1)))
            dims.append(at)
            at += 1
        return broadcast_in_dim(x, shape=wanted, dims=tuple(dims))
    if kind == 9:
        return transpose(x, permutation=permutation(draw, n))
    if kind == 10:
        return reshape(x, shape=factorings(x.aval.size, draw))
    if kind == 11 and n:
        starts = [draw(st.integers(0, max(0, m - 1))) for m in shape]
        limits = [draw(st.integers(s, m)) for s, m in zip(starts, shape)]
        return slice_(
            x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=tuple(draw(st.integers(1, 2)) for _ in shape)
        )
    if kind == 12:
        return rev(x, dimensions=tuple(a for a in range(n) if draw(st.booleans())))
    if kind == 13 and n:
        return concatenate(x, neg(x), dimension=draw(st.integers(0, n - 1)))
    if kind == 14 and n:
        config_ = tuple(
            (draw(st.integers(-1, 2)) if m > 1 else 1, draw(st.integers(0, 2)), draw(st.integers(0, 1))) for m in shape
        )
        return pad(x, np.float64(0.5), padding_config=config_)
    if kind == 15 and n == 2:
        return dot_general(
            x, transpose(x, permutation=(1, 0)), dimension_numbers=(((1,), (0,)), ((), ())), preferred_element_type=None
        )
    if kind == 16:
        return select_n(gt(x, np.float64(0)), x, mul(x, np.float64(0.1)))
    if kind == 17 and n and x.aval.size:
        from_ = argmax(x, axes=(n - 1,), index_dtype=np.dtype(np.int64))
        return (
            add(x, broadcast_in_dim(mul(reduce_max(x, axes=(n - 1,)), np.float64(0.5)), shape=shape, dims=tuple(range(n - 1))))
            if draw(st.booleans())
            else convert_element_type(from_, new_dtype=np.dtype(np.float64), weak_type=False)
        )
    if kind == 18 and n:
        return cumsum(x, axis=draw(st.integers(0, n - 1)), reverse=draw(st.booleans()))
    if kind == 19 and n:
        return mul(x, iota(dtype=np.dtype(np.float64), shape=shape, dimension=draw(st.integers(0, n - 1))))
    if kind >= 21 and n and shape[0]:
        y = draw(st.sampled_from(values))
        places = convert_element_type(
            reshape(mul(y, np.float64(3)), shape=(y.aval.size, 1)), new_dtype=np.dtype(np.int64), weak_type=False
        )
        window = tuple(range(1, n))
        if kind == 21:
            numbers = GatherDimensionNumbers(offset_dims=window, collapsed_slice_dims=(0,), start_index_map=(0,))
            mode = draw(st.sampled_from(["clip", "fill"]))
            return gather(x, places, dimension_numbers=numbers, slice_sizes=(1, *shape[1:]), mode=mode, fill_value=None)
        numbers = ScatterDimensionNumbers(update_window_dims=window, inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
        rows = broadcast_in_dim(reshape(y, shape=(y.aval.size,)), shape=(y.aval.size, *shape[1:]), dims=(0,))
        mode = draw(st.sampled_from(["clip", "drop"]))
        return draw(st.sampled_from([scatter_add, scatter]))(
            x, places, rows, dimension_numbers=numbers, mode=mode, unique_indices=False
        )
    if kind == 20:
        # By way of whole numbers: where a sum cancels, its order decides between 0 and 1e-17.
        whole = convert_element_type(mul(x, np.float64(1.7)), new_dtype=np.dtype(np.int64), weak_type=False)
        return convert_element_type(
            convert_element_type(whole, new_dtype=np.dtype(np.bool_), weak_type=False),
            new_dtype=np.dtype(np.float64),
            weak_type=False,
        )
    return tanh(x)


@st.composite
def programs(draw):
    shapes = [tuple(draw(st.lists(EXTENTS, max_size=3))) for _ in range(draw(st.integers(1, 3)))]
    choices = st.data()
    return shapes, draw(choices), draw(st.integers(1, 14)), draw(st.integers(0, 3))


# Thresholds so small that random programs cross them: folds in parts, tiles, rows kept in memory, small groups.
TINY = {
    lower: {"SPLIT": 3, "SPLIT_COLUMNS": 5, "PART": 2, "PARTS": 2},
    tile: {"TILE": 2},
    draft: {"ROW_BYTES": 16},
    fuse: {"LONE_FOLD": 9, "MEMBERS": 4, "DEEPEST": 3, "HEAVIEST": 4},
    axes: {"NARROW": 2},
}


@pytest.mark.parametrize("thresholds", [{}, TINY], ids=["normal", "tiny"])
def test_the_interpreter_agrees_with_numpy(thresholds, monkeypatch):
    for module, values in thresholds.items():
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)
    agree()


@settings(max_examples=300, deadline=None)
@given(programs())
def agree(program):
    shapes, data, length, extra = program
    dtype = np.dtype(np.float64)

    def fun(*xs):
        values = list(xs)
        with np.errstate(all="ignore"):
            for _ in range(length):
                value = step(data.draw, values)
                if value.aval.size <= 4000:
                    values.append(value)
        return [*values[len(xs) :][-1 - extra :], values[data.draw(st.integers(0, len(values) - 1))]]

    jaxpr, _ = stage(fun, [shaped(s, dtype) for s in shapes])
    rng = np.random.default_rng(length)
    xs = [rng.normal(size=s) for s in shapes]
    want = evaluate_numpy(jaxpr, [], xs)
    with config.override(check_ir=True):
        for program in (compile_program(simplify(jaxpr)), compile_program(jaxpr, tuple(range(len(xs))))):
            for a, b in zip(run(program, xs), want, strict=True):
                assert a.shape == b.shape and a.dtype == b.dtype
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)
