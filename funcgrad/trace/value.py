"""The base class of everything an operator takes and gives: `Array` and every `Tracer`.

Two things are put into these classes from rooms above, because they are what users see and cannot be
written down here: `funcgrad.numpy.operators` installs the operators and methods (`__add__`, `.sum`, `.at`),
and `bridge.array` defines `Array` with its buffer.
"""

from typing import Any

from funcgrad.core.aval import ShapedArray, literal_aval


class Value:
    """Something with an abstract value. Immutable."""

    __slots__ = ()

    aval: ShapedArray

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The element type, an np.dtype."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        """True where the dtype came from a Python scalar, and yields to any array's."""
        return self.aval.weak_type


def aval_of(x: Any) -> ShapedArray:
    """The abstract value of an operand: an Array, a Tracer or a scalar literal."""
    return x.aval if isinstance(x, Value) else literal_aval(x)
