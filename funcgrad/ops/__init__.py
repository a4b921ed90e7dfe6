"""The primitives, one family a file; each is declared in one place with all of its rules.

Importing this package registers every operator that computes. (`call` and `control` are about programs, and are imported where
programs are made.)
"""

from funcgrad.ops import bitwise, compare, contract, convert, elementwise, index, reduce, select, shape, sort

__all__ = ["bitwise", "compare", "contract", "convert", "elementwise", "index", "reduce", "select", "shape", "sort"]
