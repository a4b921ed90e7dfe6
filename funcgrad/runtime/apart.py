"""Work that must not be broken off in the middle: in a thread of its own.

Enters: a function without arguments. Leaves: what it returns or raises. numba's registries and LLVM's owners of memory are left
in pieces by an exception between two of their lines (a Ctrl-C there ended in kernels that never compiled again, or a crash).
Python runs signal handlers in the main thread only: there it waits, and leaves at once when a handler raises, while the work goes
on to its end and is kept. The thread also has a stack of its own, so the depth of the caller's recursion does not matter.
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def apart(work: Callable[[], T]) -> T:
    """`work()`, in another thread where this is the main one."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    answer: list[Any] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            answer.append(work())
        except BaseException as error:  # noqa: BLE001  (it is raised where it is waited for)
            failure.append(error)

    thread = threading.Thread(target=run, name="funcgrad-compile")
    thread.start()
    thread.join()
    if failure:
        raise failure.pop()
    return answer.pop()
