"""Running a printed kernel interpreted, in plain Python: to step through it, to edit it, or to test it.

In: a `Source` printed for the CPU, its buffers as flat NumPy arrays, dims, an extent. Out: the arrays, written.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.codegen.target import Source
from funcgrad.codegen.vecmath import interpreted
from funcgrad.codegen.words import NAMESPACE, Pointer
from funcgrad.loops.nest import ERROR_RECORD_BYTES


def python_function(name: str, text: str, helpers: Sequence[str] = ()) -> Callable[..., Any]:
    """The function `name` defined by `text`, in these words and with the helpers that it calls."""
    space: dict[str, Any] = dict(NAMESPACE)
    space.update(interpreted(helpers))
    exec(compile(text, f"<kernel {name}>", "exec"), space)
    return space[name]


def run(
    source: Source,
    buffers: Sequence[np.ndarray | Pointer],
    dims: Sequence[int],
    extent: int,
    scratch: int = 0,
) -> np.ndarray:
    """Run a CPU kernel over [0, extent) in plain Python. Returns the thread's scratch memory: its first words
    are the error record. `scratch` is what the schedule asked for past the record."""
    memory = np.zeros(ERROR_RECORD_BYTES + max(scratch, source.scratch) + 64, np.uint8)
    kernel = python_function(source.name, source.text, source.helpers)
    with np.errstate(all="ignore"):
        kernel(buffers, [int(d) for d in dims], 0, extent, memory)
    return memory
