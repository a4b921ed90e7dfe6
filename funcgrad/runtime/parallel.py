"""Several kernels compiled side by side, in forked children.

numba's compiler lock serialises threads and a fresh interpreter needs 0.4 s to import numba, so the process forks:
a child compiles its share, writes the object code into a pipe, and ends without cleaning up. The parent does its own
share meanwhile. Whatever a child does not deliver (it died, it hangs) the parent compiles itself.

Environment: FUNCGRAD_COMPILE_WORKERS (processes in all; default: the processors this process may use, at most 8; 1: no fork).
"""

import os
import pickle
import select
import signal
import time
import warnings
from collections.abc import Callable

from funcgrad.core.collecting import paused
from funcgrad.core.errors import CompileError

MOST_WORKERS = 8
PATIENCE = 120.0  # seconds that a child may take


def workers() -> int:
    """How many processes compile."""
    text = os.environ.get("FUNCGRAD_COMPILE_WORKERS", "")
    if text.isdigit():
        return max(1, int(text))
    if not hasattr(os, "fork"):
        return 1
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, MOST_WORKERS)


Job = Callable[[], bytes]


def compile_all(jobs: list[Job], sizes: list[int]) -> list[bytes | CompileError]:
    """The object code that each job makes, or its error; `sizes` says about how long each takes."""
    count = min(workers(), len(jobs))
    shares: list[list[int]] = [[] for _ in range(count)]
    loads = [0] * count
    for k in sorted(range(len(jobs)), key=lambda k: -sizes[k]):  # long ones first, each to the least busy
        least = loads.index(min(loads))
        shares[least].append(k)
        loads[least] += sizes[k]
    done: dict[int, bytes | CompileError] = {}
    with paused():
        children: list[tuple[int, int]] = []
        try:
            for share in shares[1:]:
                child = _spawn([(k, jobs[k]) for k in share])
                if child is not None:
                    children.append(child)
            for k in shares[0] if shares else ():
                done[k] = _one(jobs[k])
            while children:
                done.update(_collect(*children.pop()))
        except BaseException:  # broken off: nobody waits for the rest
            for pid, reader in children:
                _dismiss(pid, reader)
            raise
        return [done[k] if k in done else _one(job) for k, job in enumerate(jobs)]


def _one(job: Job) -> bytes | CompileError:
    try:
        return job()
    except CompileError as error:
        return error


def _spawn(share: list[tuple[int, Job]]):
    """(process id, pipe to read) of a child that does `share`; None when there can be no child."""
    reader, writer = os.pipe()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "fork in a process with threads": the child runs the compiler only
            pid = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        return None
    if pid:
        os.close(writer)
        return pid, reader
    try:
        os.close(reader)
        answer = [(k, code if isinstance(code := _one(job), bytes) else str(code)) for k, job in share]
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(pickle.dumps(answer))
    finally:
        os._exit(0)


def _dismiss(pid: int, reader: int) -> None:
    os.close(reader)
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ChildProcessError, ProcessLookupError):
        pass


def _collect(pid: int, reader: int) -> dict[int, bytes | CompileError]:
    """What the child wrote, or nothing."""
    parts, limit = [], time.monotonic() + PATIENCE
    try:
        while True:
            ready, _, _ = select.select([reader], [], [], max(0.0, limit - time.monotonic()))
            if not ready:
                os.kill(pid, signal.SIGKILL)
                parts.clear()
                break
            part = os.read(reader, 1 << 20)
            if not part:
                break
            parts.append(part)
    finally:
        os.close(reader)
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:
            pass  # the program ignores SIGCHLD
    try:
        answer = pickle.loads(b"".join(parts))
    except Exception:
        return {}
    return {k: code if isinstance(code, bytes) else CompileError(code) for k, code in answer}
