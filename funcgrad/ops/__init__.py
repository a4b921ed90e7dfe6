"""The primitives, one family a file; each is declared in one place with all of its rules.

The four segment functions are made of them by `funcgrad.numpy.segments`, a room above, which puts them here: this room imports
none of the faces.

Importing this package registers every operator that computes. (`call` and `control` are about programs, and are imported where
programs are made.)
"""

from typing import TYPE_CHECKING

from funcgrad.ops import (
    bits,
    bitwise,
    compare,
    contract,
    convert,
    convolution,
    cumulative,
    dynamic,
    elementwise,
    fft,
    index,
    linalg,
    reduce,
    rolling,
    select,
    shape,
    sort,
    window,
)

if TYPE_CHECKING:
    from funcgrad.numpy.segments import segment_max, segment_min, segment_prod, segment_sum

__all__ = [
    "bits",
    "bitwise",
    "compare",
    "contract",
    "convert",
    "convolution",
    "cumulative",
    "dynamic",
    "elementwise",
    "fft",
    "index",
    "linalg",
    "reduce",
    "rolling",
    "segment_max",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "select",
    "shape",
    "sort",
    "window",
]
