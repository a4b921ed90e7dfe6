"""The cyclic garbage collector rests while modules are imported and kernels compiled.

Both make many lasting objects and next to no garbage: collections in between walk all of them for nothing, a quarter of an
import's time and a fifth of a compile's. `funcgrad/__init__.py` imports this file first.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def pause() -> bool:
    """No collection from now on; whether there was before, for `resume`."""
    was = gc.isenabled()
    gc.disable()
    return was


def resume(was: bool) -> None:
    """Collect again, if that was so before `pause`. What was made meanwhile counts as old: else the next collection would walk
    all of it at once."""
    if was:
        if gc.get_freeze_count() == 0:
            gc.freeze()
            gc.unfreeze()
        gc.enable()


@contextmanager
def paused() -> Iterator[None]:
    """No collection inside."""
    was = pause()
    try:
        yield
    finally:
        resume(was)


of_import = pause()  # `funcgrad/__init__.py` resumes when all else is there
