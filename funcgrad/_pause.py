"""The cyclic garbage collector rests while the package is imported.

Importing makes many lasting objects and no garbage: collections in between walk all of them for nothing, a quarter of the
import's time. Imported first by `funcgrad/__init__.py`, which calls `resume()` when all else is there.
"""

import gc

_was_on = gc.isenabled()
gc.disable()


def resume() -> None:
    """Collect again, if that was so before the import."""
    if _was_on:
        if gc.get_freeze_count() == 0:  # what was made counts as old: else the next collection would walk all of it at once
            gc.freeze()
            gc.unfreeze()
        gc.enable()
