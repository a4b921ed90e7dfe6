"""What a fork waits for: the locks of work that a child must not find half done.

A child has the memory of all threads and only one of them. Locks that the others held would stay closed in it, and what these
guard (modules half imported, LLVM's tables) half made. So whoever forks first takes all the locks that are named here, in one
order; in parent and child they are given back.
"""

import os
from contextlib import ExitStack
from typing import Any

# Outermost first: whoever holds one of these may take a later one, never an earlier.
KERNELS, IMPORTS, COMPILER, LLVM = range(4)

_locks: dict[int, Any] = {}
_held: list[ExitStack] = []


def waits_for(order: int, lock: Any) -> None:
    """From now on a fork waits for this re-entrant lock."""
    _locks[order] = lock


def _before() -> None:
    with ExitStack() as entered:
        for order in sorted(_locks):
            entered.enter_context(_locks[order])
        _held.append(entered.pop_all())


def _after() -> None:
    if _held:
        _held.pop().close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
