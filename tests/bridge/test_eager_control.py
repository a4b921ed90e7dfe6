"""Loops and branches outside jit: the same answers, programs kept by structure, NaNs found inside."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.bridge.counts import counts
from funcgrad.core.errors import NanError
from funcgrad.ir.structure import structure


def scan(xs, k):
    return lax.scan(lambda c, x: (fnp.tanh(c * k + x), c), 0.5, xs)


def in_python(xs, k):
    c, ys = 0.5, []
    for x in xs:
        ys.append(c)
        c = np.tanh(c * k + x)
    return c, np.array(ys)


@pytest.mark.parametrize("n", [3, 3000])
def test_scan(n):
    xs = np.linspace(-1, 1, n)
    got, want = scan(xs, 0.9), in_python(xs, 0.9)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-12)


def test_a_body_made_anew_is_no_new_program():
    xs = np.linspace(-1, 1, 3000)
    scan(xs, 0.9)
    before = counts.programs
    scan(xs, 0.9)
    scan(xs[::-1], 0.9)
    assert counts.programs == before
    scan(xs, 0.8)  # another number in the body's text
    assert counts.programs == before + 1


def test_gradients_keep_their_programs_too():
    g = lambda k: fg.grad(lambda k: scan(np.linspace(-1, 1, 2000), k)[0])(k)
    first = g(0.9)
    before = counts.programs
    assert g(0.9) == first and counts.programs == before


@pytest.mark.parametrize("n", [0, 3, 40, 4000])
def test_while_goes_over_to_machine_code(n):
    k, x = lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 0.5 + c[0]), (0, 1.0))
    want = 1.0
    for i in range(n):
        want = want * 0.5 + i
    assert int(k) == n and k.dtype == np.int64
    np.testing.assert_allclose(x, want, rtol=1e-6)


def test_effects_happen_once_a_step():
    seen = []

    def step(c):
        fg.debug.callback(lambda v: seen.append(int(v)), c)
        return c + 1

    lax.while_loop(lambda c: c < 50, step, 0)
    assert seen == list(range(50))


def test_a_branch_gives_arrays_of_its_type():
    out = lax.cond(True, lambda x: x, lambda x: x * 2, np.float32(3))
    assert out.dtype == np.float32 and float(out) == 3.0
    assert float(lax.switch(5, [lambda: 1.0, lambda: 2.0])) == 2.0


def test_disable_jit_makes_no_program():
    before = counts.programs
    with fg.config.override(disable_jit=True):
        np.testing.assert_allclose(scan(np.linspace(-1, 1, 500), 0.9)[0], in_python(np.linspace(-1, 1, 500), 0.9)[0])
    assert counts.programs == before


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_nan_inside(wrap):
    scan = lambda: lax.scan(lambda c, _: (c - 1, fnp.log(c)), 3.0, None, length=1000)
    loop = lambda: lax.while_loop(lambda c: c[0] > -600, lambda c: (c[0] - 1, c[1] + fnp.sqrt(c[0])), (3.0, 0.0))
    both = lambda: lax.cond(True, lambda: fnp.log(-fnp.ones(3)), lambda: fnp.ones(3))
    with fg.config.override(debug_nans=True):
        for f, name in ((scan, "log"), (loop, "sqrt"), (both, "log")):
            with pytest.raises(NanError, match=rf"^{name} gave a NaN.*test_eager_control\.py"):
                wrap(f)()


def test_structure_tells_programs_apart():
    key = lambda f: structure(fg.make_jaxpr(f)(1.0).jaxpr)
    assert key(lambda x: x + 1) == key(lambda x: x + 1)
    distinct = [lambda x: x + 1, lambda x: x + 2, lambda x: x - 1, lambda x: x * 0.0, lambda x: x * -0.0, lambda x: (x + 1) * x]
    assert len({key(f) for f in distinct}) == len(distinct)
