"""The public names: each exists, takes the listed arguments, and has a docstring whose example prints what stands there.

`names.json` lists modules, names and signatures. `python tests/test_names.py funcgrad.numpy.fft` prints what is wrong in a module.
"""

import ast
import doctest
import importlib
import inspect
import io
import json
import re
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

HERE = Path(__file__).resolve().parent
LISTED = json.loads((HERE / "names.json").read_text())
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
NAMESPACE = {
    "fg": fg, "fnp": fnp, "np": np, "lax": fg.lax, "nn": fg.nn, "random": fg.random, "tree_util": fg.tree_util, "tree": fg.tree,
}  # fmt: skip


# --- which names --------------------------------------------------------------------------------------------------------


def face(module):
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        return None


def public(module):
    """The names to check: those listed, and those that the module says it shows."""
    shown = [n for n in getattr(face(module), "__all__", ()) if not isinstance(getattr(face(module), n), types.ModuleType)]
    return list(dict.fromkeys([*LISTED[module], *shown]))


NAMES = [(module, name) for module in LISTED for name in public(module)]

# --- signatures ---------------------------------------------------------------------------------------------------------


def parameters(text):
    """[(name, kind, default)] of a signature text; a default is a syntax tree, or None. A last bare * separates nothing."""
    text = re.sub(r"(, )?\*\)$", ")", text)
    (function,) = ast.parse(f"def f{text}: pass").body
    a = function.args
    positional = [*a.posonlyargs, *a.args]
    defaults = [None] * (len(positional) - len(a.defaults)) + a.defaults
    kinds = ["POSITIONAL_ONLY"] * len(a.posonlyargs) + ["POSITIONAL_OR_KEYWORD"] * len(a.args)
    out = [(p.arg, kind, d) for p, kind, d in zip(positional, kinds, defaults)]
    out += [(a.vararg.arg, "VAR_POSITIONAL", None)] if a.vararg else []
    out += [(p.arg, "KEYWORD_ONLY", d) for p, d in zip(a.kwonlyargs, a.kw_defaults)]
    return out + ([(a.kwarg.arg, "VAR_KEYWORD", None)] if a.kwarg else [])


def same_default(listed, ours):
    """Whether our default is the listed one, where that is a literal. A dtype's name stands for the dtype, and a number for its array."""
    try:
        value = ast.literal_eval(listed)
    except ValueError:
        return True  # an enum, a sentinel, a type
    if value is ... or value is None or ours is None:
        return True
    return bool(np.all(ours == value))


def signature_faults(text, function):
    if text in (None, "value", "()") or (isinstance(function, type) and text.startswith("(value, names=None")):
        return []  # not called, or an enum
    listed = parameters(text)
    if {kind for _, kind, _ in listed} <= {"VAR_POSITIONAL", "VAR_KEYWORD"}:
        return [] if callable(function) else ["cannot be called"]  # takes whatever what it wraps takes
    ours = inspect.signature(function, follow_wrapped=not isinstance(function, type)).parameters
    faults = []
    positional = [p for p in ours.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_kind = {p.kind.name: p.name for p in ours.values()}
    for i, (name, kind, default) in enumerate(listed):
        p = ours.get(name)
        if kind.startswith("VAR"):
            if kind not in by_kind:
                faults.append(f"does not take {'*' if kind == 'VAR_POSITIONAL' else '**'}{name}")
            continue
        if kind.startswith("POSITIONAL"):
            in_place = (
                positional[i].name == name or kind == "POSITIONAL_ONLY" if i < len(positional) else "VAR_POSITIONAL" in by_kind
            )
            if not in_place:
                faults.append(f"does not take {name} as positional argument {i}")
        if (
            kind != "POSITIONAL_ONLY"
            and "VAR_KEYWORD" not in by_kind
            and (p is None or p.kind is p.POSITIONAL_ONLY or p.kind.name.startswith("VAR"))
        ):
            faults.append(f"does not take {name} by name")
        if default is not None and p is not None and p.kind.name != "VAR_POSITIONAL":
            if p.default is p.empty and not p.kind.name.startswith("VAR"):
                faults.append(f"asks for {name}, which has the default {ast.unparse(default)}")
            elif p.default is not p.empty and not same_default(default, p.default):
                faults.append(f"has {name}={p.default!r} instead of {ast.unparse(default)}")
    names = {name for name, _, _ in listed}
    asked = [p.name for i, p in enumerate(positional) if p.default is p.empty and i >= len(listed) and p.name not in names]
    asked += [p.name for p in ours.values() if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name not in names]
    return faults + [f"asks for {name}, which is not listed" for name in asked]


# --- docstrings ---------------------------------------------------------------------------------------------------------

NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?")


class NearlyEqual(doctest.OutputChecker):
    """Floats may differ in their last digits, which depend on the machine's mathematical functions."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        wanted, given = NUMBER.findall(want), NUMBER.findall(got)
        around = [re.sub(r"\s+", "", NUMBER.sub("0", text)) for text in (want, got)]
        if around[0] != around[1] or len(wanted) != len(given):
            return False
        return all(w == g or "." in w and abs(float(w) - float(g)) <= 1e-6 + 1e-5 * abs(float(w)) for w, g in zip(wanted, given))


def example_faults(doc, name):
    """What is wrong with the examples of a docstring: none, none that prints, or a report of what was printed instead."""
    test = doctest.DocTestParser().get_doctest(doc or "", dict(NAMESPACE), name, None, 0)
    if not any(example.want for example in test.examples):
        return ["has no example with printed output"]
    report = io.StringIO()
    runner = doctest.DocTestRunner(NearlyEqual(), verbose=False, optionflags=FLAGS)
    with np.printoptions():
        failed = runner.run(test, out=report.write).failed
    return [report.getvalue()] if failed else []


def foreign(thing):
    """Whether `thing` cannot carry our docstring: a number, a frozen set, a type alias, or an object of NumPy."""
    if isinstance(thing, types.GenericAlias):
        return True
    owner = getattr(thing, "__module__", None) or type(thing).__module__
    return owner == "builtins" and not callable(thing) or owner.split(".")[0] in ("numpy", "ml_dtypes", "types", "typing")


def table_of(module, name):
    """The docstring of the room that holds a foreign object; it has a table with a row for each."""
    rooms = [m for n, m in sys.modules.items() if n.startswith(module) and name in getattr(m, "__all__", ())]
    return "\n".join([inspect.getdoc(room) or "" for room in rooms])


def faults(module, name):
    room = face(module)
    if room is None:
        return ["the module does not exist"]
    if not hasattr(room, name):
        return ["does not exist"]
    thing = getattr(room, name)
    if isinstance(thing, types.ModuleType):
        return [f"is a module, and a function is listed: {LISTED[module][name]}"]
    found = signature_faults(LISTED[module].get(name), thing)
    if foreign(thing):
        return found + (
            [] if re.search(rf"^ *`?{name}\b", table_of(module, name), re.M) else ["has no row in its module's docstring"]
        )
    return found + example_faults(inspect.getdoc(thing), f"{module}.{name}")


# --- the tests ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module, name", NAMES, ids=[f"{m}.{n}" for m, n in NAMES])
def test_name(module, name):
    found = faults(module, name)
    assert not found, f"{module}.{name}:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "text, function, fault",
    [
        ("(x, n=2)", lambda x, n=2: x, None),
        ("(x, /, *, n=2)", lambda y, n=2: y, None),
        ("(x, n=2, *)", lambda x: x, "does not take n as positional argument 1"),
        ("(x, n=2)", lambda n, x: x, "does not take x as positional argument 0"),
        ("(x, n=2)", lambda x, n: x, "asks for n, which has the default 2"),
        ("(x, n=2)", lambda x, n=3: x, "has n=3 instead of 2"),
        ("(x)", lambda x, /: x, "does not take x by name"),
        ("(x, *, n)", lambda x: x, "does not take n by name"),
        ("(*args, n=2)", lambda x, n=2: x, "does not take *args"),
        ("(x, **kw)", lambda x: x, "does not take **kw"),
        ("(x)", lambda x, y: x, "asks for y, which is not listed"),
        ("(x)", lambda x, *, y: x, "asks for y, which is not listed"),
        ("(x, kind=Kind.A, ids=frozenset({...}), f=...)", lambda x, kind="a", ids=(), f=None: x, None),
    ],
)
def test_the_check_of_signatures(text, function, fault):
    found = signature_faults(text, function)
    assert found[0] == fault if fault else not found


@pytest.mark.parametrize(
    "doc, fault",
    [
        ("No example.", "has no example"),
        (">>> fnp.sin(0.5)", "has no example with printed output"),
        (">>> 1 + 1\n3", "Expected:"),
        (">>> 1 + 1\n2", None),
        (">>> np.float64(0.1) + 0.2\nnp.float64(0.30000001)", None),
        (">>> np.float64(0.1) + 0.2\nnp.float64(0.301)", "Expected:"),
        (">>> fg.no_such_name\n1", "AttributeError"),
    ],
)
def test_the_check_of_examples(doc, fault):
    found = example_faults(doc, "doc")
    assert fault in found[0] if fault else not found


def test_examples_elsewhere():
    """Modules, methods and the rooms below the faces need no example; one that stands there is true."""
    shown = {inspect.getdoc(getattr(face(m), n, None)) for m, n in NAMES}
    docs = {}
    for name, module in sorted(sys.modules.items()):
        if name.startswith("funcgrad"):
            for test in doctest.DocTestFinder().find(module):
                if test.examples and inspect.cleandoc(test.docstring) not in shown:
                    docs[test.name] = test.docstring
    assert docs
    assert not {n: found for n, doc in docs.items() if (found := example_faults(doc, n))}


if __name__ == "__main__":
    warnings.simplefilter("error")
    for module, name in NAMES:
        if module in sys.argv[1:] and (found := faults(module, name)):
            print(f"{module}.{name}:", *found, sep="\n    ")
