"""Printing a Jaxpr in the notation that JAX users know.

{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }
"""

import itertools
import re
from typing import Any

import numpy as np

from funcgrad.core import html
from funcgrad.ir.jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal, Var

WIDTH = 100
# How Python shows functions and objects that say nothing of themselves; where they lie differs from run to run.
_ADDRESS = re.compile(r"<(?:function |bound method )?([^<>]*(?:<(?:locals|lambda)>[^<>]*)*?)(?: object)? at 0x[0-9a-f]+>")


def _called(found: re.Match[str]) -> str:
    return found.group(1).replace("<locals>.", "")


def _names() -> Any:
    letters = "abcdefghijklmnopqrstuvwxyz"
    for length in itertools.count(1):
        for combination in itertools.product(letters, repeat=length):
            yield "".join(combination)


class _Printer:
    def __init__(self) -> None:
        self.names: dict[Var, str] = {}
        self.fresh = _names()

    def bind(self, v: Var) -> str:
        name = self.names.get(v)
        if name is None:
            name = self.names[v] = next(self.fresh)
        return f"{name}:{v.aval.str_short()}"

    def atom(self, x: Atom) -> str:
        if isinstance(x, Literal):
            value = x.value.item() if isinstance(x.value, np.generic) else x.value
            return f"{value}:{x.aval.str_short()}"
        return self.names[x] if x in self.names else self.bind(x)

    def param(self, key: str, value: Any) -> list[str]:
        if isinstance(value, (Jaxpr, ClosedJaxpr)):
            lines = _Printer().jaxpr(value.jaxpr if isinstance(value, ClosedJaxpr) else value)
            return [f"{key}={lines[0]}", *lines[1:]]
        if isinstance(value, tuple) and value and all(isinstance(v, (Jaxpr, ClosedJaxpr)) for v in value):
            return [f"{key}=(", *("  " + line for v in value for line in self.param("", v)), ")"]
        if isinstance(value, np.dtype):
            return [f"{key}={value.name}"]
        if callable(value) and hasattr(value, "__name__"):
            return [f"{key}={value.__name__}"]
        return [f"{key}={_ADDRESS.sub(_called, str(value))}"]

    def eqn(self, e: Any) -> list[str]:
        ins = "".join(" " + self.atom(x) for x in e.inputs)
        outs = " ".join(self.bind(v) for v in e.outputs) or "_"
        params = [self.param(k, v) for k, v in sorted(e.params.items()) if v is not None]
        head = f"{outs} = {e.primitive.name}"
        if not params:
            return [head + ins]
        flat = " ".join(line for p in params for line in p)
        if all(len(p) == 1 for p in params) and len(head) + len(flat) + len(ins) + 2 <= WIDTH:
            return [f"{head}[{flat}]{ins}"]
        return [f"{head}[", *("  " + line for p in params for line in p), f"]{ins}"]

    def jaxpr(self, j: Jaxpr) -> list[str]:
        consts = "".join(" " + self.bind(v) for v in j.constvars)
        args = "".join(" " + self.bind(v) for v in j.invars)
        head = f"{{ lambda{consts} ;{args}. let"
        body = [line for e in j.eqns for line in self.eqn(e)]
        outs = ", ".join(self.atom(x) for x in j.outvars)
        tail = f"in ({outs}{',' if len(j.outvars) == 1 else ''}) }}"
        line = " ".join([head, *body, tail])
        if len(body) <= 1 and len(line) <= WIDTH:
            return [line]
        return [head, *("    " + b for b in body), "  " + tail]


def format_jaxpr(jaxpr: Jaxpr) -> str:
    """The program's text. Variables are named a, b, c ... in the order of their binding."""
    return "\n".join(_Printer().jaxpr(jaxpr))


_PARTS = re.compile(
    r"(?P<type>:(?:\w+|key<fry>)(?:\[[\d,]*\])?(?=[\s.;,)]))|(?P<word>\b(?:lambda|let|in)\b)|(?<= = )(?P<operator>\w+)"
)


def jaxpr_html(jaxpr: Jaxpr) -> str:
    """The program's text for notebooks: operators stand out, dtypes and shapes stand back."""

    def dressed(found: re.Match[str]) -> str:
        part = html.escape(found.group())
        return html.strong(part) if found.lastgroup == "operator" else html.faint(part)

    plain, out, at = format_jaxpr(jaxpr), [], 0
    for found in _PARTS.finditer(plain):
        out += [html.escape(plain[at : found.start()]), dressed(found)]
        at = found.end()
    return html.pre("".join([*out, html.escape(plain[at:])]))


def _html(self: Any) -> str:
    return jaxpr_html(self.jaxpr if isinstance(self, ClosedJaxpr) else self)


def _repr(self: Any) -> str:
    return format_jaxpr(self.jaxpr if isinstance(self, ClosedJaxpr) else self)


# The nouns are declared without their notation; here they get it.
Jaxpr.__repr__ = Jaxpr.__str__ = _repr  # type: ignore[method-assign, assignment]
ClosedJaxpr.__repr__ = ClosedJaxpr.__str__ = _repr  # type: ignore[method-assign, assignment]
Jaxpr._repr_html_ = ClosedJaxpr._repr_html_ = _html  # type: ignore[attr-defined]
