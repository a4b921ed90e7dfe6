"""The fast road of a jitted function: Python generated for one kind of arguments, from the user's call to the result.

In: a trace, its runner, and the leaves of a call that it fits. Out: a function of the user's arguments;
whatever does not look exactly like that call goes to `miss(args, kw)`. For `f(x) = x + 1` on a float32 scalar it reads::

    def call(*args, **kw):
        try:
            if len(args) != 1 or kw: return miss(args, kw)
            n0, = args
            if not (n0.__class__ is Array and n0.aval is v0): return miss(args, kw)
            if state.current is not floor or config.trace_key is not key: return miss(args, kw)
            tick()
            m0 = new_bytes(8); w0 = id(m0) + 32
            error = launch(pack(n0._address or address(n0), w0))
            if error is not None: fail(error)
            x0 = new(Array); x0.aval = b0; x0._memory = m0; x0._address = w0; x0._view = None
            return x0
        except Exception as error:
            shorten(error)
            raise

The source depends on the structure only; code is compiled once for each source, shapes come in by name.
"""

import functools
import struct
from collections import OrderedDict
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from funcgrad.bridge.arguments import static_key
from funcgrad.bridge.array import BYTES_OFFSET, Array, address
from funcgrad.bridge.family import Key, Staged
from funcgrad.bridge.memory import alias, distinct, drop, small_size, take
from funcgrad.bridge.runner import Runner, as_array
from funcgrad.core.aval import ShapedArray
from funcgrad.core.config import config
from funcgrad.core.pytree import PyTreeDef
from funcgrad.core.source import generated_filename
from funcgrad.core.tracebacks import filter_traceback
from funcgrad.core.tree_compile import TreePrinter, print_flatten, print_unflatten
from funcgrad.core.tree_nodes import same_static
from funcgrad.runtime.buffers import array_address, empty
from funcgrad.trace import interpreter

_PYTHON_SCALARS = frozenset({bool, int, float, complex})
_MAX_LEAVES = 2000  # beyond, the general road is as good

Miss = Callable[[tuple, dict[str, Any]], Any]


MISS = object()  # what `attempt(function)` gives for arguments that do not fit


def attempt(made: Any) -> Callable[..., Any]:
    """A generated function that gives MISS, instead of going on, for arguments that do not fit."""
    return FunctionType(made.__code__, {**made.__globals__, "miss": lambda args, kw: MISS}, "attempt")


@functools.lru_cache(maxsize=512)
def _code(source: str) -> CodeType:
    return compile(source, generated_filename("call"), "exec")


def make_call(
    staged: Staged, key: Key, runner: Runner, consts: Sequence[Array], leaves: Sequence[Any], positions: int, miss: Miss
) -> Any:
    """The generated function, or None where the arguments are of a kind that it does not take.

    `key` and `leaves` are those of a call that fits; `positions` counts its positional arguments, static ones included."""
    if len(leaves) > _MAX_LEAVES or len(staged.key.avals) != len(leaves):
        return None
    out = _Call()
    names = out.arguments(key, positions)
    if not out.guards(names, leaves, key.avals):
        return None
    out.say(f"if state.current is not floor or config.trace_key is not key: {out.refuse}")
    for i, c in enumerate(consts):
        out.names[f"k{i}"] = c
    values = [f"k{i}" for i in range(len(consts))] + names
    mark = len(out.lines)
    results = out.generally(values, len(runner.outs)) if runner.launch is None else out.native(runner, values, [*consts, *leaves])
    out.lines.insert(mark, "tick()" if runner.launch is not None else "tick_slow()")
    out.say(f"return {print_unflatten(staged.out_tree, iter(results), out)}")
    return out.finish(
        miss=miss,
        key=key.config,
        tick=staged.tick,
        tick_slow=staged.tick_slow,
        run=runner,
        launch=runner.launch,
        fail=runner.fail,
        treedef=staged.out_tree,
    )


class _Call(TreePrinter):
    """The lines of one call."""

    def __init__(self) -> None:
        super().__init__("return miss(args, kw)")
        self.known: dict[int, str] = {}

    def name(self, value: Any) -> str:
        """A name for an object, one for all its uses: leaves that are alike are asked for the same constant."""
        known = self.known.get(id(value))
        if known is None:
            known = self.known[id(value)] = super().name(value)  # the namespace keeps it alive, so that its id stays its own
        return known

    def arguments(self, key: Key, positions: int) -> list[str]:
        """Lines that take the arguments apart. The names of the leaves, in order."""
        positional, named = key.tree.child_defs
        statics = dict(key.statics)
        keywords: list[tuple[str, PyTreeDef | None]] = [*zip(named.aux, named.child_defs, strict=True)]
        keywords += [(where, None) for where in statics if isinstance(where, str)]
        self.say(f"if len(args) != {positions} or {f'len(kw) != {len(keywords)}' if keywords else 'kw'}: {self.refuse}")
        given = [f"a{i}" for i in range(positions)]
        if given:
            self.say(f"{', '.join(given)}, = args")
        leaves: list[str] = []
        children = iter(positional.child_defs)
        for i, name in enumerate(given):
            if i in statics:
                self.static(name, statics[i])
            else:
                print_flatten(next(children), name, self, leaves)
        for name, child in keywords:
            x = self.new()
            self.say(f"{x} = kw[{name!r}]")
            if child is None:
                self.static(x, statics[name])
            else:
                print_flatten(child, x, self, leaves)
        if any("[" in line for line in self.lines):
            self.lines = ["try:", *["    " + line for line in self.lines], f"except KeyError: {self.refuse}"]
        return leaves

    def static(self, name: str, key: Any) -> None:
        self.say(f"if static_key({name}) != {self.name(key)}: {self.refuse}")

    def guards(self, names: list[str], leaves: Sequence[Any], avals: Sequence[Any]) -> bool:
        """Lines that ask each leaf whether it is what was traced."""
        conditions = []
        for name, x, aval in zip(names, leaves, avals, strict=True):
            t = x.__class__
            if t is Array:
                conditions.append(f"{name}.__class__ is Array and {name}.aval is {self.name(aval)}")
            elif t in _PYTHON_SCALARS and aval.dtype in _FORMATS:
                conditions.append(f"{name}.__class__ is {t.__name__}")
            elif t is np.ndarray:
                shape, dtype = self.name(x.shape), self.name(x.dtype)
                conditions.append(f"{name}.__class__ is ndarray and {name}.dtype == {dtype} and {name}.shape == {shape}")
            elif isinstance(x, np.generic) and t is not np.void:
                conditions.append(f"{name}.__class__ is {self.name(t)}")
            else:
                return False
        if conditions:
            self.say(f"if not ({' and '.join(conditions)}): {self.refuse}")
        return True

    def native(self, runner: Runner, values: list[str], examples: Sequence[Any]) -> list[str]:
        """Lines that run the program on these values; the names of the results."""
        if runner.dropped:
            self.say(f"distinct(({''.join(v + ', ' for v in values)}))")
        results: dict[int, str] = {}
        for j, i in runner.donated.items():
            if examples[i].__class__ is Array:
                results[j] = f"x{j}"
                self.say(f"x{j} = take({values[i]}, {self.name(runner.new[j])})")
        taken = {runner.donated[j]: x for j, x in results.items()}
        ins = [
            f"{taken[i]}._address" if i in taken else self.address(values[i], examples[i], runner.in_avals[i])
            for i in runner.inputs
        ]
        wrapping, forwarded = [], runner.forwarded
        outs = []
        for j, aval in enumerate(runner.new):
            if j in results:
                outs.append(f"x{j}._address")
            elif j in forwarded:
                outs.append("0")
            elif j in runner.donated:  # a donated scalar or NumPy array: its memory is not ours to give
                return self.generally(values, len(runner.outs))
            else:
                outs.append(f"w{j}")
                results[j] = f"x{j}"
                size = small_size(aval)
                if size is None:
                    self.say(f"m{j} = empty({self.name(aval.shape)}, {self.name(aval.dtype)}); w{j} = array_address(m{j})")
                    owner = f"x{j}._memory = None; x{j}._view = m{j}"
                else:
                    self.say(f"m{j} = new_bytes({size}); w{j} = id(m{j}) + {BYTES_OFFSET}")
                    owner = f"x{j}._memory = m{j}; x{j}._view = None"
                wrapping.append(f"x{j} = new(Array); x{j}.aval = {self.name(aval)}; x{j}._address = w{j}; {owner}")
        self.names["pack"] = struct.Struct(f"{len(ins) + len(outs)}q").pack
        self.say(f"error = launch(pack({', '.join(ins + outs)}))")
        self.say("if error is not None: fail(error)")
        self.lines += wrapping
        named = []
        for k, o in enumerate(runner.outs):
            if o.kind == "new":
                named.append(results[o.number])
            elif o.kind == "constant":
                named.append(self.name(o.constant))
            else:
                named.append(f"y{k}")
                x, aval = values[o.number], self.name(runner.in_avals[o.number])
                array = x if examples[o.number].__class__ is Array else f"as_array({x}, {aval})"
                if o.kind == "argument" and o.number not in runner.dropped:
                    self.say(f"y{k} = {array}")
                else:
                    self.say(f"y{k} = alias({array}, {self.name(o.aval)})")
        for i in runner.dropped:
            if i not in taken:
                self.say(f"drop({values[i]})")
        return named

    def generally(self, values: list[str], count: int) -> list[str]:
        """Lines that leave the values to the runner."""
        self.say(f"xs = run(({''.join(v + ', ' for v in values)}))")
        return [f"xs[{i}]" for i in range(count)]

    def address(self, name: str, x: Any, aval: ShapedArray) -> str:
        """An expression for the address of a value that is like `x`."""
        t = x.__class__
        if t is Array:
            return f"({name}._address or address({name}))"
        if t is np.ndarray:
            self.say(f"s{name} = ready({name}, {self.name(aval.dtype)})")
            return f"array_address(s{name})"
        if t in _PYTHON_SCALARS:
            pack = self.name(struct.Struct(_FORMATS[aval.dtype]).pack)
            parts = f"{name}.real, {name}.imag" if t is complex else name
            self.say("try:")
            self.say(f"    s{name} = {pack}({parts})")
            self.say(f"except (OverflowError, StructError): {self.refuse}")
        else:
            self.say(f"s{name} = {name}.tobytes()")
        return f"id(s{name}) + {BYTES_OFFSET}"

    def finish(self, **names: Any) -> Any:
        source = "\n".join(["def call(*args, **kw):", "    try:", *["        " + line for line in self.lines], _TAIL])
        space: dict[str, Any] = {**_NAMES, "floor": interpreter.floor(), **self.names, **names}
        exec(_code(source), space)
        made = space.pop("call")
        made.source = source
        return made


def _ready(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A NumPy array as kernels read it; itself where it is that already."""
    return np.require(x, dtype, ["C", "A"])


_FORMATS = {
    np.dtype(np.bool_): "?",
    np.dtype(np.int64): "q",
    np.dtype(np.float16): "e",
    np.dtype(np.float32): "f",
    np.dtype(np.float64): "d",
    np.dtype(np.complex64): "2f",
    np.dtype(np.complex128): "2d",
}
_NAMES: dict[str, Any] = {
    "Array": Array,
    "OrderedDict": OrderedDict,
    "StructError": struct.error,
    "address": address,
    "alias": alias,
    "array_address": array_address,
    "as_array": as_array,
    "config": config,
    "distinct": distinct,
    "drop": drop,
    "empty": empty,
    "ndarray": np.ndarray,
    "new": object.__new__,
    "new_bytes": bytes,
    "new_tuple": tuple.__new__,
    "ready": _ready,
    "same": same_static,
    "shorten": filter_traceback,
    "state": interpreter.state,
    "static_key": static_key,
    "take": take,
}
_TAIL = """    except Exception as error:
        shorten(error)
        raise"""
