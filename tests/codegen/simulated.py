"""Run by tests/runtime/test_cuda.py in a process of its own with NUMBA_ENABLE_CUDASIM=1: every kernel of the CPU's tests
in numba's CUDA simulator, against NumPy or against the same kernel interpreted."""

import importlib.util
import sys
from pathlib import Path

import numpy as np

from funcgrad.codegen.canonical import DTYPES, storage_code
from funcgrad.loops.nest import LANES
from funcgrad.loops.program import KernelStep, Ref
from funcgrad.runtime import cuda


def _support():
    """support.py beside this file, whatever is on the path."""
    spec = importlib.util.spec_from_file_location("codegen_support", Path(__file__).parent / "support.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def flat(a):
    """As a kernel for CUDA takes it: flat, bools as bytes."""
    return a.reshape(-1).view(np.uint8) if a.dtype == bool else a.reshape(-1)


def main():
    s = _support()
    assert cuda.simulated()
    rng = np.random.default_rng(0)

    def compare(nest, arrays, dims, extent, scratch=0, rtol=0.0):
        ours = [a.copy() for a in arrays]
        record = cuda.launch(nest, [(flat(a), 0) for a in ours], dims, extent)
        theirs = [a.copy() for a in arrays]
        want = s.run_interpreted(nest, [a.reshape(-1) for a in theirs], dims, extent, scratch)
        for a, b in zip(ours, theirs):
            np.testing.assert_allclose(a, b, rtol=rtol)
        return record, want

    for code, dtype in DTYPES.items():
        found = s.operations(code)
        x, y = (rng.integers(0, 90, 9).astype(dtype) for _ in range(2))
        if dtype.kind in "fc":
            x, y = (rng.standard_normal(9).astype(dtype) for _ in range(2))
        outs = [np.empty(9, e.dtype) for _, e in found]
        compare(s.map_nest([e for _, e in found], [dtype] * 2), [x, y, *outs], [9], 9)
        print("operations", code, storage_code(code), len(found))

    x = rng.standard_normal((5, 30)).astype("f4")
    y = np.empty_like(x)
    compare(s.softmax(), [x, y], [5, 30, 30, 30, 0], 5, 120)
    eps = int(np.array([1e-5], "f4").view("i4")[0])
    compare(s.layernorm(), [x, x[0].copy(), y], [5, 30, 30, 0, 30, eps], 5)
    x[1, 3:9:2] = np.nan
    for op in ("add", "mul", "max", "min", "argmax", "argmin"):
        out = np.empty(5, "i8" if op[:3] == "arg" else "f4")
        compare(s.reduction(op, "f4"), [x, out], [5, 30, 30, 1], 5)
        columns = np.empty(30, out.dtype)
        compare(s.reduction(op, "f4", column=True), [x, columns], [30, 5, 30], -(-30 // LANES))
    for column in (False, True):
        z = rng.standard_normal((6, 7))
        dims = [7, 6, 7, 7] if column else [6, 7, 7, 7]
        compare(s.scan("add", "f8", column=column), [z, np.empty_like(z)], dims, 1 if column else 6)
    k = np.array([0, 3, 3, 8, 2, 3])
    record, want = compare(s.scatter("add"), [np.ones(6, "f4"), k, np.zeros(5, "f4")], [6, 1, 5, 5], 6)
    assert list(record[:3]) == [4, 8, 5] == list(want[:3])
    half = int(np.array([0.5], "f4").view("i4")[0])
    x = rng.standard_normal((6, 70)).astype("f4")
    compare(s.recurrence(), [x[0].copy(), x, np.empty_like(x), np.empty(70, "f4")], [70, 6, 0, 70, 70, 0, half], 2, rtol=1e-6)
    compare(s.recurrence(lanes=False), [x[0, :1].copy(), x[1], np.empty(70, "f4"), np.empty(1, "f4")], [70, half], 1, rtol=1e-6)
    c = (rng.uniform(-2, 1, 70) + 1j * rng.uniform(-1, 1, 70)).astype("c8")
    compare(s.escape(), [c, np.empty(70, "i8")], [70, 1, 0, 0], 2)
    compare(s.escape(lanes=False), [c[:1].copy(), np.empty(1, "i8")], [1], 1)
    t = rng.standard_normal((5, 4, 3)).astype("f4")
    compare(s.transpose(), [t, np.empty((4, 3, 5), "f4")], [4, 3, 5, 3, 1, 12, 15, 5], 12)

    # A program's step: refs into larger pieces of memory, one of them walked backwards.
    operands = (s.operand("f4", "in", None), s.operand("f4", "out", 1))
    nest = s.Nest(0, 1, "row", operands, (), (s.Pass("row", (s.Store(1, s.load("f4", 0)),)),))
    memory = [np.arange(12, dtype="f4").view(np.uint8), np.zeros(12, "f4").view(np.uint8)]
    step = KernelStep(nest, (Ref("input", 0, 4 * 10), Ref("arena", 0, 8)), (6, -1), 6, 1.0)
    cuda.simulate(step, memory)
    np.testing.assert_array_equal(memory[1].view("f4"), [0, 0, 10, 9, 8, 7, 6, 5, 0, 0, 0, 0])
    print("all agree")


if __name__ == "__main__":
    main()
