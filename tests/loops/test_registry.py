"""Every primitive's loop rule, run by the interpreter, against its NumPy meaning."""

import numpy as np
import pytest

import funcgrad.bridge.eager  # noqa: F401  (the floor of the interpreter stack)
import funcgrad.ops as ops
from funcgrad.core import dtypes as dt
from funcgrad.core.aval import shaped
from funcgrad.core.config import config
from funcgrad.ir.evaluate import evaluate_numpy
from funcgrad.ir.primitive import REGISTRY
from funcgrad.loops.compile import compile_program
from funcgrad.loops.interpreter import run
from funcgrad.passes import simplify
from funcgrad.trace.stage import stage

assert ops
PRIMITIVES = {name: p for name, p in sorted(REGISTRY.items()) if callable(p.samples)}
DTYPES = [dt.bool_, dt.int8, dt.uint32, dt.int64, dt.float16, dt.float32, dt.float64, dt.complex64, dt.KEY]


def close(got, want):
    assert got.shape == want.shape and got.dtype == want.dtype
    if got.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want)
        return
    tolerance = 1e-11 if got.real.dtype == np.float64 else 3e-5
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance / 10)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_the_loops_of_a_primitive_mean_what_numpy_means(name):
    p = PRIMITIVES[name]
    for dtype in DTYPES:
        if dtype not in p.dtypes:
            continue
        for args, params in p.samples(np.random.default_rng(0), dtype):
            avals = [shaped(np.shape(a), np.asarray(a).dtype) for a in args]

            def fun(*xs, params=params):
                out = p(*xs, **params)
                return list(out) if p.multiple_results else [out]

            jaxpr, consts = stage(fun, avals)
            with config.override(check_ir=True):
                program = compile_program(simplify(jaxpr))
            with np.errstate(all="ignore"):
                want = evaluate_numpy(jaxpr, consts, args)
            for x, y in zip(run(program, args), want, strict=True):
                close(x, y)
