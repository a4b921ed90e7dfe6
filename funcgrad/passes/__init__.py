"""Jaxpr -> Jaxpr with the same meaning: a visible list of named steps.

`simplify` runs them all; each is also a function of its own, pure, from Jaxpr to Jaxpr.
"""

from funcgrad.passes.simplify import STEPS, simplify

__all__ = ["STEPS", "simplify"]
