"""The thread pool: how many threads, when they pay, and how the pool survives a fork.

The threads are plain POSIX threads that never touch Python: they start at the first shared step, spin for some tens of
microseconds after each job and then sleep on a futex (driver_work.py, `worker`). The calling thread works too, takes
chunks from the same counter, and waits only for threads that hold a chunk. Where other programs keep the processors busy nothing
is shared out for a while (`judge`). One job runs at a time: a second Python
thread that comes meanwhile does its own work alone. A forked child starts with no threads and makes its own.

Environment: FUNCGRAD_NUM_THREADS (default: the processors that this process may use; 1: no pool).
"""

import os

from funcgrad.runtime import driver_layout as layout
from funcgrad.runtime.driver import Driver, driver

WORTH = 12_000.0  # nanoseconds of one thread below which a step is not shared out: waking costs 1 to 10 us
CHUNK = 6_000.0  # nanoseconds of work that a thread takes at once, at least
CHUNKS_EACH = 4  # chunks a thread gets when the work is large: what a slow thread leaves, the others take
SPIN = 1500  # turns of the waiting loop before a thread goes to sleep, about 30 us
LONG_PRODUCT = 2e7  # operations, about 0.1 ms
MOST = 64


def available() -> int:
    """How many threads may run, the caller's included."""
    text = os.environ.get("FUNCGRAD_NUM_THREADS", "")
    if text.isdigit() and int(text) > 0:
        return min(int(text), MOST)
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), MOST)
    return min(os.cpu_count() or 1, MOST)


class _Pool:
    most: int | None = None  # threads that an executable has scratch memory for; None: not decided
    threads: int = 1


def threads() -> int:
    """The number of threads of this process, the caller's included; decided at the first call."""
    if _Pool.most is None:
        made = driver()
        env, pool = made.environment, made.pool_words()
        # without a futex or POSIX threads the caller is the pool
        possible = env[layout.E_SYSCALL // 8] and env[layout.E_CREATE // 8]
        _Pool.most = available() if possible else 1
        pool[layout.P_WORKERS // 8] = _Pool.most - 1
        pool[layout.P_SPIN // 8] = SPIN
        use_threads(True)
    return _Pool.threads


def most() -> int:
    """For how many threads an executable needs scratch memory."""
    threads()
    return _Pool.most or 1


def use_threads(on: bool) -> None:
    """Share work out, or let each caller do its own (executables made meanwhile keep to it)."""
    most = _Pool.most or threads()
    driver().put(layout.E_POOL, driver().pool_address if on and most > 1 else 0)
    _Pool.threads = most if on else 1


def chunk_of(extent: int, cost: float) -> int:
    """How many points a thread takes at once; 0 when the caller is better off alone."""
    count = threads()
    if count == 1 or cost < WORTH or extent < 2:
        return 0
    chunks = min(extent, max(2, int(cost / CHUNK)), count * CHUNKS_EACH)
    chunk = -(-extent // chunks)
    if chunk > 64:
        chunk = -(-chunk // 64) * 64  # whole cache lines and vectors
    return chunk


def gemm_chunk(extent: int, flops: float) -> int:
    """The same for the rows or columns of a matrix product: one part a thread, since each part repacks the other operand."""
    count = threads()
    if count == 1 or flops < 2e6 or extent < 32:
        return 0
    chunk = -(-extent // count)
    return -(-chunk // 16) * 16


def batch_chunk(results: int, flops: float) -> int:
    """How many matrix products of `flops` each a thread takes at once; 0 where each had better be shared out by itself: where
    there are fewer than threads, or so many more that some threads would wait long for the last ones."""
    count = threads()
    if count == 1 or results < count or results * flops < 2e6:
        return 0
    if flops > LONG_PRODUCT and results < 0.8 * count * -(-results // count):
        return 0
    return max(1, results // (count * CHUNKS_EACH), int(3e5 / max(flops, 1.0)))


def _after_fork(made: Driver) -> None:
    pool = made.pool_words()
    keep = int(pool[layout.P_WORKERS // 8]), int(pool[layout.P_SPIN // 8])
    pool[:] = 0
    pool[layout.P_WORKERS // 8], pool[layout.P_SPIN // 8] = keep
    made.put(layout.E_BLAS_LOCK, 0)
    made.put(layout.E_BLAS_USERS, 0)


def _in_child() -> None:
    made = Driver.of_process()
    if made is not None:
        _after_fork(made)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
