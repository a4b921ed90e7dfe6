import numpy as np
import pytest

from funcgrad.api.explain import explain
from funcgrad.api.jit import jit
from funcgrad.bridge import eager  # noqa: F401
from funcgrad.bridge.array import from_numpy
from funcgrad.ops._family import add, broadcast_in_dim, reduce_sum
from funcgrad.ops.arithmetic import mul
from funcgrad.ops.contract import dot_general
from funcgrad.ops.exponential import tanh
from funcgrad.testing import counters
from funcgrad.transforms import call  # noqa: F401

F32 = np.float32


def layer(x, w, b):
    h = dot_general(x, w, dimension_numbers=(((1,), (0,)), ((), ())))
    h = tanh(add(h, broadcast_in_dim(b, shape=h.shape, dims=(1,))))
    return reduce_sum(h, axes=(0, 1)), mul(h, h)


def arguments():
    r = np.random.default_rng(0)
    return [from_numpy(r.normal(size=s).astype(F32)) for s in ((32, 64), (64, 10), (10,))]


def test_it_shows_every_level_and_runs_nothing():
    with counters() as c:
        e = explain(layer)(*arguments())
    assert c.launches == 0 and c.traces == 1
    text = str(e)
    for part in (
        "layer: ", "1 gemm step", "Jaxpr as traced", "dot_general", "Jaxpr after the passes", "[32 x 64] @ [64 x 10], f32",
        "input 1   f32[64,10]  2.56 kB", "arena", "def k_", "tanh_f32",
    ):  # fmt: skip
        assert part in text, part
    gemm = next(s for s in e.steps if s.kind == "gemm")
    assert (gemm.flops, gemm.bytes) == (2 * 32 * 64 * 10, 4 * (32 * 64 + 64 * 10 + 32 * 10))
    assert e.bytes >= gemm.bytes and e.flops > gemm.flops and all(name in text for name in e.kernels)
    assert e._repr_html_().startswith("<pre>") and "&lt;" in e._repr_html_()


def test_profile_gives_every_step_a_share():
    e = explain(jit(layer))(*arguments()).profile(0.01)
    assert len(e.times) == len(e.steps) and min(e.times) > 0
    assert "GB/s" in str(e) and " %)" in str(e)


def test_donation_keys_and_captured_arrays():
    w = from_numpy(np.ones(1000, F32))
    f = jit(lambda x, y: add(mul(x, w), y), donate_argnums=0)
    x = from_numpy(np.ones(1000, F32))
    e = explain(f)(x, x).profile(0.01)
    assert "in the memory of input" in str(e) and not x.is_deleted()
    assert e.steps[0].bytes == 4 * 4000 and e.steps[0].flops == 2000


@pytest.mark.parametrize("f", [lambda x: x, lambda x: 3.0])
def test_nothing_to_run(f):
    assert "nothing to run" in str(explain(f)(1.0).profile())
