"""Linear systems that are given by products: `linalg`."""

from funcgrad.scipy.sparse import linalg

__all__ = ["linalg"]
