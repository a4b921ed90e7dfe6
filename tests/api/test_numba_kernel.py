"""numba_kernel: user's Numba functions under every transform, against the same function in NumPy or Python."""

import copy
import math
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import cloudpickle
import numba
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax, numba_kernel
from funcgrad.errors import CompileError, DtypeError, UsageError
from funcgrad.runtime import user_kernels
from funcgrad.runtime.user_source import digest
from funcgrad.testing import counters

X = np.linspace(-2.0, 3.0, 11)
S = fg.ShapeDtypeStruct


@numba.njit
def bump(x, s):
    if x > 0.0:
        return math.exp(-s * x) / x
    return math.tanh(x) + s


def bump_numpy(x, s):
    with np.errstate(all="ignore"):
        return np.where(x > 0, np.exp(-s * x) / x, np.tanh(x) + s)


def bump_fnp(x, s):
    return fnp.where(x > 0, fnp.exp(-s * x) / x, fnp.tanh(x) + s)


kernel = numba_kernel(bump)
smooth = numba_kernel(bump, derivative_of=bump_fnp)


# --- functions of scalars ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_elementwise_eager_jit_and_vmap(dtype):
    x, s = X.astype(dtype), np.array([[0.5], [1.5]], dtype)
    want = bump_numpy(x, s)
    tolerance = dict(rtol=1e-5 if dtype == np.float32 else 1e-14)
    for got in (
        kernel(x, s),
        fg.jit(kernel)(x, s),
        fg.vmap(kernel, in_axes=(None, 0))(x, s[:, 0]),
        fg.jit(fg.vmap(kernel, (None, 0)))(x, s[:, 0]),
    ):
        assert got.dtype == dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, **tolerance)
    assert kernel(x, 0.5).dtype == dtype and float(kernel(dtype(2), 1)) == pytest.approx(bump_numpy(2.0, 1.0), rel=1e-6)


def test_it_is_part_of_the_kernel_around_it():
    report = fg.explain(fg.jit(lambda x: (fnp.sin(kernel(x * 2, 0.5)) + 1).sum()))(X)
    assert len(report.steps) == 1 and "user_" in next(iter(report.kernels.values()))
    np.testing.assert_allclose(
        fg.jit(lambda x: (fnp.sin(kernel(x * 2, 0.5)) + 1).sum())(X), (np.sin(bump_numpy(X * 2, 0.5)) + 1).sum(), rtol=1e-13
    )


def test_plain_functions_closures_and_other_types():
    table = np.array([1.0, 10.0, 100.0])
    scale = 3

    def lookup(n, x):
        return scale * x + table[n % 3]

    f = numba_kernel(lookup)
    n = np.arange(5, dtype=np.int32)
    np.testing.assert_allclose(fg.jit(f)(n, X[:5]), scale * X[:5] + table[n % 3])
    even = numba_kernel(lambda n: n % 2 == 0)
    np.testing.assert_array_equal(fg.jit(even)(n), n % 2 == 0)
    assert even(n).dtype == bool
    both = numba_kernel(lambda a, b: a and not b)
    np.testing.assert_array_equal(
        fg.jit(both)(np.array([True, True, False]), np.array([True, False, False])), [False, True, False]
    )
    z = X[:3] + 1j
    np.testing.assert_allclose(fg.jit(numba_kernel(lambda z: z * z + 1j))(z), z * z + 1j, rtol=1e-14)
    recursive = numba_kernel(numba.njit(lambda n: n * (n + 1) // 2))
    assert int(recursive(np.int64(4))) == 10


def test_the_result_dtype():
    double = numba_kernel(lambda x: x * 2.0 + 1.0 / 3.0)
    assert double(np.float32(1)).dtype == np.float32
    assert numba_kernel(lambda x: x * 2.0, out="float64")(np.float32(1)).dtype == np.float64
    assert numba_kernel(lambda n: n / 2)(np.int32(3)).dtype == np.float64
    with pytest.raises(DtypeError, match="returns float64(.|\n)*out=int32"):
        numba_kernel(lambda x: x * 2.0, out=np.int32)(X)
    with pytest.raises(DtypeError, match="f16(.|\n)*numba has"):
        double(np.float16(1))


def test_defaults_and_keywords():
    f = numba_kernel(lambda x, scale=2.0, shift=1: x * scale + shift)
    np.testing.assert_array_equal(f(X), X * 2 + 1)
    np.testing.assert_array_equal(fg.jit(lambda x: f(x, shift=3))(X), X * 2 + 3)
    np.testing.assert_array_equal(fg.vmap(lambda x, s: f(x, scale=s))(X, X), X * X + 1)
    with pytest.raises(UsageError, match="keyword arguments"):
        arrays(X, decay=0.5)


def test_loops_inside_and_inside_a_loop():
    def escape(re, im):
        x = y = 0.0
        for k in range(50):
            x, y = x * x - y * y + re, 2 * x * y + im
            if x * x + y * y > 4:
                return k
        return 50

    re, im = np.meshgrid(np.linspace(-2, 1, 20), np.linspace(-1, 1, 15))
    want = [[escape(a, b) for a, b in zip(r, i)] for r, i in zip(re.tolist(), im.tolist())]
    f = numba_kernel(escape)
    np.testing.assert_array_equal(fg.jit(f)(re, im), want)
    total = fg.jit(lambda x: lax.fori_loop(0, 10, lambda i, c: kernel(c, 0.5), x))(X)
    expected = X
    for _ in range(10):
        expected = bump_numpy(expected, 0.5)
    np.testing.assert_allclose(total, expected, rtol=1e-11)
    _, ys = fg.jit(lambda x: lax.scan(lambda c, _: (kernel(c, 0.5), c), x, None, length=4))(X)
    np.testing.assert_allclose(ys[1], bump_numpy(X, 0.5), rtol=1e-13)


def test_what_raises_is_not_fused_and_raises():
    def root(x):
        if x < 0:
            raise ValueError("negative")
        return math.sqrt(x)

    f = numba_kernel(root)
    assert "raise" in user_kernels.scalar(root, ("f64",)).problem
    for g in (f, fg.jit(f), fg.vmap(f)):
        np.testing.assert_allclose(g(np.array([4.0, 9.0])), [2, 3])
    for g in (f, fg.jit(f)):
        with pytest.raises(ValueError, match="negative"):
            g(np.array([4.0, -9.0]))
    allocating = numba_kernel(lambda n: np.arange(n).sum())
    np.testing.assert_array_equal(fg.jit(allocating)(np.array([3, 4])), [3, 6])
    divide = numba_kernel(lambda x, y: x / y)
    assert float(fg.jit(divide)(1.0, 0.0)) == np.inf
    python = numba_kernel(numba.njit(error_model="python")(lambda x, y: x / y))
    with pytest.raises(ZeroDivisionError):
        fg.jit(python)(1.0, 0.0)


# --- derivatives --------------------------------------------------------------------------------------------------------------


def test_no_rule_says_what_to_give():
    for f in (kernel, fg.jit(kernel), numba_kernel(lambda x, s, out: None, out=lambda x, s: x)):
        with pytest.raises(UsageError, match=r"was differentiated(.|\n)*derivative_of"):
            fg.grad(lambda x, f=f: f(x, 0.5).sum())(X)
    count = numba_kernel(lambda x: int(x > 0))
    np.testing.assert_array_equal(fg.grad(lambda x: (x * count(x)).sum())(X), X > 0)
    assert float(fg.grad(lambda x: x * kernel(lax.stop_gradient(x), 0.5))(2.0)) == pytest.approx(bump_numpy(2.0, 0.5), rel=1e-6)


def test_derivative_of_a_twin():
    want = fg.grad(lambda x, s: bump_fnp(x, s).sum(), (0, 1))(X, 0.5)
    loss = lambda x, s: smooth(x, s).sum()
    for g in (fg.grad(loss, (0, 1)), fg.jit(fg.grad(loss, (0, 1))), fg.grad(fg.jit(loss), (0, 1))):
        for a, b in zip(g(X, 0.5), want):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    np.testing.assert_allclose(fg.vmap(fg.grad(smooth), (0, None))(X, 0.5), want[0], rtol=1e-12)
    np.testing.assert_allclose(fg.hessian(lambda x: loss(x, 0.5))(X), fg.hessian(lambda x: bump_fnp(x, 0.5).sum())(X), rtol=1e-12)
    np.testing.assert_allclose(fg.jvp(smooth, (X, 0.5), (X, 0.0))[1], fg.jvp(bump_fnp, (X, 0.5), (X, 0.0))[1], rtol=1e-12)


def test_rules_of_ones_own():
    cube = lambda x, a: a * x**3
    f = numba_kernel(cube, jvp=lambda p, t: (cube(*p), 3 * p[1] * p[0] ** 2 * t[0] + p[0] ** 3 * t[1]))
    g = numba_kernel(cube, vjp=(lambda x, a: (g(x, a), (x, a)), lambda r, ct: (ct * 3 * r[1] * r[0] ** 2, ct * r[0] ** 3)))
    for k in (f, g):
        for grad in (fg.grad(lambda x, a, k=k: k(x, a).sum(), (0, 1)), fg.jit(fg.grad(lambda x, a, k=k: k(x, a).sum(), (0, 1)))):
            dx, da = grad(X, 2.0)
            np.testing.assert_allclose(dx, 6 * X**2, rtol=1e-13)
            assert float(da) == pytest.approx((X**3).sum(), rel=1e-6)  # the scalar's cotangent is summed
        np.testing.assert_allclose(fg.vmap(fg.grad(k), (0, None))(X, 2.0), 6 * X**2, rtol=1e-13)
    np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(fg.grad(f)), (0, None)))(X, 2.0), 12 * X, rtol=1e-13)


# --- functions of arrays ------------------------------------------------------------------------------------------------------


@numba.njit
def cumulate(x, decay, out):
    carry = 0.0
    for i in range(x.shape[0]):
        carry = decay * carry + x[i]
        out[i] = carry


def cumulate_numpy(x, decay):
    out, carry = np.empty_like(x), 0.0
    for i in range(len(x)):
        carry = out[i] = decay * carry + x[i]
    return out


def cumulate_transposed(ct, decay):
    return cumulate_numpy(ct[::-1], decay)[::-1]


def pull(residuals, ct):
    decay, out = residuals
    back = arrays(ct[::-1], decay)[::-1]
    before = fnp.concatenate([fnp.zeros(1, out.dtype), out[:-1]])
    return back, (back * before).sum()


arrays = numba_kernel(cumulate, out=lambda x, decay: x)
linear = numba_kernel(cumulate, out=lambda x, decay: x, vjp=(lambda x, d: ((y := arrays(x, d)), (d, y)), pull))


def test_arrays_eager_jit_and_layouts():
    for f in (arrays, fg.jit(arrays)):
        np.testing.assert_allclose(f(X, 0.5), cumulate_numpy(X, 0.5), rtol=1e-14)
    a = np.arange(12.0).reshape(3, 4)
    g = fg.jit(lambda a: arrays(a.T[1] * 1, 0.5) + arrays(a[:, 2], 0.5))
    np.testing.assert_allclose(g(a), cumulate_numpy(a[:, 1], 0.5) + cumulate_numpy(a[:, 2], 0.5))
    np.testing.assert_allclose(
        fg.jit(lambda x: fnp.tanh(arrays(fnp.sin(x), 0.5)).sum())(X), np.tanh(cumulate_numpy(np.sin(X), 0.5)).sum(), rtol=1e-13
    )


def test_arrays_read_their_memory_without_copies():
    seen = []

    def look(x, out):
        with numba.objmode():
            seen.append((x.ctypes.data, out.ctypes.data))
        out[:] = x

    f = fg.jit(numba_kernel(numba.njit(look), out=lambda x: x))
    x = fnp.asarray(X)
    y = f(x)
    assert seen[-1] == (x.unsafe_buffer_pointer(), y.unsafe_buffer_pointer())


def test_inputs_cannot_be_written():
    def spoil(x, out):
        x[0] = 1.0
        out[:] = x

    with pytest.raises(CompileError, match=r"spoil does not compile(.|\n)*readonly"):
        numba_kernel(spoil, out=lambda x: x)(X)


def test_several_outputs_and_fixed_shapes():
    def extremes(x, low, where):
        low[()] = x.min()
        where[0] = x.argmin()
        where[1] = x.argmax()

    f = numba_kernel(extremes, out=(S((), np.float64), S((2,), np.int64)))
    for g in (f, fg.jit(f)):
        low, where = g(X)
        assert float(low) == X.min() and where.tolist() == [0, 10]
    low, where = fg.jit(fg.vmap(f))(np.stack([X, -X]))
    np.testing.assert_array_equal(low, [X.min(), (-X).min()])
    np.testing.assert_array_equal(where, [[0, 10], [10, 0]])


def test_arrays_batch_by_a_loop_or_natively():
    b = np.random.default_rng(0).normal(size=(4, 3, 6))
    want = np.stack([[cumulate_numpy(row, d) for row in m] for m, d in zip(b, (0.1, 0.2, 0.3, 0.4))])
    d = np.array([0.1, 0.2, 0.3, 0.4])
    f = fg.vmap(fg.vmap(arrays, (0, None)), (0, 0))
    for g in (f, fg.jit(f)):
        np.testing.assert_allclose(g(b, d), want, rtol=1e-13)
    np.testing.assert_allclose(fg.vmap(arrays, (1, None), 1)(b[0].T, np.float64(0.1)), want[0].T, rtol=1e-13)

    def rows(x, out):
        out[...] = x * 2 + x.ndim

    native = numba_kernel(rows, out=lambda x: x, batch="native")
    np.testing.assert_array_equal(fg.jit(fg.vmap(native))(b[0]), b[0] * 2 + 2)
    np.testing.assert_array_equal(native(b[0, 0]), b[0, 0] * 2 + 1)


def test_arrays_gradients():
    for f in (linear, fg.jit(linear)):
        dx, dd = fg.grad(lambda x, d, f=f: (f(x, d) * X).sum(), (0, 1))(X, np.float64(0.5))
        np.testing.assert_allclose(dx, cumulate_transposed(X, 0.5), rtol=1e-12)
        eps = 1e-6
        numeric = (cumulate_numpy(X, 0.5 + eps) - cumulate_numpy(X, 0.5 - eps)) @ X / (2 * eps)
        assert float(dd) == pytest.approx(numeric, rel=1e-6)
    rows = np.stack([X, X * 2])
    got = fg.jit(fg.vmap(fg.grad(lambda x: (linear(x, 0.5) * X).sum())))(rows)
    np.testing.assert_allclose(got, np.stack([cumulate_transposed(X, 0.5)] * 2), rtol=1e-12)


def test_arrays_inside_loops_and_branches():
    f = fg.jit(lambda x: lax.scan(lambda c, _: (arrays(c, 0.5) * 0.5, None), x, None, length=3)[0])
    want = X
    for _ in range(3):
        want = cumulate_numpy(want, 0.5) * 0.5
    np.testing.assert_allclose(f(X), want, rtol=1e-12)
    g = fg.jit(lambda x: lax.cond(x[0] < 0, lambda: arrays(x, 0.5), lambda: x))
    np.testing.assert_allclose(g(X), cumulate_numpy(X, 0.5), rtol=1e-13)


def test_arrays_run_by_their_address():
    """No step of Python's is left, also inside loops and under vmap; literals and strided lanes go along."""
    step = lambda c: arrays(c * 0.1, 0.5)
    for f, x in (
        (step, X),
        (lambda x: lax.fori_loop(0, 50, lambda i, c: step(c), x), X),
        (lambda x: fg.vmap(fg.vmap(step), 1, 1)(x), np.random.default_rng(1).normal(size=(3, 2, 5))),
        (lambda x: fg.vmap(arrays, (None, 0))(x, fnp.arange(3.0)), X),
    ):
        report = fg.explain(f)(x)
        assert not [s for s in report.steps if s.kind == "host"], report
        np.testing.assert_allclose(fg.jit(f)(x), f(x), rtol=1e-12)
    assert "cumulate(array(float64" in str(fg.explain(step)(X)) or "cumulate(float64[:]" in str(fg.explain(step)(X))

    def mixed(i, z, flag, out):
        for k in range(out.size):
            out[k] = z * i + k if flag else z

    f = numba_kernel(mixed, out=S((3,), np.complex128))
    g = fg.jit(lambda z: f(3, z, True))
    np.testing.assert_array_equal(g(np.complex128(1 + 2j)), (1 + 2j) * 3 + np.arange(3))
    h = fg.jit(lambda i: f(i, np.complex128(1 - 1j), False))
    np.testing.assert_array_equal(h(np.int32(3)), [1 - 1j] * 3)


def test_arrays_that_raise_or_allocate_stay_with_python():
    def checked(x, out):
        if x[0] < 0:
            raise ValueError("negative")
        out[:] = x

    def allocates(x, out):
        y = np.empty(x.size)
        for i in range(x.size):
            y[i] = 2 * x[i]
        out[:] = y[::-1]

    f, g = (numba_kernel(k, out=lambda x: x) for k in (checked, allocates))
    with pytest.raises(ValueError, match="negative"):
        fg.jit(f)(X)
    np.testing.assert_array_equal(fg.jit(f)(-X[:1]), -X[:1])
    np.testing.assert_array_equal(fg.jit(g)(X), 2 * X[::-1])


def test_zero_size_and_no_arrays_in():
    assert arrays(np.zeros(0), 0.5).shape == (0,)
    assert fg.jit(kernel)(np.zeros((0, 3)), 1.0).shape == (0, 3)
    ramp = numba_kernel(lambda out: _fill(out), out=S((3,), np.float32))
    np.testing.assert_array_equal(fg.jit(ramp)(), [0, 1, 2])


@numba.njit
def _fill(out):
    for i in range(out.size):
        out[i] = i


@pytest.mark.parametrize("signature", ["void(float64[::1], float64[::1])", "void(float64[:], float64[:])"])
def test_explicit_signatures(signature):
    @numba.njit(signature)
    def twice(x, out):
        out[:] = 2 * x

    f = numba_kernel(twice, out=lambda x: x)
    fixed = X.copy()
    fixed.flags.writeable = False
    for x in (X, fixed, fg.numpy.asarray(X)):
        np.testing.assert_array_equal(f(x), 2 * X)
        np.testing.assert_array_equal(fg.jit(f)(x), 2 * X)
        np.testing.assert_array_equal(fg.jit(fg.vmap(f))(fg.numpy.stack([x, x])), [2 * X, 2 * X])
    with pytest.raises(CompileError, match="its signatures are"):
        f(X.astype(np.float32))


# --- mistakes -----------------------------------------------------------------------------------------------------------------


def test_mistakes():
    def returns(x, out):
        return x

    for call, error, text in (
        (lambda: kernel(X), UsageError, r"bump has 2 parameters and got 1 argument: missing(.|\n)*2 arguments"),
        (lambda: arrays(X), UsageError, r"cumulate has 3 parameters and got 1 argument, which out= does not take"),
        (
            lambda: numba_kernel(cumulate, out=S((3,), np.float64))(X),
            UsageError,
            r"3 parameters and got 1 argument for 1 output of",
        ),
        (lambda: numba_kernel(cumulate, out=lambda x, d: 3)(X, 0.5), UsageError, "shape and dtype"),
        (lambda: numba_kernel(returns, out=lambda x: x)(X), UsageError, r"returns returns readonly array(.|\n)*writes into"),
        (lambda: numba_kernel(lambda x: (x, x))(X), UsageError, "function of scalars"),
        (
            lambda: numba_kernel(lambda x: undefined_name(x))(X),  # noqa: F821
            CompileError,
            r"nopython mode for \(float64\)(.|\n)*undefined_name",
        ),
        (lambda: numba_kernel(lambda x, out: x.nothing(), out=lambda x: x)(X), CompileError, "nothing"),
        (lambda: numba_kernel(np.sin), UsageError, "numba.njit"),
        (lambda: numba_kernel(lambda *xs: 1.0), UsageError, "variadic"),
        (lambda: numba_kernel(bump, jvp=bump, derivative_of=bump), UsageError, "one derivative rule"),
        (lambda: numba_kernel(bump, vjp=bump), UsageError, "pair"),
        (lambda: numba_kernel(bump, batch="all"), UsageError, "native"),
        (lambda: kernel(X, np.ones((2, 2))), TypeError, "broadcast"),
        (lambda: kernel([1.0], 2.0), TypeError, "sequences"),
    ):
        with pytest.raises(error, match=text) as caught:
            call()
        assert len(str(caught.value)) < 1500


# --- keys and caches --------------------------------------------------------------------------------------------------------


def test_the_key_is_the_content():
    def make(c):
        def f(x):
            return x + c

        return f

    assert digest(make(1)) == digest(make(1)) != digest(make(2))
    assert digest(make(1)) != digest(make(1.0)) and digest(make(0.0)) != digest(make(-0.0))
    assert digest(make(np.arange(3))) == digest(make(np.arange(3))) != digest(make(np.arange(3.0)))
    assert digest(make(numba.njit(make(1)))) == digest(make(numba.njit(make(1)))) != digest(make(numba.njit(make(2))))
    assert digest(make(numba.njit(fastmath=True)(make(1)))) != digest(make(numba.njit(make(1))))
    assert digest(lambda x: x + 1) != digest(lambda x: x - 1)
    thing = object()
    assert digest(make(thing)) == digest(make(thing)) != digest(make(object()))
    for c in (1.0, 2.0, 1.0):
        assert float(fg.jit(numba_kernel(make(c)))(1.0)) == 1 + c
    name = lambda c: user_kernels.scalar(make(c), ("f64",)).name
    assert name(1.0) == name(1.0) != name(2.0)
    assert user_kernels.Scalar(make(1.0), ("f64",)).name != user_kernels.Scalar(make(1.0), ("f32",)).name


def test_the_same_call_compiles_nothing():
    f = fg.jit(lambda x: kernel(x, 0.5) * 3)
    f(X)
    with counters() as c:
        f(X)
        fg.jit(lambda x: kernel(x, 0.5) * 3)(np.stack([X, X])[:, :5].ravel())
    assert c.compiled == 0


def test_a_second_process_starts_warm(tmp_path):
    program = textwrap.dedent(
        """
        import math, sys
        import numpy as np, funcgrad as fg
        from funcgrad.api.numba_kernel import numba_kernel
        from funcgrad.runtime import user_arrays, user_kernels
        from funcgrad.testing import counters
        if sys.argv[1] == "warm":
            user_kernels.Scalar._compile = None  # it is not to be asked
        with counters() as c:
            y = fg.jit(numba_kernel(lambda x: math.exp(x) + 1.0 if x < 1.0 else x))(np.arange(3.0))
        assert y.tolist() == [2.0, 1.0, 2.0], y
        assert c.compiled == (0 if sys.argv[1] == "warm" else 1), c
        if sys.argv[1] == "warm":
            user_arrays.ArrayFunction._compile = None
        def twice(x, out):
            for i in range(x.size):
                out[i] = 2 * x[i]
        with counters() as c:
            y = fg.jit(numba_kernel(twice, out=lambda x: x))(np.arange(3.0))
        assert y.tolist() == [0.0, 2.0, 4.0], y
        assert c.compiled == (0 if sys.argv[1] == "warm" else 1), c
        """
    )
    (tmp_path / "program.py").write_text(program)
    env = os.environ | {"FUNCGRAD_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(Path(fg.__file__).parents[1])}
    for way in ("cold", "warm"):
        subprocess.run([sys.executable, str(tmp_path / "program.py"), way], check=True, env=env)


kernel_of_module = numba_kernel(lambda x, s: bump(x, s), derivative_of=bump_fnp)


def test_kernels_travel():
    """With their rules, also inside a jitted function."""
    for by in (pickle, cloudpickle):
        again = pickle.loads(by.dumps(kernel_of_module))
        np.testing.assert_allclose(again(X, 0.5), bump_numpy(X, 0.5), rtol=1e-14)
        loss = fg.jit(fg.grad(lambda x: kernel_of_module(x, 0.5).sum()))
        np.testing.assert_array_equal(pickle.loads(by.dumps(loss))(X), loss(X))
        program = fg.make_jaxpr(lambda x: kernel(x, 0.5))(X)
        assert len(pickle.loads(by.dumps(program)).eqns) == 1
    assert copy.deepcopy(kernel) is kernel


def test_a_list_is_named_by_its_parameter():
    with pytest.raises(TypeError, match=r"(?s)fg\.numba_kernel\(bump\): got list for s;.*Try: fnp\.asarray\(s\) in its place"):
        kernel(X, [0.5])
