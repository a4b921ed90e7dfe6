"""The functions that kernels call, as source text: which there are, their types, and which call which.

In: names such as `exp_f32`. Out: a `Helper`: a plain scalar Python function in the words of
runtime/intrinsics.py, without branches wherever that can be, so that it becomes part of a vectorised loop. The
texts live in math_*.py, each with its method and its bound in units in the last place (ulp), which
tests/codegen/test_vecmath.py checks against mpmath over the whole range.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from funcgrad.codegen import math_integer

_HEADER = re.compile(r"^def (\w+)\(([^)]*)\)(?: -> (\w+))?:", re.M)


@dataclass(frozen=True, slots=True)
class Helper:
    """One function: `args` and `result` are short dtype names, `uses` the helpers that it calls itself."""

    name: str
    args: tuple[str, ...]
    result: str
    source: str
    uses: tuple[str, ...]


def _split(texts: Iterable[str]) -> dict[str, Helper]:
    """Cut module texts into functions. Types are annotated, or are the suffix of the function's name."""
    parts: dict[str, tuple[re.Match, str]] = {}
    for text in texts:
        headers = list(_HEADER.finditer(text))
        ends = [h.start() for h in headers[1:]] + [len(text)]
        for header, end in zip(headers, ends, strict=True):
            parts[header[1]] = header, text[header.start() : end].rstrip() + "\n"
    helpers = {}
    for name, (header, source) in parts.items():
        suffix = name.rsplit("_", 1)[-1]
        args = [a.partition(":")[2].strip() or suffix for a in header[2].split(",")]
        body = source[header.end() - header.start() :]
        uses = tuple(sorted({w for w in re.findall(r"\b([a-z]\w*)\(", body) if w in parts and w != name}))
        plain = f"def {name}({', '.join(a.partition(':')[0].strip() for a in header[2].split(','))}):" + body
        helpers[name] = Helper(name, tuple(args), header[3] or suffix, plain, uses)
    return helpers


HELPERS: dict[str, Helper] = _split(math_integer.TEXTS)


def closure(names: Iterable[str]) -> tuple[str, ...]:
    """`names` and all helpers that they call, callees first."""
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in order:
            for used in HELPERS[name].uses:
                visit(used)
            order[name] = None

    for name in names:
        visit(name)
    return tuple(order)
