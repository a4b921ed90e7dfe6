"""The programs of every primitive's samples. As a script, in a process with NUMBA_ENABLE_CUDASIM=1: each of them run with
its kernels in numba's CUDA simulator, against the primitive's NumPy meaning."""

import sys
from itertools import islice

import numpy as np

import funcgrad.bridge.eager  # noqa: F401  (the floor of the interpreter stack)
import funcgrad.ops  # noqa: F401  (declares the primitives)
from funcgrad.core import dtypes as dt
from funcgrad.core.aval import shaped
from funcgrad.ir.evaluate import evaluate_numpy
from funcgrad.ir.primitive import REGISTRY
from funcgrad.loops.compile import compile_program
from funcgrad.loops.program import KernelStep
from funcgrad.passes import simplify
from funcgrad.runtime import cuda
from funcgrad.trace.stage import stage

DTYPES = [dt.bool_, dt.int8, dt.uint32, dt.int64, dt.float32, dt.float64, dt.complex64, dt.KEY]


def cases(dtypes=DTYPES):
    """(name, program, arguments, the outputs that NumPy gives) of every sample."""
    for name, p in sorted(REGISTRY.items()):
        for dtype in dtypes:
            if not callable(p.samples) or dtype not in p.dtypes:
                continue
            for args, params in p.samples(np.random.default_rng(0), dtype):

                def fun(*xs, p=p, params=params):
                    out = p(*xs, **params)
                    return list(out) if p.multiple_results else [out]

                jaxpr, consts = stage(fun, [shaped(np.shape(a), np.asarray(a).dtype) for a in args])
                with np.errstate(all="ignore"):
                    want = evaluate_numpy(jaxpr, consts, args)
                yield f"{name} {dtype}", compile_program(simplify(jaxpr)), args, want


def nests():
    """Every kernel of the samples, once."""
    found = {}
    for _, program, _, _ in cases():
        for step in program.steps:
            if isinstance(step, KernelStep):
                found[step.nest] = None
    return list(found)


def close(got, want):
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want)
    else:
        tolerance = 1e-11 if want.real.dtype == np.float64 else 3e-5
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance / 10)


def main(first=0, step=1):
    """Every `step`-th sample from the `first` on."""
    count = failed = 0
    for label, program, args, want in islice(cases(), first, None, step):
        count += 1
        try:
            for x, y in zip(cuda.run_program(program, args), want, strict=True):
                close(x, y)
        except Exception as error:
            failed += 1
            print(f"{label}: {type(error).__name__}: {str(error)[:500]}")
    print(f"{count} samples, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
