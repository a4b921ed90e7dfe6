"""Loop structures: maps, reductions, rows of several passes, columns, scans, scatters, checks; compiled and interpreted."""

import numpy as np
import pytest

from funcgrad.codegen.canonical import DTYPES
from funcgrad.loops.nest import CARRIED_LANES, LANES, Nest, Pass, Reduction, Store

from .support import (
    RUNNERS,
    acc,
    const,
    escape,
    expr,
    index,
    layernorm,
    load,
    map_nest,
    operand,
    recurrence,
    reduction,
    run_compiled,
    scan,
    scatter,
    softmax,
    transpose,
)

SIZES = (0, 1, 7, 1000, 100_003)
HOW = pytest.mark.parametrize("how", RUNNERS)


def _sizes(how):
    return SIZES if how == "compiled" else (0, 1, 7, 2500)


@HOW
@pytest.mark.parametrize("op", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1"])
def test_row_reductions(op, dtype, how):
    rng = np.random.default_rng(0)
    nest = reduction(op, dtype)
    for n in _sizes(how):
        x = (rng.uniform(0.5, 1.5, (3, n)) if dtype[0] == "f" else rng.integers(0, 100, (3, n))).astype(dtype)
        out = np.empty(3, dtype)
        RUNNERS[how](nest, [x.ravel(), out], [3, n, n, 1], 3)
        fold = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[op]
        if dtype[0] == "f":
            initial = {"add": 0, "mul": 1, "max": -np.inf, "min": np.inf}[op]
            with np.errstate(all="ignore"):
                want = fold.reduce(x.astype("f8"), axis=1, initial=initial)
            close = np.abs(np.log10(np.abs(want) + 1e-300)) < (35 if dtype == "f4" else 300)
            close |= np.isinf(want) & (op != "mul")
            loose = op == "mul" or how == "interpreted"  # one after another, where vectors add in many lanes
            rtol = ((n + 1) if loose else 4) * np.finfo(dtype).eps
            np.testing.assert_allclose(out[close], want[close], rtol=rtol)
        else:
            edge = {"add": 0, "mul": 1, "max": np.iinfo(dtype).min, "min": np.iinfo(dtype).max}[op]
            np.testing.assert_array_equal(out, fold.reduce(x, axis=1, initial=edge, dtype=dtype))


def test_long_float32_sum_is_exact():
    x = np.full(10_000_000, 0.1, "f4")
    out = np.empty(1, "f4")
    run_compiled(reduction("add", "f4"), [x, out], [1, x.size, x.size, 1], 1)
    exact = float(x[0]) * x.size
    assert abs(out[0] - exact) <= abs(x.sum() - exact)


@HOW
@pytest.mark.parametrize("op", ["and", "or", "xor"])
@pytest.mark.parametrize("dtype", ["?", "u2", "i8"])
def test_bitwise_reductions(op, dtype, how):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2 if dtype == "?" else 100, (4, 37)).astype(dtype)
    out = np.empty(4, dtype)
    RUNNERS[how](reduction(op, dtype), [x.ravel(), out], [4, 37, 37, 1], 4)
    fold = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[op]
    np.testing.assert_array_equal(out, fold.reduce(x, axis=1))


@HOW
@pytest.mark.parametrize("op", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "?"])
@pytest.mark.parametrize("column", [False, True])
def test_places_of_extremes(op, dtype, column, how):
    rng = np.random.default_rng(2)
    n = 5000 if how == "compiled" and not column else 60
    rows = np.array([rng.integers(0, 50, n) for _ in range(6)]).astype(dtype)
    if dtype[0] == "f":
        rows[0, 20:40:3] = np.nan
        rows[1] = -np.inf if op == "argmax" else np.inf
        rows[2, n - 1] = np.nan
    want = getattr(np, op)(rows, axis=1)
    x = rows.T.copy() if column else rows
    out = np.empty(6, "i8")
    if column:
        RUNNERS[how](reduction(op, dtype, column=True), [x.ravel(), out], [6, n, 6], 1)
    else:
        RUNNERS[how](reduction(op, dtype), [x.ravel(), out], [6, n, n, 1], 6)
    np.testing.assert_array_equal(out, want)


@HOW
def test_maxima_propagate_nan(how):
    x = np.array([[1, 2, 3], [1, np.nan, 3], [np.inf, 2, -np.inf], [-1, -2, -3]], "f4")
    for op, fold in (("max", np.max), ("min", np.min)):
        out = np.empty(4, "f4")
        RUNNERS[how](reduction(op, "f4"), [x.ravel(), out], [4, 3, 3, 1], 4)
        np.testing.assert_array_equal(out, fold(x, axis=1))


@HOW
@pytest.mark.parametrize("shape", [(5, 3), (1, 1), (37, 700), (3, 2 * LANES)])
@pytest.mark.parametrize("op", ["add", "max", "mul"])
@pytest.mark.parametrize("dtype", ["f4", "i2", "?"])
def test_column_reductions(shape, op, dtype, how):
    m, n = shape if how == "compiled" else (min(shape[0], 6), min(shape[1], 9))
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((m, n)) if dtype == "f4" else rng.integers(0, 2, (m, n))).astype(dtype)
    out = np.empty(n, dtype)
    RUNNERS[how](reduction(op, dtype, column=True), [x.ravel(), out], [n, m, n], -(-n // LANES))
    if dtype == "f4":
        want = {"add": np.sum, "max": np.max, "mul": np.prod}[op](x.astype("f8"), axis=0)
        np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-5)
    else:
        want = {"add": np.any if dtype == "?" else np.sum, "max": np.max, "mul": np.all if dtype == "?" else np.prod}[op](
            x, axis=0
        )
        np.testing.assert_array_equal(out, want.astype(dtype))


@HOW
def test_softmax(how):
    n = 3000 if how == "compiled" else 30
    x = np.random.default_rng(4).standard_normal((5, n)).astype("f4") * 4
    y = np.empty_like(x)
    RUNNERS[how](softmax(), [x.ravel(), y.ravel()], [5, n, n, n, 0], 5, 4 * n)
    e = np.exp(x.astype("f8") - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=3e-6)


@HOW
def test_layernorm(how):
    n = 2049 if how == "compiled" else 40
    rng = np.random.default_rng(5)
    x, gain = rng.standard_normal((4, n)).astype("f4") + 3, rng.standard_normal(n).astype("f4")
    y = np.empty_like(x)
    eps = int(np.array([1e-5], "f4").view("i4")[0])
    RUNNERS[how](layernorm(), [x.ravel(), gain, y.ravel()], [4, n, n, 0, n, eps], 4)
    wide = x.astype("f8")
    want = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * gain
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)


@HOW
def test_a_point_reads_what_the_rows_before_it_read(how):
    """The factor does not move along the inner axes, though the stride that says so, 0, arrives with the call."""
    x, factor = load("f8", 0), load("f8", 1)
    total = Reduction(0, "add", expr("mul", "f8", x, factor), np.dtype("f8"))
    stores = (Store(2, expr("mul", "f8", acc("f8", 0), factor)), Store(3, expr("sub", "f8", factor, acc("f8", 0))))
    operands = (operand("f8", "in", None, 1), *[operand("f8", role, None, 0) for role in ("in", "out", "out")])
    nest = Nest(0, 2, "row", operands, (), (Pass("row", (), (total,)), Pass("point", stores)))
    y, z = np.zeros(1), np.zeros(1)
    RUNNERS[how](nest, [np.arange(12.0), np.array([2.0]), y, z], [3, 4, 4, 0, 0, 0], 1)
    assert (y[0], z[0]) == (264.0, -130.0)


@HOW
@pytest.mark.parametrize("op", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("column", [False, True])
def test_scans(op, column, how):
    rng = np.random.default_rng(6)
    x = rng.uniform(0.5, 1.5, (7, 40)).astype("f8")
    x[3, 5] = np.nan
    y = np.empty_like(x)
    fold = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[op]
    if column:
        RUNNERS[how](scan(op, "f8", column=True), [x.ravel(), y.ravel()], [40, 7, 40, 40], 1)
        np.testing.assert_array_equal(y, fold.accumulate(x, axis=0))
    else:
        RUNNERS[how](scan(op, "f8"), [x.ravel(), y.ravel()], [7, 40, 40, 40], 7)
        np.testing.assert_array_equal(y, fold.accumulate(x, axis=1))


@HOW
@pytest.mark.parametrize("combine", [None, "add", "mul", "min", "max"])
def test_scatter(combine, how):
    rng = np.random.default_rng(7)
    x, k = rng.standard_normal(50).astype("f4"), rng.integers(0, 9, 50)
    k[::7] = -6  # guarded out, but still checked
    y = rng.standard_normal(9).astype("f4")
    want = y.copy()
    record = RUNNERS[how](scatter(combine), [x, k, y], [50, 1, 9, 9], 50)
    at = {None: None, "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[combine]
    for value, place in zip(x, k):
        if place >= 0:
            want[place] = value if at is None else at(want[place], value)
    np.testing.assert_array_equal(y, want)
    assert list(record[:3]) == [4, -6, 9]


@HOW
def test_the_first_failed_check_is_kept(how):
    x, k = np.zeros(4, "f4"), np.array([1, 12, 99, 2])
    y = np.zeros(10, "f4")
    record = RUNNERS[how](scatter("add"), [x, k, y], [4, 1, 10, 10], 4)
    assert list(record[:3]) == [4, 12, 10]
    record = RUNNERS[how](scatter("add"), [x, k % 10, y], [4, 1, 10, 10], 4)
    assert record[0] == 0


@HOW
def test_transpose_of_three_axes(how):
    x = np.random.default_rng(8).standard_normal((5, 4, 3)).astype("f4")
    y = np.empty((4, 3, 5), "f4")
    dims = [4, 3, 5, 3, 1, 12, 15, 5]
    RUNNERS[how](transpose(), [x.ravel(), y.ravel()], dims, 12)
    np.testing.assert_array_equal(y, x.transpose(1, 2, 0) + 1)


@HOW
def test_reversed_operand(how):
    """A negative stride starts at the last element."""
    x, y = np.arange(10, dtype="f4"), np.empty(10, "f4")
    operands = (operand("f4", "in", None), operand("f4", "out", 1))
    nest = Nest(0, 1, "row", operands, (), (Pass("row", (Store(1, load("f4", 0)),)),))
    RUNNERS[how](nest, [(x, 9), y], [10, -1], 10)
    np.testing.assert_array_equal(y, x[::-1])


@HOW
def test_gather(how):
    """y[i] = x[k[i], i], out-of-range rows checked."""
    x = np.arange(12, dtype="f4").reshape(4, 3)
    k, y = np.array([3, 0, 2]), np.empty(3, "f4")
    row = expr("check", "i8", load("i8", 1), const(4, "i8"), attr=0)
    operands = (operand("f4", "in", 1, indirect=1), operand("i8", "in", 1), operand("f4", "out", 1))
    nest = Nest(0, 1, "row", operands, (), (Pass("row", (Store(2, load("f4", 0, row)),)),))
    assert RUNNERS[how](nest, [x.ravel(), k, y], [3, 3, 4], 3)[0] == 0
    np.testing.assert_array_equal(y, x[k, [0, 1, 2]])


@HOW
def test_reduction_over_two_axes_with_a_map(how):
    """out[o] = sum over (j, i) of x[o, j, i] * w[j]; y = x + j."""
    rng = np.random.default_rng(9)
    x, w = rng.standard_normal((3, 4, 5)).astype("f4"), rng.standard_normal(4).astype("f4")
    y, out = np.empty_like(x), np.empty(3, "f4")
    value = expr("mul", "f4", load("f4", 0), load("f4", 1))
    shifted = expr("add", "f4", load("f4", 0), expr("cast", "f4", index(1)))
    passes = (
        Pass("row", (Store(2, shifted),), (Reduction(0, "add", value, np.dtype("f4")),)),
        Pass("point", (Store(3, acc("f4", 0)),)),
    )
    operands = (
        operand("f4", "in", None, None, 1),
        operand("f4", "in", None, None, 0),
        operand("f4", "out", None, None, 1),
        operand("f4", "out", None, None, 0),
    )
    nest = Nest(1, 2, "row", operands, (), passes)
    RUNNERS[how](nest, [x.ravel(), w, y.ravel(), out], [3, 4, 5, 20, 5, 0, 1, 20, 5, 1, 0], 3)
    np.testing.assert_allclose(out, (x * w[:, None]).sum((1, 2)), rtol=1e-5)
    np.testing.assert_array_equal(y, x + np.arange(4, dtype="f4")[:, None])


@HOW
def test_whole_array_reduction_and_split_maps(how):
    """No outer axis: a reduction has one point; a map's range may be cut anywhere."""
    x = np.arange(1, 101, dtype="f8")
    out = np.empty(1)
    r = Reduction(0, "add", load("f8", 0), np.dtype("f8"))
    passes = (Pass("row", (), (r,)), Pass("point", (Store(1, acc("f8", 0)),)))
    nest = Nest(0, 1, "row", (operand("f8", "in", 1), operand("f8", "out", 0)), (), passes)
    RUNNERS[how](nest, [x, out], [100], 1)
    assert out[0] == 5050
    y = np.empty(100)
    run_compiled(map_nest([expr("neg", "f8", load("f8", 0))], ["f8"]), [x, y], [100], 100, split=7)
    np.testing.assert_array_equal(y, -x)


def test_stores_do_not_disturb_the_loads_of_their_pass():
    """An output may lie in an input's memory at the same positions (in-place)."""
    x = np.arange(100, dtype="f4")
    y = np.empty(100, "f4")
    values = [expr("mul", "f4", load("f4", 1), const(3.0, "f4")), load("f4", 0)]
    z = np.ones(100, "f4")
    run_compiled(map_nest(values, ["f4", "f4"]), [x, z, x, y], [100], 100)
    np.testing.assert_array_equal(y, np.arange(100))
    np.testing.assert_array_equal(x, np.full(100, 3))


@pytest.mark.parametrize("code", ["c64", "c128"])
def test_complex_sums(code):
    dtype = DTYPES[code]
    rng = np.random.default_rng(10)
    x = (rng.standard_normal((3, 500)) + 1j * rng.standard_normal((3, 500))).astype(dtype)
    out = np.empty(3, dtype)
    run_compiled(reduction("add", dtype), [x.ravel(), out], [3, 500, 500, 1], 3)
    np.testing.assert_allclose(out, x.sum(1), rtol=1e-5)
    columns = np.empty(500, dtype)
    run_compiled(reduction("add", dtype, column=True), [x.ravel(), columns], [500, 3, 500], 1)
    np.testing.assert_allclose(columns, x.sum(0), rtol=1e-5)


@HOW
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("lanes", [0, 1, 7, 64, 200])
def test_carries_of_a_scan(lanes, dtype, how):
    rng = np.random.default_rng(0)
    steps = 12
    x = rng.standard_normal((steps, max(1, lanes))).astype(dtype)
    q = np.array([0.5], dtype)
    bits = int(q.view("i4" if dtype == "f4" else "i8")[0])
    want, c = np.empty_like(x), x[0]
    for t in range(steps):
        want[t], c = c, np.tanh(q * c + x[t])
    ys, last = np.empty_like(x), np.empty(x.shape[1], dtype)
    dims = [lanes, steps, 0, lanes, lanes, 0, bits] if lanes else [steps, bits]
    extent = -(-lanes // CARRIED_LANES) if lanes else 1
    RUNNERS[how](recurrence(dtype, bool(lanes)), [x[0].copy(), x.ravel(), ys.ravel(), last], dims, extent)
    np.testing.assert_allclose(ys, want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last, c, rtol=1e-5, atol=1e-6)


@HOW
def test_each_lane_ends_by_itself(how):
    rng = np.random.default_rng(1)
    c = (rng.uniform(-2, 1, 150) + 1j * rng.uniform(-1, 1, 150)).astype("c8")
    want = []
    for x in c:
        z, n = x * 0, 0
        while z.real * z.real + z.imag * z.imag < 4 and n < 50:
            z, n = z * z + x, n + 1
        want.append(n)
    out = np.empty(150, "i8")
    RUNNERS[how](escape(), [c, out], [150, 1, 0, 0], 3)
    assert np.mean(out == want) > 0.95  # chaos: a fused multiply-add may end a lane elsewhere
    one = np.empty(1, "i8")
    RUNNERS[how](escape(lanes=False), [c[:1].copy(), one], [1], 1)
    assert one[0] == want[0]
