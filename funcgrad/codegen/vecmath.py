"""The functions that kernels call: which there are, their types, and which call which.

Each is a plain scalar Python function in the words of words.py, named by its operation and type (`exp_f32`), written
without branches so that it becomes part of a vectorised loop. Its docstring gives the method and the bound of its
error in units in the last place (ulp), which tests/codegen/test_vecmath.py checks against mpmath. The runtime
compiles their `source`; called as they are, they run interpreted.
"""

import inspect
from collections.abc import Callable, Iterable
from functools import cached_property
from types import FunctionType
from typing import Any

from funcgrad.codegen import (
    math_bessel,
    math_beta,
    math_exp,
    math_faddeeva,
    math_gamma,
    math_integer,
    math_integrals,
    math_lgamma,
    math_normal,
    math_orders,
    math_owen,
    math_poch,
    math_special,
    math_trig,
    math_zeta,
    words,
)
from funcgrad.codegen.target import INT_CODES

MODULES = (
    math_integer, math_exp, math_trig, math_special, math_lgamma, math_zeta, math_gamma, math_beta, math_normal, math_bessel,
    math_integrals, math_orders, math_owen, math_poch, math_faddeeva,
)  # fmt: skip


class Helper:
    """One function: `args` and `result` are short dtype names, `uses` the helpers that it calls itself."""

    def __init__(self, name: str, function: FunctionType, args: tuple[str, ...], result: str, text: str = ""):
        self.name, self.function, self.args, self.result, self.text = name, function, args, result, text

    @cached_property
    def source(self) -> str:
        """Its text, under its own name."""
        if self.text:
            return self.text
        return inspect.getsource(self.function).replace(f"def {self.function.__name__}(", f"def {self.name}(", 1)

    @cached_property
    def uses(self) -> tuple[str, ...]:
        return tuple(sorted({n for n in self.function.__code__.co_names if n in HELPERS and n != self.name}))


def _collect() -> dict[str, Helper]:
    found = {}
    for module in MODULES:
        signatures = module.SIGNATURES
        for name, function in vars(module).items():
            if not isinstance(function, FunctionType) or function.__module__ != module.__name__:
                continue
            code = name.rsplit("_", 1)[-1]
            if code == "int":  # one text for all integer types
                for code in INT_CODES:
                    own = name[:-3] + code
                    found[own] = Helper(own, function, (code,) * function.__code__.co_argcount, code)
                continue
            args, result = signatures.get(name) or ((code,) * function.__code__.co_argcount, code)
            found[name] = Helper(name, function, tuple(args), result)
            if "c128" in args:
                narrow = _narrow(found[name])
                found[narrow.name] = narrow
    return found


def _narrow(wide: Helper) -> Helper:
    """The complex64 version of a complex128 helper: through complex128."""
    smaller = {"c128": "c64", "f64": "f32"}
    name = wide.name.replace("c128", "c64")
    args, result = tuple(smaller[a] for a in wide.args), smaller[wide.result]
    given = [f"x{k}" for k in range(len(args))]
    widened = ", ".join(f"{a}({x})" for a, x in zip(wide.args, given))
    text = f"def {name}({', '.join(given)}):\n    return {result}({wide.name}({widened}))\n"
    space: dict[str, Any] = dict(words.NAMESPACE)
    space[wide.name] = wide.function
    exec(compile(text, f"<{name}>", "exec"), space)
    return Helper(name, space[name], args, result, text)


HELPERS: dict[str, Helper] = _collect()


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


def interpreted(names: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """The helpers as Python functions."""
    return {name: HELPERS[name].function for name in names}
