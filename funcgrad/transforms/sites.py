"""The texts of errors: what each kind of check says, given the values that it needs.

In: NumPy arrays, noted when the check failed. Out: the text for the user, with the line of the program.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from funcgrad.core import source
from funcgrad.ops._indexing import out_of_range
from funcgrad.transforms.checking import Site, failure


def _at(words: str, line: source.Source) -> str:
    return words if line is source.UNKNOWN else f"{words}\n  at {line.quote()}"


class Found(NamedTuple):
    """A site of a program and how many values its text needs."""

    site: Site
    count: int


class Fixed:
    """A text that needs no values, and the user's line."""

    __slots__ = ("words", "line")

    def __init__(self, words: str, line: source.Source):
        self.words, self.line = words, line

    def __repr__(self) -> str:
        return f"{self.line}: {self.words!r}"

    def text(self, arrays: Sequence[np.ndarray]) -> str:
        return _at(self.words, self.line)


class Range(NamedTuple):
    """Indices along some axes that may be out of range. Values: index vectors of shape (..., axes), or a scalar for each axis."""

    name: str
    axes: tuple[int, ...]
    extents: tuple[int, ...]
    windows: tuple[int, ...]
    line: source.Source

    def text(self, arrays: Sequence[np.ndarray]) -> str:
        rows = arrays[0].reshape(-1, len(self.axes)) if arrays[0].ndim else np.stack(arrays)[None]
        for k, (axis, n, window) in enumerate(zip(self.axes, self.extents, self.windows, strict=True)):
            bad = rows[(rows[:, k] < 0) | (rows[:, k] > n - window), k]
            if bad.size:
                return _at(f"out-of-bounds indexing: {out_of_range(self.name, int(bad[0]), axis, n, window)}", self.line)
        return _at(f"out-of-bounds indexing in {self.name}", self.line)


class Batched(NamedTuple):
    """A check of the user's under vmap. Values: all operands of the operator `check`."""

    site: Site
    levels: tuple[str, ...]
    axes: tuple[tuple[bool, ...], ...]
    tags: int

    def text(self, arrays: Sequence[np.ndarray]) -> str:
        return failure(*arrays, **self._asdict()) or ""


class Group(NamedTuple):
    """The sites of a program. Values: its code, and the values of all of them."""

    found: tuple[Found, ...]

    def text(self, arrays: Sequence[np.ndarray]) -> str:
        code = int(arrays[0])
        if not code:
            return ""
        start = 1 + sum([f.count for f in self.found[: code - 1]])
        site, count = self.found[code - 1]
        return site.text(arrays[start : start + count])
