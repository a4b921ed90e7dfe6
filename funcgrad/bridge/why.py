"""Why a function was traced again: which argument and which property differ from the nearest earlier call."""

import itertools
from typing import Any, NamedTuple

from funcgrad.bridge.arguments import Roles, static_value
from funcgrad.bridge.family import Family, Key
from funcgrad.core.config import OPTIONS
from funcgrad.core.pytree import keystr

_LOOKED_AT = 16  # traces that a new key is compared with


class CacheInfo(NamedTuple):
    """hits: calls that found their program. traces: times that the function was traced; retraces: all but the first.
    compiles: kernels that had to be compiled for it. size: programs kept. reasons: for each retrace, what had changed."""

    hits: int
    traces: int
    retraces: int
    compiles: int
    size: int
    reasons: tuple[str, ...]

    @property
    def why(self) -> str:
        """The reason of the last retrace."""
        return self.reasons[-1] if self.reasons else "traced once" if self.traces else "not called yet"

    def __str__(self) -> str:
        head = f"{self.hits} hits, {self.traces} traces, {self.compiles} kernels compiled, {self.size} programs kept"
        return "\n".join([head, *(f"  retraced: {reason}" for reason in self.reasons)])


def cache_info(family: Family) -> CacheInfo:
    with family.lock:
        calls = family.lost_calls + sum(s.calls for s in family.traces.values())
        traced = family.traced
        return CacheInfo(
            max(calls - traced, 0), traced, max(traced - 1, 0), family.compiled, len(family.traces), tuple(family.reasons)
        )


def leaf_names(key: Key, roles: Roles) -> list[str]:
    """What to call each leaf: `params['w']`, `x`."""
    names = []
    for path in key.tree.key_paths():
        names.append(leaf_name(path, key, roles))
    return names


def leaf_name(path: Any, key: Key, roles: Roles) -> str:
    """What to call the leaf at `path` in (args, kwargs)."""
    kind, which, *rest = path
    head = roles.label(which.idx, key.statics) if kind.idx == 0 else str(which.key)
    return head + keystr(rest)


def reason(new: Key, family: Family, roles: Roles) -> str:
    """What differs between `new` and the most similar of the latest traces."""
    latest = itertools.islice(reversed(family.traces.values()), _LOOKED_AT)
    nearest = max(latest, key=lambda staged: _likeness(new, staged.key), default=None)
    if nearest is None:
        return "its earlier traces are no longer kept"
    old = nearest.key
    parts = []
    if new.statics != old.statics:
        before = dict(old.statics)
        for where, value in new.statics:
            if where not in before or before[where] != value:
                name = where if isinstance(where, str) else roles.names[where] if where < len(roles.names) else f"args[{where}]"
                parts.append(f"static {name}: {_static(before.get(where))} -> {_static(value)}")
        if len(before) > len(new.statics):
            parts.append("a static argument was left to its default")
    if new.config != old.config:
        traced = [option.name for option in OPTIONS.values() if option.traced]
        parts += [f"config.{n}: {a!r} -> {b!r}" for n, a, b in zip(traced, old.config, new.config, strict=True) if a != b]
    if new.axes != old.axes:
        parts.append(f"named axes: {dict(old.axes)} -> {dict(new.axes)}")
    if new.tree != old.tree:
        parts.append(f"structure of the arguments: {_tree(old)} -> {_tree(new)}")
    elif new.avals != old.avals:
        changes = []
        for name, a, b in zip(leaf_names(new, roles), old.avals, new.avals, strict=True):
            if a != b:
                what = [p for p in ("shape", "dtype", "weak_type") if getattr(a, p) != getattr(b, p)]
                changes.append(f"{name}: {_aval(a)} -> {_aval(b)} ({', '.join(what)})")
        more = f" and {len(changes) - 4} more" if len(changes) > 4 else ""
        parts.append("; ".join(changes[:4]) + more)
    return "; ".join(parts)


def _likeness(a: Key, b: Key) -> tuple:
    same = a.tree == b.tree
    return (a.statics == b.statics, a.config == b.config, a.axes == b.axes, same, sum(map(_is, a.avals, b.avals)) if same else 0)


def _is(a: Any, b: Any) -> bool:
    return a == b


def _static(key: Any) -> str:
    return "missing" if key is None else repr(static_value(key))


def _tree(key: Key) -> str:
    text = str(key.tree)
    return text if len(text) <= 160 else text[:157] + "..."


def _aval(aval: Any) -> str:
    return aval.str_short() + (" weak" if aval.weak_type else "")
