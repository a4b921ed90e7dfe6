"""What jit's keywords say of a function's arguments: which are static, which give their memory away.

In: the function and `static_argnums`, `static_argnames`, `donate_argnums`, `donate_argnames` as the user wrote them.
Out: `Roles`, which splits the arguments of a call into the traced ones and a hashable record of the static ones.
"""

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from funcgrad.core.errors import UsageError, message

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Roles:
    """Static and donated arguments, by number and by name. Equal roles are equal keys."""

    __slots__ = ("static_nums", "static_names", "donate_nums", "donate_names", "names", "variadic")

    def __init__(
        self,
        static_nums: tuple[int, ...],
        static_names: frozenset[str],
        donate_nums: tuple[int, ...],
        donate_names: frozenset[str],
        names: tuple[str, ...],
        variadic: bool,
    ):
        self.static_nums, self.static_names = static_nums, static_names
        self.donate_nums, self.donate_names = donate_nums, donate_names
        self.names, self.variadic = names, variadic  # of the positional parameters; whether there may be more

    @property
    def key(self) -> tuple:
        """What of the roles decides how a function is traced and run."""
        return (self.static_nums, self.static_names, self.donate_nums, self.donate_names)

    def static_positions(self, count: int) -> tuple[int, ...]:
        """The static ones among `count` positional arguments. Defaults may leave some of them out."""
        return _positions(self.static_nums, count)

    def split(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any], tuple]:
        """(traced positional arguments, traced keyword arguments, statics as ((number or name, value), ...))."""
        if not self.static_nums and not self.static_names:
            return args, kwargs, ()
        where = self.static_positions(len(args))
        statics: list[tuple[Any, Any]] = [(i, args[i]) for i in where]
        traced = tuple([x for i, x in enumerate(args) if i not in where]) if where else args
        if kwargs and self.static_names:
            named = sorted(self.static_names & kwargs.keys())
            if named:
                statics += [(name, kwargs[name]) for name in named]
                kwargs = {name: x for name, x in kwargs.items() if name not in self.static_names}
        return traced, kwargs, tuple(statics)

    def join(self, traced: Iterable[Any], kwargs: dict[str, Any], statics: tuple) -> tuple[list[Any], dict[str, Any]]:
        """The inverse of `split`."""
        args = list(traced)
        for where, value in statics:  # numbers come first and ascend
            if isinstance(where, int):
                args.insert(where, value)
            else:
                kwargs = {**kwargs, where: value}
        return args, kwargs

    def donated(self, count: int, statics: tuple) -> tuple[set[int], frozenset[str]]:
        """The donated arguments of a call with `count` positional arguments, numbered as the traced ones are; and the names."""
        static = [w for w, _ in statics if isinstance(w, int)]
        given = _positions(self.donate_nums, count)
        return {i - sum(s < i for s in static) for i in given if i not in static}, self.donate_names

    def label(self, i: int, statics: tuple = ()) -> str:
        """How to speak of traced positional argument `i`: its parameter's name, or its number."""
        for where, _ in statics:
            if isinstance(where, int) and where <= i:
                i += 1
        return self.names[i] if i < len(self.names) else f"args[{i}]"


def _positions(numbers: tuple[int, ...], count: int) -> tuple[int, ...]:
    if not numbers:
        return ()
    return tuple(sorted({n + count if n < 0 else n for n in numbers if -count <= n < count}))


_PLAIN = frozenset({int, bool, str, bytes, type(None)})


def static_key(value: Any) -> Any:
    """A hashable that is equal only for values of one type, inside too: 1, 1.0 and True are different programs, so are 0.0
    and -0.0. A value's own `==` decides where it says more."""
    kind = value.__class__
    if kind in _PLAIN:
        return (kind, value)
    if kind is tuple:
        return (tuple, *map(static_key, value))
    if kind is float:
        return (float, value.hex())  # one NaN equals the next
    if kind is complex:
        return (complex, value.real.hex(), value.imag.hex())
    inside = _inside(value)
    return (kind, value) if inside is None else (kind, value, inside)


def _inside(value: Any) -> Any:
    """What `==` does not tell apart in a container or a NumPy scalar; None of other values."""
    found: Any = None
    if isinstance(value, np.generic):
        found = (value.dtype, value.tobytes())
    elif isinstance(value, tuple):
        found = tuple(map(static_key, value))
    elif isinstance(value, frozenset):
        found = frozenset(map(static_key, value))
    else:
        params = getattr(value, "__dataclass_params__", None)
        if params is not None and params.frozen and params.eq:
            found = tuple([static_key(getattr(value, f.name)) for f in dataclasses.fields(value) if f.compare])
    try:
        hash(found)
    except TypeError:
        return None  # its own hash may leave out what cannot be hashed
    return found


def static_value(key: Any) -> Any:
    """The value of a `static_key`."""
    kind, *rest = key
    if kind is tuple:
        return tuple(map(static_value, rest))
    if kind is complex:
        return complex(*map(float.fromhex, rest))
    return float.fromhex(rest[0]) if kind is float else rest[0]


def statics_key(statics: tuple, label: Callable[[Any], str]) -> tuple:
    """The static arguments as a key; an error names the one that cannot be hashed."""
    key = tuple([(where, static_key(value)) for where, value in statics])
    try:
        hash(key)
    except TypeError:
        for where, value in statics:
            try:
                hash(value)
            except TypeError:
                raise UsageError(
                    message(
                        f"jit: the static argument {label(where)} is a {type(value).__name__}, which cannot be hashed",
                        "static arguments that are hashable and compare with ==, because each value has its own program",
                        "a tuple for a list, a frozen dataclass for a dict; or do not make an array or a tree of arrays static",
                    )
                ) from None
        raise
    return key


def resolve(fun: Any, static_argnums: Any, static_argnames: Any, donate_argnums: Any, donate_argnames: Any) -> Roles:
    """The roles of `fun`'s arguments. Numbers and names are inferred from each other where only one is given."""
    signature = signature_of(fun)
    static = _Group(fun, "static", static_argnums, static_argnames, signature)
    donate = _Group(fun, "donate", donate_argnums, donate_argnames, signature)
    both = set(static.nums) & set(donate.nums) or static.names & donate.names
    if both:
        raise UsageError(
            message(
                f"jit: the argument {sorted(both, key=str)[0]} of {name_of(fun)} is both static and donated",
                "static arguments hold no memory that could be donated",
                "take it out of donate_argnums / donate_argnames",
            )
        )
    parameters = [] if signature is None else list(signature.parameters.values())
    names = tuple(p.name for p in parameters if p.kind in _POSITIONAL)
    variadic = signature is None or any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return Roles(static.nums, static.names, donate.nums, donate.names, names, variadic)


def signature_of(fun: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):
        return None


def name_of(fun: Any) -> str:
    """How to speak of a function."""
    name = getattr(fun, "__name__", None)
    if name is None and hasattr(fun, "func"):
        return name_of(fun.func)
    return name or type(fun).__name__


class _Group:
    """One role: its arguments by number and by name, checked against the signature."""

    def __init__(self, fun: Any, role: str, nums: Any, names: Any, signature: inspect.Signature | None):
        given_nums = None if nums is None else _numbers(f"{role}_argnums", nums)
        given_names = None if names is None else _names(f"{role}_argnames", names)
        self.nums, self.names = given_nums or (), given_names or frozenset()
        if signature is None or (given_nums is None and given_names is None):
            return
        parameters = list(signature.parameters.values())
        positional = [p for p in parameters if p.kind in _POSITIONAL]
        count = len(positional)
        if not any(p.kind is p.VAR_POSITIONAL for p in parameters):
            for n in self.nums:
                if not -count <= n < count:
                    raise UsageError(
                        message(
                            f"jit: got {role}_argnums={nums!r} for {name_of(fun)}{signature}",
                            f"numbers from 0 to {count - 1}, or from the end -1 to {-count}"
                            if count
                            else "it takes no positional argument",
                            f"mend {role}_argnums, or name the argument with {role}_argnames",
                        )
                    )
            self.nums = tuple(sorted({n % count for n in self.nums}))
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            unknown = self.names - {p.name for p in parameters}
            if unknown:
                raise UsageError(
                    message(
                        f"jit: got {role}_argnames={names!r} for {name_of(fun)}{signature}, which has no {sorted(unknown)[0]!r}",
                        ", ".join(p.name for p in parameters) or "it takes no argument",
                        f"mend {role}_argnames",
                    )
                )
        by_position = {p.name: i for i, p in enumerate(positional)}
        if given_names is None:
            self.names = frozenset(
                positional[n].name
                for n in self.nums
                if 0 <= n < count and positional[n].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
            )
        elif given_nums is None:
            self.nums = tuple(sorted(by_position[name] for name in self.names if name in by_position))


def _numbers(keyword: str, nums: Any) -> tuple[int, ...]:
    found = tuple(nums) if isinstance(nums, (tuple, list, set, frozenset, range)) else (nums,)
    for n in found:
        if isinstance(n, (bool, np.ndarray)) or hasattr(n, "aval") or not hasattr(type(n), "__index__"):
            raise UsageError(message(f"jit: got {keyword}={nums!r}", "an int, or a sequence of ints", f"{keyword}=0"))
    return tuple(int(n) for n in found)


def _names(keyword: str, names: Any) -> frozenset[str]:
    found = tuple(names) if isinstance(names, (tuple, list, set, frozenset)) else (names,)
    for name in found:
        if not isinstance(name, str):
            raise UsageError(message(f"jit: got {keyword}={names!r}", "a name, or a sequence of names", f"{keyword}='n'"))
    return frozenset(found)
