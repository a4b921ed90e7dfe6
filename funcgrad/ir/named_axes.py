"""Which named axes a program speaks of.

A collective operator carries the name of its axis in the param `axis_name`; every other operator speaks of those names that the
programs among its params speak of. What a name means is not said here: whoever binds it (vmap) gives it a size and elements.
"""

from typing import Any

from funcgrad.core.cache import weak_memo
from funcgrad.ir.jaxpr import Jaxpr, subjaxprs


@weak_memo
def axis_names(jaxpr: Jaxpr) -> frozenset:
    """The names of axes in the equations of `jaxpr`, and of the programs that these carry."""
    found: set[Any] = set()
    for eqn in jaxpr.eqns:
        found |= names_in(eqn.params)
    return frozenset(found)


def names_in(params: dict[str, Any]) -> set[Any]:
    """The names of axes that an equation with these params speaks of."""
    found = {params["axis_name"]} if "axis_name" in params else set()
    return found.union(*map(axis_names, subjaxprs(params)))
