"""Draft: the scalar code of a group, pass by pass, before its axes are put in order.

In: a `Group`. Out: `Draft`s, one for each kernel launch: a tape of instructions over the group's space,
operands as (node, offset, strides over that space), and passes whose stores and reductions name
instructions by number. Equal instructions are one instruction.
"""

from typing import Any, NamedTuple

import numpy as np

from funcgrad.loops.fuse import CHEAP, Group, pull
from funcgrad.loops.graph import Node, Number, Random, Ref
from funcgrad.loops.templates import Template, storage_dtype
from funcgrad.loops.views import Shape, Strides

INT64 = np.dtype(np.int64)
ROW_BYTES = 64 * 1024  # of a value that is kept for a later pass over the same row


class Slot:
    """An operand of a draft: elements of `node` at offset + strides . position; `node` is None for scratch.
    `indirect` holds a (stride, size) pair for each data-dependent axis."""

    __slots__ = ("node", "offset", "strides", "dtype", "role", "indirect")

    def __init__(self, node: Node | None, offset: int, strides: Strides, dtype: np.dtype, role: str, indirect: tuple = ()):
        self.node, self.offset, self.strides, self.dtype = node, offset, strides, dtype
        self.role, self.indirect = role, indirect


class DraftStore(NamedTuple):
    slot: int
    value: int
    indices: tuple[int, ...] = ()
    combine: str | None = None
    guard: int | None = None


class DraftReduction(NamedTuple):
    number: int
    op: str
    value: int
    dtype: np.dtype
    index_value: int | None = None
    running: bool = False


class DraftCarry(NamedTuple):
    number: int
    start: int
    next: int
    dtype: np.dtype


class DraftPass(NamedTuple):
    level: str
    stores: list[DraftStore]
    reductions: list[DraftReduction]
    carries: tuple[DraftCarry, ...] = ()
    test: int | None = None

    def roots(self) -> list[int]:
        """The instructions that it needs, those of carries first."""
        found = [k for c in self.carries for k in (c.start, c.next)]
        if self.test is not None:
            found.append(self.test)
        for s in self.stores:
            found += [s.value, *s.indices] if s.guard is None else [s.value, *s.indices, s.guard]
        for r in self.reductions:
            found += [r.value] if r.index_value is None else [r.value, r.index_value]
        return found


class Draft:
    """One launch. `tape[k]` is (op, dtype, argument numbers, attr); the attr of a load is a number in `slots`, of a param
    one in `numbers`, of an index one in `affine` (a value offset + strides . position)."""

    __slots__ = (
        "space", "reduced", "tape", "table", "slots", "slot_of", "numbers", "number_of", "affine", "passes",
        "messages", "sequential", "optional", "ordered",
        "ordered",
    )  # fmt: skip

    def __init__(self, space: Shape, reduced: tuple[int, ...] | None):
        self.space, self.reduced = space, reduced
        self.tape: list[tuple[str, np.dtype, tuple[int, ...], Any]] = []
        self.table: dict[Any, int] = {}
        self.slots: list[Slot] = []
        self.slot_of: dict[Any, int] = {}
        self.numbers: list[Number] = []
        self.number_of: dict[Any, int] = {}
        self.affine: list[tuple[int, Strides]] = []
        self.passes: list[DraftPass] = []
        self.messages: list[str] = []
        self.sequential = False
        self.ordered = False  # its axes are in the order in which they shall be walked
        self.optional = False  # a copy that falls away when the plan can work in place

    def carried(self) -> bool:
        """Whether values are handed from step to step."""
        return any([bool(p.carries) or p.level == "while" for p in self.passes])

    def add(self, op: str, dtype: np.dtype, args: tuple[int, ...] = (), attr: Any = None) -> int:
        key = (op, dtype, args, attr)
        k = self.table.get(key)
        if k is None:
            k = self.table[key] = len(self.tape)
            self.tape.append(key)
        return k

    def load(self, node: Node, offset: int, strides: Strides) -> int:
        key = (node.id, offset, strides)
        k = self.slot_of.get(key)
        dtype = storage_dtype(node.dtype)
        if k is None:
            k = self.slot_of[key] = len(self.slots)
            self.slots.append(Slot(node, offset, strides, dtype, "in"))
        return self.add("load", dtype, (), k)

    def random(self, arg: Random, indices: tuple[int, ...]) -> int:
        key = (arg.node.id, arg.offset, arg.strides, arg.shape)
        k = self.slot_of.get(key)
        dtype = storage_dtype(arg.node.dtype)
        if k is None:
            k = self.slot_of[key] = len(self.slots)
            indirect = tuple(zip(arg.strides, arg.shape, strict=True))
            self.slots.append(Slot(arg.node, arg.offset, (0,) * len(self.space), dtype, "in", indirect))
        return self.add("load", dtype, indices, k)

    def out(self, node: Node, offset: int, strides: Strides, indirect: tuple = ()) -> int:
        self.slots.append(Slot(node, offset, strides, storage_dtype(node.dtype), "out", indirect))
        return len(self.slots) - 1

    def scratch(self, dtype: np.dtype) -> int:
        self.slots.append(Slot(None, 0, (), storage_dtype(dtype), "scratch"))
        return len(self.slots) - 1

    def number(self, key: Any, value: Any, dtype: np.dtype) -> int:
        k = self.number_of.get(key)
        if k is None:
            k = self.number_of[key] = len(self.numbers)
            self.numbers.append(Number(value, dtype))
        return self.add("param", storage_dtype(dtype), (), k)

    def position(self, offset: int, strides: Strides) -> int:
        key = ("position", offset, strides)
        k = self.number_of.get(key)
        if k is None:
            k = self.number_of[key] = len(self.affine)
            self.affine.append((offset, strides))
        return self.add("index", INT64, (), k)


class Emitter:
    """Writes values into a draft. `kept` maps a member to the slot where its row lies in passes after its own."""

    __slots__ = ("draft", "space", "group", "kept", "turn", "memo", "accs")

    def __init__(self, draft: Draft, group: Group | None):
        self.draft, self.space, self.group = draft, draft.space, group
        self.kept: dict[int, int] = {}
        self.turn = 0
        self.memo: dict[Any, int] = {}
        self.accs: dict[int, int] = {}

    def value(self, node: Node, offset: int, strides: Strides) -> int:
        """The number of the instruction that has the element."""
        if node.inline:
            return self.compute(node, offset, strides)
        if node.group is self.group and self.group is not None and node.id in self.group.maps:
            if node.kind == "reduce":
                return self.draft.add("acc", node.dtype, (), self.accs[node.id])
            slot = self.kept.get(node.id)
            if slot is not None and self.turn > node.turn:
                return self.draft.add("load", self.draft.slots[slot].dtype, (), slot)
            return self.compute(node, 0, self.group.maps[node.id])
        return self.draft.load(node, offset, strides)

    def compute(self, node: Node, offset: int, strides: Strides) -> int:
        key = (node.id, offset, strides)
        k = self.memo.get(key)
        if k is None:
            pulled = pull(node, offset, strides, self.space)
            k = self.memo[key] = self.apply(node, node.template, pulled.args, pulled.positions)[0][node.out]  # type: ignore
        return k

    def arg(self, node: Node, number: int, arg: Any) -> int:
        if arg.__class__ is Ref:
            return self.value(*arg)
        return self.draft.number((node.id, number), arg.value, arg.dtype)

    def apply(
        self, node: Node, template: Template, args: tuple[Any, ...], positions: tuple[tuple[int, Strides], ...]
    ) -> tuple[list[int], int | None]:
        """The template's instructions on these arguments: the numbers of its outputs and of its guard."""
        draft = self.draft
        add = draft.add
        done: list[int] = []
        fixed = divisors(template) if any(map(_small_whole, args)) else ()
        for op, dtype, numbers, attr in template.instrs:
            if op == "arg" and attr in fixed and _small_whole(args[attr]):
                k = add("const", dtype, (), repr_free("const", int(args[attr].value)))
            elif op == "arg":
                k = self.arg(node, attr, args[attr])
            elif op == "index":
                k = draft.position(*positions[attr])
            elif op == "extent":
                k = draft.number((node.id, "extent", attr), node.space[attr], INT64)
            elif op == "target":
                k = draft.number((node.id, "target", attr), node.shape[attr], INT64)
            elif op == "size":
                k = draft.number((node.id, "size", attr), args[attr[0]].shape[attr[1]], INT64)
            elif op == "at":
                k = self.element(args[attr], tuple([done[i] for i in numbers]))
            elif op == "check":
                k = self.check(node, tuple([done[i] for i in numbers]), attr)
            else:
                k = add(op, dtype, tuple([done[i] for i in numbers]), repr_free(op, attr))
            done.append(k)
        return [done[i] for i in template.outs], None if template.guard is None else done[template.guard]

    def element(self, arg: Random, indices: tuple[int, ...]) -> int:
        """The element of an operand at computed indices; an inlined one is computed from its operands at these indices."""
        draft, node = self.draft, arg.node
        if not node.inline:
            return draft.random(arg, indices)
        done: list[int] = []
        for op, dtype, numbers, attr in node.template.instrs:
            if op != "arg":
                done.append(draft.add(op, dtype, tuple([done[i] for i in numbers]), repr_free(op, attr)))
                continue
            a = node.args[attr]
            if a.__class__ is Ref:
                along = a.strides == node.strides and node.shape
                offset, strides = (a.offset + arg.offset, arg.strides) if along else (a.offset, (0,) * len(arg.shape))
                done.append(self.element(Random(a.node, offset, arg.shape, strides), indices))
            else:
                done.append(self.arg(node, attr, a))
        return done[node.template.outs[node.out]]

    def check(self, node: Node, args: tuple[int, ...], message: str) -> int:
        draft = self.draft
        text = f"{message}, made at {node.source}" if node.source is not None else message
        key = ("check", INT64, args, text)
        k = draft.number_of.get(key)
        if k is None:
            k = draft.number_of[key] = len(draft.tape)
            draft.tape.append(("check", INT64, args, len(draft.messages)))
            draft.messages.append(text)
        return k


def _small_whole(arg: Any) -> bool:
    """Whether it is a literal 2, 3, 10 ... of the user's, and hardly the size of something, which would be a new kernel each."""
    return arg.__class__ is Number and arg.dtype.kind in "iu" and abs(int(arg.value)) <= 16


def divisors(template: Template) -> set[int]:
    """The operands that whole numbers are divided by. As small literals they stay in the kernel's text: a division by a number
    that the compiler knows is some additions and shifts, one by a number that it does not know takes ten times as long."""
    found: set[int] = set()
    open_ = [numbers[1] for op, dtype, numbers, _ in template.instrs if op in ("div", "rem") and dtype.kind in "iu"]
    seen: set[int] = set()
    while open_:
        k = open_.pop()
        if k in seen:  # choices share their operands: in Euclid's algorithm there are more ways than steps, by powers of two
            continue
        seen.add(k)
        op, _, numbers, attr = template.instrs[k]
        if op == "arg":
            found.add(attr)
        elif op == "select":
            open_ += numbers[1:]
    return found


def repr_free(op: str, attr: Any) -> Any:
    """The attr of an instruction, such that equal attrs mean equal instructions (0.0 and -0.0 are not)."""
    return (repr(attr), attr) if op == "const" else attr


# --- drafts of the kinds of group -----------------------------------------------------------------------------


def drafts(group: Group) -> list[Draft]:
    """The launches of a group that is neither a contraction nor a host step."""
    first = group.units[0]
    if group.closed:
        if first.kind == "assemble":
            return [_copied(first, r.shape, r.offset, r.strides, r.arg, k) for k, r in enumerate(first.regions)]
        if first.kind == "scatter":
            copied = _copied(first, first.shape, 0, first.strides, first.args[0], 0)
            copied.optional = first.args[0].__class__ is Ref and not first.args[0].node.inline
            return [copied, _scatter(first)] if 0 not in first.space else [copied]
        if first.kind == "carried":
            return first.call(first)
        return [_scan(first)] if first.size else []
    if not group.size and not any(u.size and (u.must or u.stored) for u in group.units):
        return []
    return [_plain(group) if group.reduced is None else _rows(group)]


def _copied(node: Node, space: Shape, offset: int, strides: Strides, arg: Any, number: int) -> Draft:
    draft = Draft(space, None)
    value = Emitter(draft, None).arg(node, number, arg)
    draft.passes.append(DraftPass("row", [DraftStore(draft.out(node, offset, strides), value)], []))
    return draft


def _scatter(node: Node) -> Draft:
    draft = Draft(node.space, None)
    emitter = Emitter(draft, None)
    n = len(node.space)
    positions = tuple([(0, tuple([int(i == a) for i in range(n)])) for a in range(n)])
    indices, guard = emitter.apply(node, node.template, node.args[1:-1], positions)  # type: ignore[arg-type]
    value = emitter.arg(node, -1, node.args[-1])
    slot = draft.out(node, 0, (0,) * n, tuple(zip(node.strides, node.shape, strict=True)))
    draft.passes.append(DraftPass("row", [DraftStore(slot, value, tuple(indices), node.op, guard)], []))
    draft.sequential = True
    return draft


def _scan(node: Node) -> Draft:
    draft = Draft(node.space, node.axes)
    value = Emitter(draft, None).arg(node, 0, node.args[0])
    acc = draft.add("acc", node.dtype, (), 0)
    store = DraftStore(draft.out(node, *node.call), acc)
    draft.passes.append(DraftPass("row", [store], [DraftReduction(0, node.op, value, node.dtype, None, True)]))
    return draft


def _plain(group: Group) -> Draft:
    """Pointwise members over one space: one pass."""
    draft = Draft(group.space, None)
    emitter = Emitter(draft, group)
    stores = []
    for unit in group.units:
        value = emitter.value(unit, 0, group.maps[unit.id])
        if unit.must or unit.stored:
            stores.append(DraftStore(draft.out(unit, 0, group.maps[unit.id]), value))
    draft.passes.append(DraftPass("row", stores, []))
    return draft


def _turns(group: Group) -> int:
    """Give every member the number of the pass in which it can first be computed; the number of passes."""
    passes = 0
    for unit in group.units:
        turn = 0
        for other, _, _ in unit.leaves:
            if other.group is group and other.id in group.maps:
                turn = max(turn, other.turn + (other.kind == "reduce"))
        unit.turn = turn
        if unit.kind == "reduce" or (unit.level == "row" and (unit.must or unit.stored)):
            passes = max(passes, turn + 1)
    return passes


def _kept(group: Group) -> list[Node]:
    """The row-level members that are worth keeping from their own pass for later ones."""
    needed: dict[int, set[int]] = {u.id: set() for u in group.units}
    kept = []
    for unit in reversed(group.units):
        at = needed[unit.id]
        root = unit.kind == "reduce" or (unit.level == "row" and (unit.must or unit.stored))
        if root:
            at.add(unit.turn)
        if unit.kind == "map" and unit.level == "row" and at and max(at) > unit.turn and unit.weight > CHEAP:
            kept.append(unit)
            at = {unit.turn}
        for other, _, _ in unit.leaves:
            if other.group is group and other.id in needed:
                needed[other.id] |= at
    kept.reverse()
    return kept


def _rows(group: Group) -> Draft:
    """Members over rows: as many passes as values wait for folds of earlier ones, then the values of the rows."""
    reduced = group.reduced
    assert reduced is not None
    draft = Draft(group.space, reduced)
    emitter = Emitter(draft, group)
    passes = _turns(group)
    row = 1
    for a in reduced:
        row *= group.space[a]
    outs: dict[int, int] = {}
    keeping = {u.id for u in _kept(group)} if passes > 1 else set()
    number = 0
    for unit in group.units:
        if unit.kind == "reduce":
            emitter.accs[unit.id] = number
            number += 1
        elif unit.id in keeping:
            small = row * unit.dtype.itemsize <= ROW_BYTES and len(group.space) - 1 in reduced
            if unit.must or unit.stored or not small:
                # A row too long for the cache, or one that is wanted anyway, lies in the member's own memory.
                unit.stored = True
                emitter.kept[unit.id] = outs[unit.id] = draft.out(unit, 0, group.maps[unit.id])
            else:
                emitter.kept[unit.id] = draft.scratch(unit.dtype)
    for turn in range(passes):
        emitter.turn, emitter.memo = turn, {}
        stores, reductions = [], []
        for unit in group.units:
            if unit.turn != turn:
                continue
            if unit.kind == "reduce":
                reductions.append(_reduction(emitter, unit))
            elif unit.level == "row" and (unit.must or unit.stored or unit.id in keeping):
                value = emitter.value(unit, 0, group.maps[unit.id])
                if unit.id in emitter.kept:
                    slot = emitter.kept[unit.id]
                else:
                    slot = draft.out(unit, 0, group.maps[unit.id])
                stores.append(DraftStore(slot, value))
        draft.passes.append(DraftPass("row", stores, reductions))
    emitter.turn, emitter.memo = passes, {}
    stores = []
    for unit in group.units:
        if unit.level == "point" and (unit.must or unit.stored):
            value = emitter.value(unit, 0, group.maps[unit.id])
            stores.append(DraftStore(draft.out(unit, 0, group.maps[unit.id]), value))
    if stores:
        draft.passes.append(DraftPass("point", stores, []))
    return draft


def _reduction(emitter: Emitter, unit: Node) -> DraftReduction:
    draft = emitter.draft
    value = emitter.arg(unit, 0, unit.args[0])
    index = None
    if unit.op in ("argmax", "argmin"):
        # The position in the flattened reduced axes.
        strides, step = [0] * len(draft.space), 1
        for a in sorted(unit.axes, reverse=True):
            strides[a] = step
            step *= draft.space[a]
        index = draft.position(0, tuple(strides))
    return DraftReduction(emitter.accs[unit.id], unit.op, value, unit.dtype, index)
