"""Minima of functions, as in `scipy.optimize`: minimize, which runs inside jit and vmap."""

from funcgrad.scipy.optimize.minimizing import OptimizeResults, minimize

__all__ = ["OptimizeResults", "minimize"]
