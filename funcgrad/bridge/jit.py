"""`Jitted`: a function that is traced once for each kind of arguments, and from then on runs its program.

In: a user's call. Out: the result of the program, or, while something else traces, an equation that calls it.

A Jitted is a functools.partial without arguments: calling one costs no Python frame, and which function it calls can be
exchanged. At first that is `Dispatcher.call`, which flattens, looks up and traces; when a kind of arguments comes again, it is a
function generated for that kind (`fastcall`), which falls back to `Dispatcher.call` for any other.
"""

import functools
import logging
import os
import threading
import time
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.bridge import family
from funcgrad.bridge.arguments import Roles, name_of, static_value, statics_key
from funcgrad.bridge.array import Array, from_numpy
from funcgrad.bridge.counts import counts
from funcgrad.bridge.family import Anchor, Family, Key, Staged, family_of
from funcgrad.bridge.fastcall import MISS, attempt, make_call
from funcgrad.bridge.flat import python_scalar
from funcgrad.bridge.nans import find_nan, has_nan
from funcgrad.bridge.runner import Runner, as_array, runner_of
from funcgrad.bridge.travel import reduced
from funcgrad.bridge.why import CacheInfo, cache_info, leaf_name, reason
from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray, literal_aval, shaped
from funcgrad.core.config import config
from funcgrad.core.errors import DtypeError, message
from funcgrad.core.pytree import keystr, tree_flatten, tree_flatten_with_path
from funcgrad.core.source import SCOPE
from funcgrad.core.tracebacks import filter_traceback
from funcgrad.ir.check import check
from funcgrad.ir.evaluate import evaluate
from funcgrad.ir.jaxpr import closed_over
from funcgrad.trace.interpreter import Tracer, bind, check_live, current, floor
from funcgrad.trace.stage import stage
from funcgrad.trace.value import Value
from funcgrad.transforms.call import jit as call_operator

log = logging.getLogger("funcgrad")
_PYTHON_SCALARS = frozenset({bool, int, float, complex})
_REASONS = 64
_FAST = 32  # kinds of calls that one function has generated code for
_RECENT = 4  # of them, tried before a call is flattened and looked up
_all: "weakref.WeakSet[Dispatcher]" = weakref.WeakSet()


class Options:
    """How a function is jitted: the roles of its arguments, and flags."""

    __slots__ = ("roles", "inline", "keep_unused", "given", "dispatcher", "max_paths")

    def __init__(
        self,
        roles: Roles,
        inline: bool,
        keep_unused: bool,
        given: dict[str, Any],
        dispatcher: "type[Dispatcher] | None" = None,
        max_paths: int = 0,
    ):
        self.roles, self.inline, self.keep_unused = roles, inline, keep_unused
        self.given = given  # jit's keywords as the user wrote them, for pickling
        self.dispatcher, self.max_paths = dispatcher, max_paths  # where it is not one program for each kind of arguments

    @property
    def key(self) -> tuple:
        return (self.roles.key, self.inline, self.keep_unused, self.dispatcher, self.max_paths)


class Jitted(functools.partial):
    """A jitted function. Call it like the function that it wraps."""

    fun: Callable[..., Any]
    _dispatcher: "Dispatcher"

    def __new__(cls, fun: Callable[..., Any], options: Options) -> "Jitted":
        self = super().__new__(cls, _unready)
        dispatcher = (options.dispatcher or Dispatcher)(fun, options, weakref.ref(self))
        functools.update_wrapper(self, fun, updated=())
        self.__dict__["__wrapped__"] = fun
        self.__dict__["_dispatcher"] = dispatcher
        install(self, dispatcher.entry())
        return self

    @property
    def options_key(self) -> tuple:
        """What of jit's keywords decides how the function is traced."""
        return self._dispatcher.options.key

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def cache_info(self) -> CacheInfo:
        """Hits, traces, compiles, and why it was traced again. Functions that compute the same share their traces."""
        return cache_info(self._dispatcher.family())

    def clear_cache(self) -> None:
        """Forget the traces of this function."""
        self._dispatcher.clear()

    def __repr__(self) -> str:
        return f"<jitted {name_of(self.__wrapped__)}>"  # type: ignore[attr-defined]

    def __copy__(self) -> "Jitted":
        return self

    def __deepcopy__(self, memo: Any) -> "Jitted":
        return self

    def __reduce__(self) -> Any:
        return reduced(self, self.__wrapped__, _rebuild, self._dispatcher.options)  # type: ignore[attr-defined]


def _unready(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("a jitted function was called before it was made")


def _rebuild(fun: Callable[..., Any], options: Options) -> Jitted:
    return Jitted(fun, options)


def install(jitted: Jitted, function: Callable[..., Any]) -> None:
    """From now on `jitted(...)` is `function(...)`."""
    functools.partial.__setstate__(jitted, (function, (), {}, jitted.__dict__))  # type: ignore[attr-defined]


_MASKED = np.ma.MaskedArray


class Dispatcher:
    """The slow road of a jitted function: any arguments, any interpreter."""

    __slots__ = ("fun", "options", "name", "_jitted", "_family", "_arrays", "_fast", "_recent", "__weakref__")

    def __init__(self, fun: Callable[..., Any], options: Options, jitted: Any):
        self.fun, self.options, self._jitted = fun, options, jitted
        self.name = name_of(fun)
        self._family: Family | None = None
        self._arrays: list[Array] = []
        self._fast: dict[Any, tuple[Callable[..., Any], Callable[..., Any]]] = {}
        # Many functions are called with a few kinds of arguments in turn: the last ones are tried one by one.
        self._recent: tuple[Callable[..., Any], ...] = ()
        _all.add(self)

    def entry(self) -> Callable[..., Any]:
        """`call` as a function of the user's arguments."""
        call = self.call

        def call_jitted(*args: Any, **kwargs: Any) -> Any:
            try:
                return call(args, kwargs)
            except Exception as error:
                filter_traceback(error)
                raise

        return call_jitted

    def family(self) -> Family:
        """The traces of this function. Looked up on the first call, when everything that the function reads is defined."""
        family = self._family
        if family is None:
            family, self._arrays = family_of(self.fun, self.options.key)
            self._family = family
        return family

    def clear(self) -> None:
        family = self.family()
        with family.lock:
            family.traces.clear()
            family.traced = family.compiled = family.lost_calls = 0
            family.reasons.clear()
        self.reset()

    def reset(self) -> None:
        """Forget the generated calls, and look the family up again at the next call."""
        self._fast.clear()
        self._recent = ()
        self._family = None
        jitted = self._jitted()
        if jitted is not None:
            install(jitted, self.entry())

    def call(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The function's value for these arguments."""
        for attempt_kind in self._recent:
            out = attempt_kind(*args, **kwargs)
            if out is not MISS:
                return out
        if config.disable_jit:
            return self.fun(*args, **kwargs)
        leaves, key = self.key(args, kwargs)
        staged = self.staged(key)
        consts = self.consts(staged)
        if current() is floor():
            for x in leaves:
                if isinstance(x, Tracer):
                    check_live(x)
            outs = self.run(staged, key, consts, leaves, len(args))
        else:
            outs = self.trace_call(staged, consts, leaves)
        return staged.out_tree.unflatten(outs)

    def prepare(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Staged, list[Any], list[Any]]:
        """The trace that these arguments need, its constants, and the leaves; nothing is run."""
        leaves, key = self.key(args, kwargs)
        staged = self.staged(key)
        return staged, self.consts(staged), leaves

    def consts(self, staged: Staged) -> list[Any]:
        """The values of a trace's constants, for this function."""
        return [self._arrays[c] if c.__class__ is Anchor else c for c in staged.consts]

    def key(self, args: tuple, kwargs: dict[str, Any]) -> tuple[list[Any], Key]:
        """The leaves of the traced arguments, and the key of the trace that they need."""
        roles = self.options.roles
        traced, named, statics = roles.split(args, kwargs)
        leaves, tree = tree_flatten((traced, named))
        avals = []
        for x in leaves:
            if isinstance(x, Value):
                avals.append(x.aval)
            elif x.__class__ in _PYTHON_SCALARS:
                avals.append(literal_aval(x))
            elif isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind not in "OSUMm" and not isinstance(x, _MASKED):
                avals.append(shaped(x.shape, dt.canonical(x.dtype)))
            else:
                avals.append(self.unusual_leaf(x, traced, named, statics))
        if not statics:
            return leaves, Key(tree, tuple(avals), (), config.trace_key, current().axes)
        label = lambda where: (
            where if isinstance(where, str) else roles.names[where] if where < len(roles.names) else f"args[{where}]"
        )
        return leaves, Key(tree, tuple(avals), statics_key(statics, label), config.trace_key, current().axes)

    def unusual_leaf(self, x: Any, traced: tuple, named: dict[str, Any], statics: tuple) -> ShapedArray:
        """The aval of a subclass of a Python scalar; an error that names the place of anything else."""
        scalar = python_scalar(x)
        if scalar is not None:
            return literal_aval(scalar)
        roles = self.options.roles
        leaves, tree = tree_flatten_with_path((traced, named))
        path = next(path for path, leaf in leaves if leaf is x)
        place = leaf_name(path, Key(tree, (), statics, ()), roles)
        if isinstance(x, _MASKED):
            raise TypeError(
                message(
                    f"jit: {self.name} got a masked array for the argument {place}",
                    "arrays without a mask",
                    f"fnp.where({place}.mask, fill, {place}.data), or {place}.filled(value)",
                )
            )
        what = f"a value of dtype {x.dtype}" if isinstance(x, (np.ndarray, np.generic)) else f"{type(x).__name__} {_short(x)}"
        convertible = not isinstance(x, np.ndarray) and (hasattr(x, "__array__") or hasattr(x, "__dlpack__"))
        static = f"jit({self.name}, static_argnames={place.split('[')[0].split('.')[0]!r}) if it is hashable and has few values"
        raise DtypeError(
            message(
                f"jit: {self.name} got {what} for the argument {place}",
                "arrays, NumPy arrays, Python numbers and trees of them, unless an argument is static",
                f"fnp.asarray({place}) before the call" if convertible else f"{static}, or register its type as a pytree",
            )
        )

    def staged(self, key: Key) -> Staged:
        """The trace for `key`, made now if there is none. One thread traces, the others wait."""
        family = self.family()
        staged = family.find(key)
        if staged is None:
            with family.lock:
                staged = family.find(key)
                if staged is None:
                    staged = self.trace(family, key)
        staged.tick_slow()
        return staged

    def trace(self, family: Family, key: Key) -> Staged:
        """Run the function on abstract values."""
        start = time.perf_counter()
        roles, out_tree = self.options.roles, None
        statics = tuple([(where, value) for where, value in self.statics_of(key)])

        def flat(*leaves: Any) -> list[Any]:
            nonlocal out_tree
            traced, named = key.tree.unflatten(leaves)
            args, kwargs = roles.join(traced, named, statics)
            out = self.fun(*args, **kwargs)
            outs, out_tree = tree_flatten(out)
            return [x if isinstance(x, Value) else self.output(x, out) for x in outs]

        # What a backward pass traces, other passes may call.
        outside, SCOPE.backward = SCOPE.backward, False
        try:
            jaxpr, consts = stage(flat, key.avals)
        finally:
            SCOPE.backward = outside
        assert out_tree is not None
        jaxpr = closed_over(jaxpr)
        if config.check_ir:
            check(jaxpr)
        counts.add("traces")
        if family.traced:
            family.reasons.append(reason(key, family, roles))
            del family.reasons[:-_REASONS]
        family.traced += 1
        if config.log_compiles:
            log.warning(
                "traced %s in %.1f ms: %s", self.name, 1e3 * (time.perf_counter() - start), ", ".join(map(str, key.avals))
            )
        numbers = {id(x): Anchor(i) for i, x in enumerate(self._arrays)}
        kept = [numbers.get(id(c), c) for c in consts]
        staged = Staged(key, jaxpr, kept, out_tree, self.name, self.donated(key))
        if any(isinstance(c, Tracer) for c in consts):
            return staged  # it closes over values of a trace that will end: good for this call only
        return family.add(staged)

    def statics_of(self, key: Key) -> tuple:
        """The static arguments' values, out of their key."""
        return tuple([(where, static_value(k)) for where, k in key.statics])

    def donated(self, key: Key) -> tuple[int, ...]:
        """The numbers of the leaves of donated arguments."""
        roles = self.options.roles
        if not roles.donate_nums and not roles.donate_names:
            return ()
        positional, named = key.tree.child_defs
        numbers, names = roles.donated(len(positional.child_defs), self.statics_of(key))
        found, leaf = [], 0
        parts = [*enumerate(positional.child_defs), *zip(named.aux, named.child_defs, strict=True)]
        for where, child in parts:
            if where in numbers or where in names:
                found += range(leaf, leaf + child.num_leaves)
            leaf += child.num_leaves
        return tuple(found)

    def output(self, x: Any, out: Any) -> Any:
        """A leaf of the function's result as a value."""
        if x.__class__ in _PYTHON_SCALARS or isinstance(x, np.generic):
            return x
        if isinstance(x, np.ndarray):
            return from_numpy(x)
        scalar = python_scalar(x)
        if scalar is not None:
            return scalar
        path = next(path for path, leaf in tree_flatten_with_path(out)[0] if leaf is x)
        at = f" at {keystr(path)}" if path else ""
        raise DtypeError(
            message(
                f"jit: {self.name} returned {type(x).__name__} {_short(x)}{at}",
                "arrays, numbers, None, and trees of them",
                "return it from outside the jitted function",
            )
        )

    def runner(self, staged: Staged) -> Runner:
        """The program of a trace; compiled by the first thread that asks."""
        runner = staged.runner
        if runner is None:
            family = self.family()
            with family.lock:
                runner = staged.runner
                if runner is None:
                    start = time.perf_counter()
                    consts = len(staged.consts)
                    runner = staged.runner = runner_of(staged.jaxpr, tuple([consts + i for i in staged.donated]))
                    family.compiled += runner.compiled
                    if config.log_compiles:
                        ms = 1e3 * (time.perf_counter() - start)
                        log.warning("compiled %s in %.1f ms, %d new kernels", self.name, ms, runner.compiled)
        return runner

    def run(self, staged: Staged, key: Key, consts: list[Any], leaves: Sequence[Any], positions: int) -> list[Any]:
        """Run the program on concrete values; when it is not the first time, make this kind of call fast."""
        runner = self.runner(staged)
        checked = config.debug_nans
        if staged.calls > 1 and not checked:
            self.accelerate(staged, key, runner, consts, leaves, positions)
        outs = runner([*consts, *leaves])
        if checked and any(map(has_nan, outs)):
            find_nan(staged.jaxpr, [*consts, *[as_array(x, a) for x, a in zip(leaves, key.avals, strict=True)]])
        return outs

    def accelerate(
        self, staged: Staged, key: Key, runner: Runner, consts: list[Any], leaves: Sequence[Any], positions: int
    ) -> None:
        """Let the user's next call go to code generated for calls like this one."""
        jitted = self._jitted()
        if jitted is None:
            return
        # Avals that were pushed out of their table are equal to new ones but not the same: they need new code.
        kind = (staged, positions, tuple([x.__class__ for x in leaves]), tuple(map(id, key.avals)))
        made = self._fast.get(kind)
        if made is None:
            function = make_call(staged, key, runner, consts, leaves, positions, self.call)
            if function is None:
                return
            made = function, attempt(function)
            if len(self._fast) >= _FAST:
                self._fast.clear()
            self._fast[kind] = made
        function, tried = made
        self._recent = (tried, *[f for f in self._recent if f is not tried][: _RECENT - 1])
        install(jitted, function)

    def trace_call(self, staged: Staged, consts: list[Any], leaves: Sequence[Any]) -> list[Any]:
        """The call as an equation of whatever is being traced."""
        values = consts + [
            x if isinstance(x, Value) or x.__class__ in _PYTHON_SCALARS else as_array(x, a)
            for x, a in zip(leaves, staged.key.avals, strict=True)
        ]
        if self.options.inline:
            return evaluate(lambda prim, args, params: bind(prim, *args, **params), staged.jaxpr, (), values)
        return bind(call_operator, *values, jaxpr=staged.jaxpr, name=self.name)


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 40 else text[:37] + "..."


def _after_fork() -> None:
    """Another thread of the parent may have held a lock; in the child nobody gives it back."""
    family.reset_locks()
    counts.reset_lock()
    for dispatcher in list(_all):
        if dispatcher._family is not None:
            dispatcher._family.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def clear_caches() -> None:
    """Forget the traces and programs of all jitted functions."""
    family.clear()
    for dispatcher in list(_all):
        dispatcher.reset()
