"""Loops as one kernel: a scan or while whose body is a few scalar operations, with its carry in registers."""

from typing import Any

from funcgrad.ir.jaxpr import Eqn


def carried(eqn: Eqn, lowering: Any) -> bool:
    """Whether the equation's nodes have been added to the graph; False: it takes the general road (loops/control.py)."""
    return False
