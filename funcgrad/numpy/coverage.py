"""Which functions of NumPy an array or a tracer of funcgrad answers: a table made from the code.

`python -m funcgrad.numpy.coverage` prints it in Markdown. In: the functions that the installed NumPy lets others
override. Out: for each the function that is called instead, or why there is none. `protocol.py` does what the table says.
"""

from typing import Any

import numpy.testing.overrides as overrides

import funcgrad.numpy as fnp
from funcgrad.numpy.protocol import OTHER_DATA, RENAMED, SHOWING, WRITING, counterpart, full_name, nearest

COVERED, NUMBERS, NONE = "covered", "numbers", "none"


def functions() -> dict[str, Any]:
    """NumPy's functions that dispatch on their arguments, ufuncs and others, by their names after `np.`"""
    found = [f for f in overrides.get_overridable_numpy_array_functions() if not f.__name__.startswith("_")]
    found += [f for f in overrides.get_overridable_numpy_ufuncs() if not f.__name__.startswith("_")]
    return {full_name(f): f for f in sorted(found, key=full_name)}


def coverage() -> dict[str, tuple[str, str]]:
    """For each name: ("covered", the function that is called), ("numbers", what NumPy does itself) or ("none", the nearest name).

    >>> from funcgrad.numpy.coverage import coverage
    >>> coverage()["linalg.solve"], coverage()["min_scalar_type"]
    (('covered', 'fnp.linalg.solve'), ('none', 'fnp.result_type'))
    """
    found = {}
    for name in functions():
        f = counterpart(name, fnp)
        if name in SHOWING:
            found[name] = NUMBERS, "shows or stores the numbers"
        elif name in WRITING and f is None:
            found[name] = NUMBERS, "writes the numbers into a NumPy array"
        elif f is None:
            found[name] = NONE, nearest(name, fnp)
        else:
            found[name] = COVERED, f"fnp.{RENAMED.get(name, name)}"
    return found


def table() -> str:
    """The coverage as a table in Markdown."""
    lines = ["| NumPy | on arrays and tracers of funcgrad |", "|---|---|"]
    for name, (kind, text) in coverage().items():
        other = ": it is about other data than numbers" if name.startswith(OTHER_DATA) else ""
        none = f"raises TypeError, which names {text}" if text else f"raises TypeError{other}"
        lines.append(f"| `np.{name}` | {none if kind == NONE else text if kind == NUMBERS else f'`{text}`'} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
