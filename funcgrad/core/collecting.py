"""The cyclic garbage collector rests while modules are imported and kernels compiled.

Both make many lasting objects and next to no garbage: collections in between walk all of them for nothing, a quarter of an
import's time and a fifth of a compile's.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """No collection inside, and after it what was before, also when an exception leaves it. What was made inside counts as old:
    else the next collection would walk all of it at once."""
    was = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if was:
            if gc.get_freeze_count() == 0:
                gc.freeze()
                gc.unfreeze()
            gc.enable()
