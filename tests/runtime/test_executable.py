"""Programs made by hand, run by the driver, against NumPy."""

import gc
import itertools
import os
import resource
import threading
import weakref

import numpy as np
import pytest

from funcgrad.loops import interpreter
from funcgrad.loops.expr import Expr
from funcgrad.loops.nest import Nest, Operand, Pass, Store
from funcgrad.loops.program import Check, Gemm, HostStep, KernelStep, Program, Ref, View
from funcgrad.runtime import blas, driver_layout, executable, kernels, threads
from funcgrad.runtime.buffers import array_address
from funcgrad.runtime.driver import driver
from funcgrad.runtime.executable import Executable

from .helpers import body, program, run, step

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
SHIFT = body(
    "x0 = ptr_f64(bufs, 0)", "y0 = ptr_f64(bufs, 1)", "for i in range(lo, hi):", "    y0[i] = x0[i] * f64(2.0) + f64(1.0)"
)
TAKE = body(
    "x0 = ptr_f64(bufs, 0)", "x1 = ptr_i64(bufs, 1)", "y0 = ptr_f64(bufs, 2)", "for i in range(lo, hi):",
    "    y0[i] = x0[check_index(scratch, 1, x1[i], dims[0])]",
)  # fmt: skip
IN, OUT = Ref("input", 0), Ref("output", 0)


def chain(n, length=3, cost=10.0):
    """`length` times x * 2 + 1, through the arena."""
    half = -(-n * 8 // 64) * 64
    refs = [IN, *[Ref("arena", 0, (k % 2) * half) for k in range(length - 1)], OUT]
    steps = [step(refs[k : k + 2], (), n, cost) for k in range(length)]
    address = kernels.addresses([SHIFT])[0]
    x = np.zeros(n)
    return Executable(program(steps, [x], [x], 2 * half), dict.fromkeys(range(length), address))


def taken(n):
    steps = [step([IN, Ref("input", 1), OUT], (5,), n, checks=[Check("?"), Check("index {index} of axis with size {size}")])]
    made = program(steps, [np.zeros(5), np.zeros(n, np.int64)], [np.zeros(n)])
    return Executable(made, {0: kernels.addresses([TAKE])[0]})


def test_a_chain_of_kernels_through_the_arena():
    for n in (0, 1, 7, 1000):
        x, out = np.random.default_rng(0).standard_normal(n), np.empty(n)
        made = chain(n)
        made.call(x, out)
        np.testing.assert_array_equal(out, ((x * 2 + 1) * 2 + 1) * 2 + 1)
        out[:] = 0
        assert made.direct(array_address(x), array_address(out)) is None
        np.testing.assert_array_equal(out, ((x * 2 + 1) * 2 + 1) * 2 + 1)
        out[:] = 0
        made.run([array_address(x)], [array_address(out)])
        np.testing.assert_array_equal(out, ((x * 2 + 1) * 2 + 1) * 2 + 1)


def test_an_empty_program():
    made = Executable(program([], [], []), {})
    made.call()
    made.run([], [])


def test_entry_refuses_what_it_cannot_read():
    made = chain(4)
    x = np.arange(4.0)
    assert made.entry(x) == b""
    assert made.entry([1.0], x) == b""
    assert made.direct(1) == b""
    with pytest.raises(TypeError, match="int"):
        made.direct(x, x)
    with pytest.raises(TypeError, match="takes 1 and 1"):
        made.run([0], [])

    class Sub(np.ndarray):
        pass

    out = np.empty(4)
    made.call(x.view(Sub), out)  # the slow way round
    np.testing.assert_array_equal(out, x * 8 + 7)


def test_a_printed_nest():
    x = Expr("load", F32, (), 0)
    total = Expr("add", F32, (Expr("mul", F32, (x, x)), Expr("param", F32, (), 0)))
    nest = Nest(0, 1, "row", (Operand(F32, "in", (1,)), Operand(F32, "out", (1,))), (F32,), (Pass("row", (Store(1, total),)),))
    a = np.arange(10, dtype=np.float32)
    dims = (10, int(np.float32(0.5).view(np.uint32)))
    made = executable.load(program([KernelStep(nest, (IN, OUT), dims, 10, 5.0)], [a], [a]))
    out = np.empty_like(a)
    made.call(a, out)
    np.testing.assert_array_equal(out, a * a + np.float32(0.5))


# ---- errors -------------------------------------------------------------------------------------------------


def test_index_error_says_index_and_size():
    made = taken(4)
    x, out = np.arange(5.0), np.empty(4)
    made.call(x, np.array([4, 0, 1, 2]), out)
    np.testing.assert_array_equal(out, [4, 0, 1, 2])
    for bad in (5, -1, 1 << 40):
        with pytest.raises(IndexError, match=f"index {bad} of axis with size 5"):
            made.call(x, np.array([0, bad, 7, 1]), out)
    made.call(x, np.array([4, 0, 1, 3]), out)
    np.testing.assert_array_equal(out, [4, 0, 1, 3])


def test_index_error_from_a_pool_thread(monkeypatch):
    n = 100_000
    monkeypatch.setattr(threads, "WORTH", 0.0)
    steps = [step([IN, Ref("input", 1), OUT], (5,), n, 1e6, checks=[Check("?"), Check("{index}/{size}")])]
    made = Executable(program(steps, [np.zeros(5), np.zeros(n, np.int64)], [np.zeros(n)]), {0: kernels.addresses([TAKE])[0]})
    indices = np.zeros(n, np.int64)
    for place in (0, n // 2, n - 1):
        indices[:] = 0
        indices[place] = 9
        for _ in range(20):
            with pytest.raises(IndexError, match="9/5"):
                made.call(np.arange(5.0), indices, np.empty(n))


# ---- matrix products ----------------------------------------------------------------------------------------


def product(a, b, trans_a, trans_b, m, n, k, batch=()):
    c = np.full((*[axis[0] for axis in batch], m, n), np.nan, a.dtype)
    strides = (a.shape[-1], b.shape[-1], n)
    made = Gemm(a.dtype, IN, Ref("input", 1), OUT, trans_a, trans_b, m, n, k, *strides, batch)
    Executable(program([made], [a, b], [c]), {}).call(a, b, c)
    return c


@pytest.mark.parametrize("dtype", blas.DTYPES, ids=str)
def test_gemm(dtype):
    rng = np.random.default_rng(0)
    for (m, n, k), ta, tb, batch in itertools.product(
        [(1, 1, 1), (3, 4, 5), (1, 7, 3), (7, 1, 3), (60, 33, 20), (5, 6, 0), (0, 3, 2)], (False, True), (False, True), ((), (3,))
    ):
        a = rng.standard_normal((*batch, k, m) if ta else (*batch, m, k)).astype(dtype)
        b = rng.standard_normal((*batch, n, k) if tb else (*batch, k, n)).astype(dtype)
        axes = tuple((extent, m * k, k * n, m * n) for extent in batch)
        want = (a.swapaxes(-1, -2) if ta else a) @ (b.swapaxes(-1, -2) if tb else b)
        np.testing.assert_allclose(product(a, b, ta, tb, m, n, k, axes), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shared", [False, True])
def test_products_along_axes_where_the_result_stands_still_are_added(shared, monkeypatch):
    """By one thread, and with the results shared out; of no columns they are 0."""
    monkeypatch.setattr(threads, "batch_chunk", lambda results, flops: 2 if shared else 0)
    for k in (5, 0):
        a, b = np.random.default_rng(0).standard_normal((7, 3, 4, k)), np.random.default_rng(1).standard_normal((7, 3, k, 6))
        c = np.full((7, 4, 6), np.nan)
        batch = ((7, 12 * k, 18 * k, 24), (3, 4 * k, 6 * k, 0))
        made = Gemm(F64, IN, Ref("input", 1), OUT, False, False, 4, 6, k, k, 6, 6, batch)
        assert made.points() == (7, 3)
        whole = program([made], [a, b], [c])
        Executable(whole, {}).call(a, b, c)
        np.testing.assert_allclose(c, (a @ b).sum(1))
        np.testing.assert_allclose(interpreter.run(whole, [a, b])[0], (a @ b).sum(1))


def test_gemm_with_two_batch_axes_one_broadcast():
    a, b = np.random.default_rng(0).standard_normal((2, 3, 4, 5)), np.random.default_rng(1).standard_normal((3, 5, 6))
    got = product(a, b, False, False, 4, 6, 5, ((2, 60, 0, 72), (3, 20, 30, 24)))
    np.testing.assert_allclose(got, a @ b)


@pytest.mark.parametrize("m, n", [(301, 40), (40, 301)])
@pytest.mark.parametrize("trans", [(False, False), (False, True), (True, False), (True, True)])
def test_shared_gemm_has_the_same_bits_every_time(m, n, trans):
    rng, k = np.random.default_rng(0), 200
    a = rng.standard_normal((k, m) if trans[0] else (m, k)).astype(np.float32)
    b = rng.standard_normal((n, k) if trans[1] else (k, n)).astype(np.float32)
    first = product(a, b, *trans, m, n, k)
    np.testing.assert_allclose(first, (a.T if trans[0] else a) @ (b.T if trans[1] else b), rtol=1e-3, atol=1e-3)
    for _ in range(10):
        np.testing.assert_array_equal(product(a, b, *trans, m, n, k), first)


def test_the_library_gets_its_threads_back():
    made = driver()
    if not made.environment[driver_layout.E_BLAS_GET // 8]:
        pytest.skip("SciPy's BLAS does not say how many threads it has")
    before = blas.get_threads()
    product(np.ones((200, 200)), np.ones((200, 200)), False, False, 200, 200, 200)
    assert blas.get_threads() == before


# ---- host steps ---------------------------------------------------------------------------------------------


def test_host_steps_between_stretches():
    """out = 2 * sort(2 x + 1) + 1, the sorted array seen through strides of the arena."""
    n = 9
    sort = HostStep(
        "sort",
        np.sort,
        (View(Ref("arena", 0), (n,), (8,), F64),),
        (View(Ref("arena", 0, 128 + 8 * (n - 1)), (n,), (-8,), F64),),
    )
    steps = [step([IN, Ref("arena", 0)], (), n), sort, step([Ref("arena", 0, 128), OUT], (), n)]
    x, out = np.random.default_rng(0).standard_normal(n), np.empty(n)
    made = Executable(program(steps, [x], [x], 256), dict.fromkeys((0, 2), kernels.addresses([SHIFT])[0]))
    assert made.entry is None
    made.call(x, out)
    np.testing.assert_array_equal(out, np.sort(x * 2 + 1)[::-1] * 2 + 1)


def test_host_step_first_last_and_failing():
    def fail(x):
        raise ValueError("from the host")

    view_in, view_out = View(IN, (2, 2), (16, 8), F64), View(OUT, (2, 2), (16, 8), F64)
    x, out = np.arange(4.0).reshape(2, 2), np.empty((2, 2))
    Executable(program([HostStep("t", np.transpose, (view_in,), (view_out,))], [x], [out]), {}).call(x, out)
    np.testing.assert_array_equal(out, x.T)
    made = Executable(program([HostStep("f", fail, (view_in,), (view_out,))], [x], [out]), {})
    with pytest.raises(ValueError, match="from the host"):
        made.call(x, out)


# ---- threads, forks, memory -----------------------------------------------------------------------------------


def test_shared_kernels_are_right():
    n = 300_001
    x, out = np.random.default_rng(0).standard_normal(n), np.empty(n)
    made = chain(n, cost=1e6)
    for _ in range(20):
        out[:] = 0
        made.call(x, out)
        np.testing.assert_array_equal(out, ((x * 2 + 1) * 2 + 1) * 2 + 1)


def test_eight_threads_on_one_executable():
    n = 20_000
    made, wrong = chain(n, cost=50_000.0), []

    def work(seed):
        x, out = np.random.default_rng(seed).standard_normal(n), np.empty(n)
        want = ((x * 2 + 1) * 2 + 1) * 2 + 1
        for _ in range(100):
            made.call(x, out)
            if not np.array_equal(out, want):
                wrong.append(seed)

    running = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_runs_and_shares_out():
    n = 200_000
    made = chain(n, cost=1e6)
    x, out = np.arange(float(n)), np.empty(n)
    made.call(x, out)  # the parent's threads are running now
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            for _ in range(5):
                out[:] = 0
                made.call(x, out)
                kernels.addresses([body("y0 = ptr_f64(bufs, 0)", "y0[0] = f64(3.25)")])
            product(np.ones((100, 100)), np.ones((100, 100)), False, False, 100, 100, 100)
            code = 0 if np.array_equal(out, x * 8 + 7) else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    made.call(x, out)
    np.testing.assert_array_equal(out, x * 8 + 7)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_memory_does_not_grow():
    made = chain(1000)
    x, out = np.zeros(1000), np.empty(1000)
    entry = made.entry
    for _ in range(1000):
        entry(x, out)
    before = peak()
    for _ in range(100_000):
        entry(x, out)
    wrong = taken(2)
    for _ in range(2000):
        with pytest.raises(IndexError):
            wrong.call(np.zeros(5), np.array([0, 9]), np.empty(2))
    assert peak() - before < 4096  # KiB


def test_executables_go_away():
    made = chain(10)
    watch = weakref.ref(made)
    made.call(np.zeros(10), np.empty(10))
    del made
    gc.collect()
    assert watch() is None
    before = peak()
    for _ in range(2000):
        chain(1000).call(np.zeros(1000), np.empty(1000))
    assert peak() - before < 16384


def test_an_entry_outlives_its_executable():
    x, out = np.arange(1000.0), np.empty(1000)
    entries = [chain(1000).entry for _ in range(50)]
    gc.collect()
    rubbish = [np.full(40, -1) for _ in range(1000)]  # takes the memory of what was freed
    for entry in entries:
        out[:] = 0
        assert entry(x, out) is None
        np.testing.assert_array_equal(out, x * 8 + 7)
    del rubbish


def test_load_counts(monkeypatch):
    assert isinstance(executable.load(Program((), (), (), 0)), Executable)


def test_single_thread_setting(monkeypatch):
    monkeypatch.setenv("FUNCGRAD_NUM_THREADS", "3")
    assert threads.available() == 3
    monkeypatch.setenv("FUNCGRAD_NUM_THREADS", "none")
    assert threads.available() >= 1
    assert threads.chunk_of(1 << 20, 10.0) == 0
    assert threads.chunk_of(1, 1e9) == 0


def test_scratch_is_private_to_a_call():
    out = np.empty(3)
    lines = ["y0 = ptr_f64(bufs, 0)", "s0 = row_f64(scratch, 64, 1)", "for i in range(lo, hi):", "    s0[i] = f64(i)"]
    lines += ["for i in range(lo, hi):", "    y0[i] = s0[i]"]
    np.testing.assert_array_equal(run(body(*lines), [], [out], scratch=24), [0, 1, 2])
