"""Loops as one kernel: which ones are, and what they give, against loops in NumPy."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax, random
from funcgrad.core.config import config
from funcgrad.loops import interpreter
from funcgrad.loops.compile import compile_program
from funcgrad.loops.program import KernelStep
from funcgrad.passes import simplify
from funcgrad.testing import counters


def draw(*shape, dtype="f4", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def program(f, *args):
    """The program of a function, with all checks on."""
    before, config.check_ir = config.check_ir, True
    try:
        closed = fg.make_jaxpr(f)(*args)
        return compile_program(simplify(closed.jaxpr)), [*closed.consts, *map(np.asarray, fg.tree_util.tree_leaves(args))]
    finally:
        config.check_ir = before


def is_kernels(f, *args):
    """Whether the program is kernels alone, one of them with carries (or with lanes, where there is no loop left)."""
    steps = program(f, *args)[0].steps
    return all(isinstance(s, KernelStep) for s in steps)


def agrees(f, want, *args, rtol=2e-5, atol=1e-6):
    """Compiled, in the interpreter of programs, and outside jit: all as `want`, in one kernel with carries or a few."""
    assert is_kernels(f, *args)
    leaves = [np.asarray(x) for x in fg.tree_util.tree_leaves(want)]
    made, inputs = program(f, *args)
    found = {
        "interpreted": interpreter.run(made, inputs),
        "compiled": fg.tree_util.tree_leaves(fg.jit(f)(*args)),
        "eager": fg.tree_util.tree_leaves(f(*args)),
    }
    for name, outs in found.items():
        assert len(outs) == len(leaves)
        for out, x in zip(outs, leaves, strict=True):
            out = np.asarray(out)
            assert out.shape == x.shape, name
            if out.dtype.names is None:
                np.testing.assert_allclose(out, x, rtol=rtol, atol=atol, err_msg=name)
            else:
                np.testing.assert_array_equal(out, x, err_msg=name)


def looped(step, carry, xs, length=None, reverse=False):
    """A scan, as a Python loop over NumPy arrays; carry and y are arrays or tuples."""
    n = len(xs) if length is None else length
    ys = [None] * n
    for i in reversed(range(n)) if reverse else range(n):
        carry, ys[i] = step(carry, None if xs is None else xs[i])
    return carry, ys


def cell(c, x):
    return fnp.tanh(c * 0.9 + x), (c, x * c)


def cell_numpy(c, x):
    return np.tanh(c * c.dtype.type(0.9) + x), (c, x * c)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(), (4,), (3, 5), (70,), (2, 33, 3)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_scan_with_two_ys(shape, dtype, reverse):
    c, xs = draw(*shape, dtype=dtype), draw(9, *shape, dtype=dtype, seed=1)
    last, ys = looped(cell_numpy, c, xs, reverse=reverse)
    want = last, (np.stack([y[0] for y in ys]), np.stack([y[1] for y in ys]))
    agrees(lambda c, xs: lax.scan(cell, c, xs, reverse=reverse), want, c, xs)


def test_integers_swap_places():
    want = (np.int64(55), np.int64(89)), np.array([0, 1, 1, 2, 3, 5, 8, 13, 21, 34])
    agrees(
        lambda a, b: lax.scan(lambda c, _: ((c[1], c[0] + c[1]), c[0]), (a, b), None, length=10), want, np.int64(0), np.int64(1)
    )


def test_bool_and_int32_carries():
    flips = np.random.default_rng(0).random((20, 2)) < 0.5
    count = np.zeros(2, np.int32)
    state = np.array([True, False])

    def step(c, x):
        return (c[0] ^ x, c[1] + fnp.where(c[0], np.int32(3), np.int32(-1))), c[0]

    last, ys = looped(lambda c, x: ((c[0] ^ x, c[1] + np.where(c[0], 3, -1).astype("i4")), c[0]), (state, count), flips)
    agrees(lambda s, c, xs: lax.scan(step, (s, c), xs), (last, np.stack(ys)), state, count, flips)


def test_carries_of_all_widths_over_four_lanes():
    """A kernel of their own, in which each carry's block lies aligned."""
    flips, x, z = np.random.default_rng(0).random((20, 4)) < 0.5, draw(4, dtype="f8"), draw(4).astype("c16")

    def step(where):
        return lambda c, flip: ((c[0] ^ flip, where(c[0], c[1] + c[1].dtype.type(1), c[1]), c[2] * 0.5 + c[1], c[3] * 1j), c[3])

    start = (np.array([True, False, True, True]), np.zeros(4, np.int8), x, z)
    last, ys = looped(step(np.where), start, flips)
    f = lambda a, b, c, d, flips: lax.scan(step(fnp.where), (a, b, c, d), flips)  # noqa: E731
    agrees(f, (last, np.stack(ys)), *start, flips)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_carry(dtype):
    z = (draw(40) + 1j * draw(40, seed=1)).astype(dtype)
    last, _ = looped(lambda c, _: (c * c * c.dtype.type(0.5) + z, None), z, None, 6)
    agrees(lambda z: lax.scan(lambda c, _: (c * c * 0.5 + z, None), z, None, length=6)[0], last, z, rtol=1e-4)


def test_a_counter_beside_lanes():
    c = draw(70)
    last, ys = looped(lambda s, _: ((s[0] + 1, s[1] * np.float32(0.5) + np.float32(s[0])), s[0]), (0, c), None, 6)
    f = lambda c: lax.scan(lambda s, _: ((s[0] + 1, s[1] * 0.5 + s[0]), s[0]), (0, c), None, length=6)  # noqa: E731
    agrees(f, (last, np.array(ys)), c)
    agrees(lambda c: lax.fori_loop(0, 6, lambda i, c: c * 0.5 + i, c), last[1], c)


# --- small values in a lane -------------------------------------------------------------------------------------


def lorenz(s, np=fnp):
    x, y, z = s[0], s[1], s[2]
    return np.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8 / 3 * z])


def rk4(s, _=None, np=fnp, h=0.01):
    k1 = lorenz(s, np)
    k2 = lorenz(s + h / 2 * k1, np)
    k3 = lorenz(s + h / 2 * k2, np)
    k4 = lorenz(s + h * k3, np)
    return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), s


@pytest.mark.parametrize("lanes", [1, 70])
def test_lorenz_by_vmap(lanes):
    s = draw(lanes, 3, dtype="f8")
    rows = [looped(lambda s, _: rk4(s, np=np), x, None, 20) for x in s]
    want = np.stack([r[0] for r in rows]), np.stack([np.stack(r[1]) for r in rows])
    agrees(fg.vmap(lambda s: lax.scan(rk4, s, None, length=20)), want, s, rtol=1e-9)
    agrees(lambda s: lax.scan(rk4, s, None, length=20)[0], want[0][0], s[0], rtol=1e-9)


def test_small_matrices():
    w, x = draw(3, 3), draw(40, 3, seed=1)
    last, ys = looped(lambda c, _: (np.tanh(c @ w.T), c), x, None, 7)
    f = fg.vmap(lambda w, x: lax.scan(lambda c, _: (fnp.tanh(w @ c), c), x, None, length=7), in_axes=(None, 0))
    agrees(f, (last, np.stack(ys, 1)), w, x)


def test_parts_of_a_small_carry():
    def step(c, i):
        c = c.at[i % 3].add(1.0)
        return c.at[0].set(c[1]), (fnp.cumsum(c), c.max(), fnp.argmax(c), fnp.sort(c[:2])[0] if False else c[::-1])

    def by_hand(c, i):
        c = c.copy()
        c[i % 3] += 1
        out = c.copy()
        out[0] = c[1]
        return out, (np.cumsum(c), c.max(), np.argmax(c), c[::-1])

    c = draw(3)
    last, ys = looped(by_hand, c, np.arange(7))
    want = last, tuple(np.stack(y) for y in zip(*ys, strict=True))
    agrees(lambda c, i: lax.scan(step, c, i), want, c, np.arange(7))


def test_first_nan_of_a_small_carry():
    x = np.array([1, np.nan, 3, np.nan])
    f = lambda x: lax.scan(lambda c, _: (c * 2, (fnp.argmax(c), fnp.argmin(c))), x, None, length=2)[1]  # noqa: E731
    agrees(f, (np.array([1, 1]), np.array([1, 1])), x)


def test_a_table_is_read_in_each_step():
    t, i = draw(100), np.random.default_rng(0).integers(0, 100, (60, 9))
    f = fg.vmap(lambda i, t: lax.scan(lambda c, k: (c + t[k], c), np.float32(0), i)[0], in_axes=(0, None))
    agrees(f, t[i].sum(1), i, t)
    g = lambda xs, i: lax.scan(lambda c, a: (c * 0.5 + a[0][a[1]], None), np.float32(0), (xs, i), reverse=True)[0]  # noqa: E731
    xs = draw(9, 50)
    want, _ = looped(lambda c, a: (c * np.float32(0.5) + a, None), np.float32(0), xs[np.arange(9), i[0] % 50], reverse=True)
    agrees(g, want, xs, i[0] % 50)


def test_an_index_out_of_range_names_itself():
    f = fg.jit(lambda t, i: lax.scan(lambda c, k: (c + t[k], None), np.float32(0), i)[0])
    with pytest.raises(IndexError, match="17"):
        f(draw(10), np.array([1, 17, 2]))


def test_keys_are_carried():
    def step(k, _):
        k, now = random.split(k)
        return k, random.normal(now)

    key, want = random.key(3), []
    for _ in range(8):
        key, now = random.split(key)
        want.append(np.asarray(random.normal(now)))
    agrees(lambda k: lax.scan(step, k, None, length=8)[1], np.stack(want), random.key(3))


def test_short_loops_and_branches_inside_a_step():
    def step(c, x):
        c = lax.fori_loop(0, 3, lambda i, c: c * 0.5 + x * i, c)
        return lax.cond(c > 0, lambda a: a - x, lambda a: a + x * x, c), c

    def by_hand(c, x):
        for i in range(3):
            c = c * np.float32(0.5) + x * np.float32(i)
        return (c - x if c > 0 else c + x * x), c

    c, xs = np.float32(1), draw(30)
    last, ys = looped(by_hand, c, xs)
    agrees(lambda c, xs: lax.scan(step, c, xs), (last, np.stack(ys)), c, xs)


# --- while -------------------------------------------------------------------------------------------------------


def escape_numpy(c, limit):
    z, n = c * 0, 0
    while abs(z) < 2 and n < limit:
        z, n = z * z + c, n + 1
    return n


def points(n, dtype="c16"):
    rng = np.random.default_rng(0)
    return (rng.uniform(-2, 1, n) + 1j * rng.uniform(-1, 1, n)).astype(dtype)


def escape(c, limit=60):
    return lax.while_loop(
        lambda s: (fnp.abs(s[0]) < 2) & (s[1] < limit), lambda s: (s[0] * s[0] + c, s[1] + 1), (fnp.zeros_like(c), 0)
    )[1]


def test_mandelbrot_with_complex_numbers():
    c = points(300)
    want = np.array([escape_numpy(x, 60) for x in c])
    agrees(fg.vmap(escape), want, c)
    agrees(fg.vmap(fg.vmap(escape)), want.reshape(20, 15), c.reshape(20, 15))
    agrees(escape, want[0], c[0])


def test_mandelbrot_in_two_reals():
    def count(a, b):
        def body(s):
            x, y, n = s
            return x * x - y * y + a, 2 * x * y + b, n + 1

        return lax.while_loop(lambda s: (s[0] ** 2 + s[1] ** 2 < 4) & (s[2] < 60), body, (a * 0, b * 0, 0))[2]

    c = points(130)
    agrees(fg.vmap(count), np.array([escape_numpy(x, 60) for x in c]), c.real.copy(), c.imag.copy())


def test_a_while_that_does_nothing():
    x = np.array([3.0, 700.0, 5.0])
    f = fg.vmap(lambda x: lax.while_loop(lambda c: c < 100, lambda c: c * 2, x))
    agrees(f, np.array([192.0, 700.0, 160.0]), x)


def test_lanes_that_have_ended_read_nothing_more():
    t, i = np.arange(200) / 100, np.random.default_rng(0).integers(0, 90, 60)
    f = fg.vmap(lambda t, i: lax.while_loop(lambda k: t[k] < 1, lambda k: k + 1, i), in_axes=(None, 0))
    agrees(f, np.full(60, 100), t, i)
    last = fg.vmap(
        lambda t, i: lax.while_loop(lambda s: s[0] < 200, lambda s: (s[0] + 1, s[1] + t[s[0]]), (i, 0.0))[1], in_axes=(None, 0)
    )
    agrees(last, np.array([t[k:].sum() for k in i]), t, i, rtol=1e-4)


def test_what_surrounds_a_loop_in_a_lane():
    def lane(x):
        start = x * x
        out = lax.while_loop(lambda c: c < 10, lambda c: c * 1.3 + 1, start)
        return fnp.exp(-out) + x, out

    def by_hand(x):
        c = x * x
        while c < 10:
            c = c * 1.3 + 1
        return np.exp(-c) + x, c

    x = draw(50, dtype="f8")
    rows = [by_hand(a) for a in x]
    agrees(lambda x: lax.map(lane, x), (np.array([r[0] for r in rows]), np.array([r[1] for r in rows])), x, rtol=1e-9)


def test_branches_of_lanes_are_one_kernel_without_steps():
    x = draw(50)
    agrees(fg.vmap(lambda x: lax.cond(x > 0, fnp.sin, lambda x: x * 2, x)), np.where(x > 0, np.sin(x), x * 2), x)
    agrees(lambda x: lax.map(lambda x: fnp.sin(x) + 1, x), np.sin(x) + 1, x)


# --- derivatives -------------------------------------------------------------------------------------------------


def unrolled(f, *args, eps=1e-6):
    """The gradient of a scalar NumPy function by central differences, for each argument."""
    grads = []
    for k, x in enumerate(args):
        g = np.zeros(np.shape(x))
        for place in np.ndindex(np.shape(x)):
            values = []
            for sign in (1, -1):
                moved = [np.array(a, "f8") for a in args]
                moved[k][place] += sign * eps
                values.append(f(*moved))
            g[place] = (values[0] - values[1]) / (2 * eps)
        grads.append(g)
    return tuple(grads)


@pytest.mark.parametrize("shape", [(), (4,)])
def test_gradient_of_a_scan(shape):
    def loss(a, c, xs):
        c, ys = lax.scan(lambda c, x: (fnp.tanh(c * a + x), c * x), c, xs)
        return fnp.sum(ys**2) + fnp.sum(c)

    def by_hand(a, c, xs):
        total = 0.0
        for x in xs:
            total += np.sum((c * x) ** 2)
            c = np.tanh(c * a + x)
        return total + np.sum(c)

    args = np.float64(0.7), draw(*shape, dtype="f8"), draw(6, *shape, dtype="f8", seed=1)
    agrees(fg.grad(loss, argnums=(0, 1, 2)), unrolled(by_hand, *args), *args, rtol=1e-6, atol=1e-8)


def test_gradient_of_what_all_lanes_share():
    def loss(w, b, x):
        def lane(x):
            return lax.scan(lambda c, _: (fnp.tanh(w @ c + b), fnp.sum(c * c)), x, None, length=5)[1].sum()

        return fg.vmap(lane)(x).sum()

    def by_hand(w, b, x):
        total = 0.0
        for _ in range(5):
            total += np.sum(x * x)
            x = np.tanh(x @ w.T + b)
        return total

    args = draw(2, 2, dtype="f8"), draw(2, dtype="f8", seed=1), draw(20, 2, dtype="f8", seed=2)
    agrees(fg.grad(loss, argnums=(0, 1, 2)), unrolled(by_hand, *args), *args, rtol=1e-6, atol=1e-8)


def test_a_mean_over_lanes_in_each_step():
    c, xs = draw(70, dtype="f8"), draw(9, 70, dtype="f8", seed=1)
    last, ys = looped(lambda c, x: (np.tanh(c + x), np.mean(c**2)), c, xs)
    agrees(lambda c, xs: lax.scan(lambda c, x: (fnp.tanh(c + x), fnp.mean(c**2)), c, xs), (last, np.array(ys)), c, xs)
    f = lambda c, xs: lax.scan(lambda s, x: ((fnp.tanh(s[0] + x), s[1] + fnp.sum(s[0])), None), (c, 3.0), xs)[0]  # noqa: E731
    total, _ = looped(lambda s, x: ((np.tanh(s[0] + x), s[1] + s[0].sum()), None), (c, 3.0), xs)
    agrees(f, total, c, xs)


def test_second_derivatives():
    def last(x, np=fnp):
        for _ in range(4):
            x = np.sin(x * x)
        return x

    f = lambda x: lax.fori_loop(0, 4, lambda i, c: fnp.sin(c * c), x)  # noqa: E731
    eps, x = 1e-4, 0.8
    want = (last(x + eps, np) - 2 * last(x, np) + last(x - eps, np)) / eps**2
    got = fg.jit(fg.grad(fg.grad(f)))(np.float64(x))
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5)
    assert is_kernels(fg.grad(fg.grad(f)), np.float64(x))


# --- what is compiled ---------------------------------------------------------------------------------------------


def test_another_length_or_batch_compiles_nothing():
    f = fg.jit(lambda c, xs: lax.scan(cell, c, xs))
    f(draw(70), draw(9, 70))
    with counters() as c:
        f(draw(130), draw(9, 130))
        f(draw(70), draw(900, 70))
        f(draw(12), draw(5, 12))
    assert c.compiled == 0 and c.loaded == 0 and c.traces == 3


def test_large_bodies_take_the_general_road():
    w = draw(64, 64)
    f = lambda w, x: lax.scan(lambda c, _: (fnp.tanh(w @ c), None), x, None, length=3)[0]  # noqa: E731
    assert not is_kernels(f, w, draw(64))
    x = draw(64, seed=1)
    want = x
    for _ in range(3):
        want = np.tanh(w @ want)
    np.testing.assert_allclose(np.asarray(fg.jit(f)(w, x)), want, rtol=1e-3, atol=1e-4)


def test_bodies_that_take_long_to_compile_take_the_general_road():
    f = lambda c: lax.while_loop(lambda c: fnp.any(c < 1), lambda c: c + fnp.sin(c) ** 2, c)  # noqa: E731
    few, many = draw(2, dtype="f8") ** 2 + 0.1, draw(30, dtype="f8") ** 2 + 0.1
    assert is_kernels(f, few) and not is_kernels(f, many)
    want = many
    while np.any(want < 1):
        want = want + np.sin(want) ** 2
    np.testing.assert_allclose(np.asarray(fg.jit(f)(many)), want, rtol=1e-9)


def test_seventy_carries_that_depend_on_each_other():
    """The names of so many next values are not those of casts, u8 to u64."""
    start = np.arange(70.0)
    f = lambda c: lax.scan(lambda c, _: ((*c[1:], c[0] + c[1]), None), c, None, length=9)[0]  # noqa: E731
    want = list(start)
    for _ in range(9):
        want = [*want[1:], want[0] + want[1]]
    agrees(f, tuple(want), tuple(start))


def test_lanes_that_are_tied_together_take_the_general_road():
    f = lambda c: lax.scan(lambda c, _: (c / fnp.sum(c), None), c, None, length=3)[0]  # noqa: E731
    c = abs(draw(200))
    assert not is_kernels(f, c)
    np.testing.assert_allclose(np.asarray(fg.jit(f)(c)), c / c.sum(), rtol=1e-5)


def test_loops_of_nothing():
    f = fg.jit(lambda c, xs: lax.scan(cell, c, xs))
    last, ys = f(draw(4), draw(0, 4))
    np.testing.assert_array_equal(np.asarray(last), draw(4))
    assert ys[0].shape == (0, 4)
    assert f(draw(0), draw(3, 0))[1][1].shape == (3, 0)


# --- bodies by chance ---------------------------------------------------------------------------------------------


def random_step(rng):
    """A step on a carry of (float, float[3], int) with x float[3]: some operators on what there is so far."""
    plan = [(int(rng.integers(12)), *rng.integers(0, 1 << 30, 3).tolist()) for _ in range(int(rng.integers(3, 9)))]

    def step(carry, x):
        a, v, n = carry
        floats, vectors = [a, a * 0.5 + 1], [v, x]
        for op, i, j, k in plan:
            s, t = floats[i % len(floats)], floats[j % len(floats)]
            p, q = vectors[i % len(vectors)], vectors[j % len(vectors)]
            if op < 3:
                floats.append([fnp.sin(s) * t, fnp.maximum(s, t), fnp.where(s > t, s - t, s)][op])
            elif op < 6:
                vectors.append([p * s, fnp.tanh(p + q), fnp.where(p > s, q, p)][op - 3])
            elif op == 6:
                floats.append(fnp.sum(p * q) * 0.1)
            elif op == 7:
                vectors.append(fnp.concatenate([p[k % 3 :], q[: k % 3]]))
            elif op == 8:
                vectors.append(p.at[n % 3].set(s))
            elif op == 9:
                floats.append(p[(n + k) % 3])
            elif op == 10:
                vectors.append(lax.cond(s > 0, lambda p, q: p - q, lambda p, q: fnp.cumsum(p) * 0.2, p, q))
            else:
                floats.append(fnp.max(p) - fnp.min(q[::-1][:2]))
        return (fnp.sin(floats[-1]), fnp.tanh(vectors[-1]), n * 5 + 1 & 1023), (floats[-1], vectors[-1])

    return step


@pytest.mark.parametrize("seed", range(12))  # all pairs of a direction and a number of lanes, twice
def test_random_bodies(seed):
    rng = np.random.default_rng(seed)
    step = random_step(rng)
    reverse, lanes = bool(seed % 2), (None, 5, 70)[seed % 3]

    def f(a, v, n, xs):
        return lax.scan(step, (a, v, n), xs, reverse=reverse)

    shape = () if lanes is None else (lanes,)
    args = (
        rng.standard_normal(shape),
        rng.standard_normal((*shape, 3)),
        rng.integers(0, 9, shape),
        rng.standard_normal((*shape, 6, 3)),
    )
    if lanes is not None:
        f = fg.vmap(f)
    agrees(f, f(*args), *args, rtol=1e-9, atol=1e-9)

    def loss(a, v, n, xs):
        (a, v, _), (s, p) = f(a, v, n, xs)
        return fnp.sum(a) + fnp.sum(v) + fnp.sum(s) + fnp.sum(p * p)

    if seed % 4 == 0:
        g = fg.grad(loss, argnums=(0, 1, 3))
        agrees(g, g(*args), *args, rtol=1e-8, atol=1e-9)


def test_python_numbers_in_a_body_have_their_dtype():
    want, i = 5, []
    for _ in range(20):
        i.append(want)
        want = (want * 7 + 3) % 100
    agrees(
        lambda k: lax.scan(lambda k, _: ((k * 7 + 3) % 100, k), k, None, length=20), (np.array(want), np.array(i)), np.int64(5)
    )
