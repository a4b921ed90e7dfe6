"""Fuse: which nodes exist in memory, which are computed where they are read, and which share a kernel.

In: a `Graph`. Out: `Group`s in an order in which they can run. Three decisions, each one function:

`settle`   a map is *inlined* (computed in its readers, never stored) when it has one reader, or is so cheap
           that computing it again costs less than a store and a load.
`gather`   what is left joins the kernel of a producer or of a sibling over the same space, if every access
           between them stays at one index (or one row) and no cycle through other kernels comes of it.
`order`    the kernels, sorted.

What a kernel costs to compile is held down on both roads: a chain of maps is cut, and a group stops growing, where the
next member would make the code too heavy (`HEAVIEST`). A chain is cut as late as can be, so that the pieces of a
regular one are equal and share one compiled kernel.

A group's *space* is a shape. Its members' elements are computed at points of that space: at each point
("row level"), or, when the group folds axes `reduced`, once for all points that differ only along them.
"""

from typing import Any

from funcgrad.loops.graph import Graph, Node, Random, Ref
from funcgrad.loops.views import Shape, Strides, contiguous, digits, follow

CHEAP = 4.0  # additions: at most this much is computed again rather than stored
TRIVIAL = 3.0  # also at every point of a larger space
DEEPEST = 64  # of a chain of inlined nodes
MEMBERS = 24  # of a group
HEAVIEST = 1200  # burden of a kernel: 0.12 s of compile time. 80 x `sin(x) * c` in one kernel took 4.8 s, in ten 0.2 s
LONE_FOLD = 1 << 17  # elements of a vector: above, its fold to one value takes no stores along


class Pulled:
    """A node's arguments as read from another space, and its own positions there if it asks for them."""

    __slots__ = ("args", "positions")

    def __init__(self, args: tuple[Any, ...], positions: tuple[tuple[int, Strides], ...]):
        self.args, self.positions = args, positions


def pull(node: Node, offset: int, strides: Strides, space: Shape) -> Pulled | None:
    """What `node` reads, seen from `space`, whose points see the node by the map (offset, strides). None: not affine."""
    cache = node.pulled
    if cache is None:
        cache = node.pulled = {}
    key = (offset, strides, space)
    if key in cache:
        return cache[key]
    shape = node.space if node.kind == "reduce" else node.shape
    positional = node.template is not None and node.template.positional
    if offset == 0 and space == shape and strides == contiguous(shape):
        n = len(shape)
        positions = tuple([(0, tuple([int(i == a) for i in range(n)])) for a in range(n)]) if positional else ()
        found = Pulled(node.args, positions)
    elif node.linear:
        zeros = (0,) * len(space)
        args = []
        for arg in node.args:
            if arg.__class__ is Ref:
                along = arg.strides == node.strides and node.shape
                arg = Ref(arg.node, arg.offset + offset, strides) if along else Ref(arg.node, arg.offset, zeros)
            args.append(arg)
        found = Pulled(tuple(args), ())
    else:
        d = digits(offset, strides, space, shape)
        found = None
        if d is not None:
            args = [Ref(a.node, *follow(d, a.offset, a.strides)) if a.__class__ is Ref else a for a in node.args]
            n = len(shape)
            ones = [tuple([int(i == a) for i in range(n)]) for a in range(n)] if positional else []
            found = Pulled(tuple(args), tuple([follow(d, 0, one) for one in ones]))
    cache[key] = found
    return found


# --- what is computed where it is read ---------------------------------------------------------------------


def prune(graph: Graph) -> list[Node]:
    """The nodes that something needs, in order."""
    live = []
    for node in reversed(graph.nodes):
        if node.kind != "input" and node.output is None and not _wanted(node):
            for arg in node.args:
                if arg.__class__ is Ref:
                    arg.node.uses = [u for u in arg.node.uses if u[0] is not node]
                elif arg.__class__ is Random:
                    arg.node.randoms = [u for u in arg.node.randoms if u[0] is not node]
            continue
        live.append(node)
    live.reverse()
    return live


def _wanted(node: Node) -> bool:
    return bool(node.uses or node.randoms) or node.must


def settle(nodes: list[Node]) -> None:
    """Set `inline` (and weight, burden, loads, depth, linear) of every map."""
    for node in nodes:
        if node.kind != "map":
            node.must = node.must or bool(node.randoms)
            if node.kind == "reduce":
                node.burden = 1 + _burden(node)
            continue
        burden = node.burden = node.template.burden + _burden(node)  # type: ignore[union-attr]
        if burden > HEAVIEST:
            _cut(node)
        weight, loads, depth, linear = node.template.weight, 0, 0, not node.template.positional  # type: ignore[union-attr]
        strides = node.strides
        for arg in node.args:
            if arg.__class__ is Ref:
                other = arg.node
                along = arg.strides == strides
                if other.inline:
                    weight += other.weight
                    loads |= other.loads
                    depth = max(depth, other.depth)
                    linear = linear and (not along or other.linear)
                elif other.shape:
                    loads |= 1 << other.id  # a set of arrays
                linear = linear and (along or not any(arg.strides))
        node.weight, node.loads, node.depth, node.linear = weight, loads, depth + 1, linear
        if node.randoms and not _anywhere(node):
            node.must = True
        node.inline = not node.must and depth < DEEPEST and _inlinable(node)
        if node.randoms and not node.inline:
            node.must = True


def _burden(node: Node) -> int:
    """Of the inlined arguments."""
    return sum([arg.node.burden for arg in node.args if arg.__class__ is Ref and arg.node.inline])


def _cut(node: Node) -> None:
    """Let the heaviest inlined arguments of `node` be stored until the rest is light enough for a kernel."""
    inlined = {arg.node for arg in node.args if arg.__class__ is Ref and arg.node.inline and len(arg.node.uses) == 1}
    for other in sorted(inlined, key=lambda n: (-n.burden, n.id)):
        other.inline = False
        other.must = other.must or bool(other.randoms)
        node.burden -= other.burden
        if node.burden <= HEAVIEST:
            return


def _anywhere(node: Node) -> bool:
    """Whether an element of `node` can be computed at a computed index: cheap, and from the same place in its operands."""
    return (
        node.linear
        and node.weight <= CHEAP
        and node.loads.bit_count() <= 1
        and not any([a.__class__ is Random for a in node.args])
    )


def _inlinable(node: Node) -> bool:
    uses, weight = node.uses, node.weight
    if len(uses) > 1 and (weight > CHEAP or node.loads.bit_count() > 2):
        return False
    shape, strides = node.shape, node.strides
    for _, ref, space in uses:
        if ref.offset == 0 and space == shape and ref.strides == strides:
            continue
        if weight > TRIVIAL and 0 in ref.strides:
            return False  # the reader repeats elements
        if not node.linear and pull(node, ref.offset, ref.strides, space) is None:
            return False
    return True


# --- groups ------------------------------------------------------------------------------------------------


class Group:
    """Nodes that one kernel computes; a closed group is one node that is a step (or several) of its own."""

    __slots__ = ("number", "units", "space", "size", "reduced", "kept", "maps", "closed", "wide", "before", "burden")

    def __init__(self, number: int, unit: Node, closed: bool):
        self.number, self.units, self.closed = number, [unit], closed
        self.space: Shape = unit.space
        self.size = unit.size
        self.reduced: tuple[int, ...] | None = None
        self.kept = 1
        self.maps: dict[int, Strides] = {}  # node id -> where its element lies, over the space
        self.wide: set[int] = set()  # ids of arrays of full size that it reads
        self.burden = 0
        self.before = 0  # bit set of the groups that have to run earlier

    def __repr__(self) -> str:
        return f"g{self.number}{self.units}{list(self.space)}" + (f"/{self.reduced}" if self.reduced else "")


def kept_strides(space: Shape, reduced: tuple[int, ...]) -> Strides:
    """Row-major strides over the axes that are not folded, 0 along those that are."""
    strides, step = [0] * len(space), 1
    for a in range(len(space) - 1, -1, -1):
        if a not in reduced:
            strides[a] = step
            step *= space[a]
    return tuple(strides)


Leaf = tuple[Node, int | None, Strides]


def leaves(roots: tuple[Any, ...], space: Shape) -> list[Leaf]:
    """The nodes in memory (or in other members) that `roots` read over `space`, through what is inlined.
    The offset of a node that is read at random is None."""
    found: list[Leaf] = []
    seen = set()
    stack = list(roots)
    while stack:
        arg = stack.pop()
        if arg.__class__ is Ref:
            node, offset, strides = arg
            if node.inline:
                key = (node.id, offset, strides)
                if key not in seen:
                    seen.add(key)
                    stack.extend(pull(node, offset, strides, space).args)  # type: ignore[union-attr]
            else:
                found.append(arg)
        elif arg.__class__ is Random:
            node = arg.node
            if node.inline:
                stack.extend([Random(a.node, 0, (), ()) for a in node.args if a.__class__ is Ref])
            else:
                found.append((node, None, ()))
    return found


def _same(a: Strides, b: Strides, space: Shape) -> bool:
    return a == b or all([x == y or n == 1 for x, y, n in zip(a, b, space, strict=True)])


def _meets(leaf: Node, offset: int | None, strides: Strides, g: Group, point: bool) -> bool:
    """Whether a member's read of the member `leaf` stays at one point; one at point level (`point`) reads no rows."""
    return offset == 0 and _same(strides, g.maps[leaf.id], g.space) and not (point and leaf.level == "row")


class Gathering:
    """One run of `gather`."""

    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.by_space: dict[Shape, list[Group]] = {}

    def unit(self, node: Node) -> None:
        """Put `node` into a group: a producer's, a sibling's, or a new one."""
        closed = node.kind not in ("map", "reduce")
        found = node_leaves(node)
        producers = {leaf[0].group for leaf in found if leaf[0].group is not None}
        if not closed:
            if len(producers) > 1:
                producers = self.unite(node, producers)
            for g in sorted(producers, key=lambda g: -g.number):
                if self.join(node, g, found, producers):
                    return
            wide = {leaf[0].id for leaf in found if leaf[0].shape}
            for g in reversed(self.by_space.get(node.space, ())):
                if g not in producers and not wide.isdisjoint(g.wide) and self.join(node, g, found, producers):
                    return
        self.start(node, found, producers, closed)

    def unite(self, node: Node, producers: set[Group]) -> set[Group]:
        """Merge those producers of `node` that can be one kernel: node would join only one of them."""
        left = sorted((g for g in producers if not g.closed), key=lambda g: g.number)
        for i, a in enumerate(left):
            for b in left[i + 1 :]:
                if a.units and b.units and _fits(node, a) and self.mergeable(a, b):
                    self.merge(a, b)
        return {g for g in producers if g.units}

    def mergeable(self, a: Group, b: Group) -> bool:
        """Whether two groups over one space may be one: nothing lies between them, and they meet at one index."""
        if a.space != b.space or len(a.units) + len(b.units) > MEMBERS or a.burden + b.burden > HEAVIEST:
            return False
        if a.reduced is not None and b.reduced is not None and a.reduced != b.reduced:
            return False
        if a.reduced != b.reduced and _lone(a.space, a.reduced or b.reduced or ()):
            return False
        bit_a, bit_b = 1 << a.number, 1 << b.number
        for h in self.groups:
            if h is not a and h is not b:
                bit = 1 << h.number
                if (h.before & bit_a and b.before & bit) or (h.before & bit_b and a.before & bit):
                    return False
        for g, other in ((a, b), (b, a)):
            for unit in other.units:
                if any(leaf[0].group is g for leaf in unit.leaves):
                    for leaf, offset, strides in self.seen_from(unit, other):
                        point = unit.kind == "map" and unit.level == "point"
                        if leaf.group is g and not _meets(leaf, offset, strides, g, point):
                            return False
        return True

    def seen_from(self, unit: Node, g: Group) -> list[Leaf]:
        """What a member reads, over its group's space."""
        if unit.kind == "reduce":
            return unit.leaves
        return leaves(pull(unit, 0, g.maps[unit.id], g.space).args, g.space)  # type: ignore[union-attr]

    def merge(self, a: Group, b: Group) -> None:
        """Move the members of b into a."""
        for unit in b.units:
            unit.group = a
        a.units = sorted(a.units + b.units, key=lambda u: u.id)
        b.units = []
        a.maps |= b.maps
        a.wide |= b.wide
        a.burden += b.burden
        if a.reduced is None:
            a.reduced, a.kept = b.reduced, b.kept
        bit_a, bit_b = 1 << a.number, 1 << b.number
        a.before = (a.before | b.before) & ~(bit_a | bit_b)
        b.before = 0
        for h in self.groups:
            if h.before & (bit_a | bit_b):
                h.before = ((h.before & ~bit_b) | bit_a | a.before) & ~(1 << h.number)
        near = self.by_space[b.space]
        if b in near:
            near.remove(b)

    def start(self, node: Node, found: list[Leaf], producers: set[Group], closed: bool) -> None:
        g = Group(len(self.groups), node, closed)
        self.groups.append(g)
        if node.kind == "reduce":
            self.fold(g, node)
            g.maps[node.id] = kept_strides(node.space, node.axes)
            node.level = "point"
        elif not closed:
            g.maps[node.id] = node.strides
        size = 1
        for n in g.space:
            size *= n
        g.size = size
        if not closed:
            near = self.by_space.setdefault(g.space, [])
            near.append(g)
            if len(near) > 6:
                del near[0]
        self.enter(node, g, found, producers)

    def fold(self, g: Group, node: Node) -> None:
        g.reduced = node.axes
        g.kept = node.size

    def enter(self, node: Node, g: Group, found: list[Leaf], producers: set[Group]) -> None:
        node.group, node.leaves = g, found
        g.burden += node.burden
        for leaf in found:
            if leaf[0].shape:
                g.wide.add(leaf[0].id)
        before = 0
        for h in producers:
            if h is not g:
                before |= h.before | (1 << h.number)
        if before & ~g.before:
            g.before |= before
            if len(g.units) == 1:
                return  # a new group: nothing waits for it yet
            bit = 1 << g.number
            for h in self.groups:
                if h.before & bit:
                    h.before |= g.before

    def join(self, node: Node, g: Group, found: list[Leaf], producers: set[Group]) -> bool:
        """Let `node` be computed in `g`, if that can be and pays."""
        if g.closed or len(g.units) >= MEMBERS or g.burden + node.burden > HEAVIEST:
            return False
        bit = 1 << g.number
        for h in producers:
            if h is not g and h.before & bit:
                return False  # a path from g through h to node
        strides = self.place(node, g)
        if strides is None:
            return False
        if node.kind == "map" and strides != node.strides or node.space != g.space:
            view = pull(node, 0, strides, g.space)
            if view is None:
                return False
            inner = leaves(view.args, g.space)
        else:
            inner = found
        maps = g.maps
        point = node.kind == "map" and g.reduced is not None and node.shape != g.space
        for other, offset, s in inner:
            if other.group is g and not _meets(other, offset, s, g, point):
                return False
        if point:
            # At point level: arrays from outside would make this kernel one of a kind, unless rows need the value.
            if any(other.group is not g and other.shape for other, _, _ in inner) and not any(
                space == g.space for _, _, space in node.uses
            ):
                return False
        if node.kind == "reduce":
            if g.reduced is None:
                if _lone(g.space, node.axes):
                    return False
                self.fold(g, node)
            maps[node.id] = kept_strides(g.space, node.axes)
            node.level = "point"
        else:
            maps[node.id] = strides
            node.level = "point" if point else "row"
        g.units.append(node)
        self.enter(node, g, found, producers)
        return True

    def place(self, node: Node, g: Group) -> Strides | None:
        """Where `node`'s element lies for a point of g's space, if the node can be computed there."""
        if node.kind == "reduce":
            if node.space != g.space or (g.reduced is not None and g.reduced != node.axes):
                return None
            return contiguous(g.space)
        if node.shape == g.space:
            if g.reduced is not None and _lone(g.space, g.reduced):
                return None
            return node.strides
        if g.reduced is not None and node.size == g.kept:
            return kept_strides(g.space, g.reduced)
        if node.size == g.size and g.reduced is None:
            return contiguous(g.space)
        return None


def _lone(space: Shape, reduced: tuple[int, ...]) -> bool:
    """Whether a fold to one value, which is one thread's work, had better not take stores along. That a batch is small
    must not decide it, or another batch would need other kernels; a vector may be small."""
    if len(reduced) < len(space):
        return False
    return len(space) > 1 or max(space) > LONE_FOLD


def _fits(node: Node, g: Group) -> bool:
    """Whether `node` could be a member of a group over this space."""
    return node.space == g.space or (g.reduced is not None and node.size == g.kept) or node.size == g.size


def node_leaves(node: Node) -> list[Leaf]:
    """What a node reads from memory or from other members, over its own space."""
    if node.kind == "assemble":
        return [leaf for r in node.regions for leaf in leaves((r.arg,), r.shape)]
    if node.kind == "scatter":
        return leaves(node.args[:1], node.shape) + leaves(node.args[1:], node.space)
    if node.kind == "dot":
        return list(node.args)  # type: ignore[arg-type]
    if node.after is not None:
        return [*leaves(node.args, node.space), (node.after, None, ())]
    return leaves(node.args, node.space)


def gather(nodes: list[Node]) -> list[Group]:
    """Every node that is neither an input nor inlined, in groups."""
    gathering = Gathering()
    for node in nodes:
        if node.kind == "result":
            node.group = node.args[0].node.group
        elif node.kind != "input" and not node.inline:
            gathering.unit(node)
    return gathering.groups  # those that were merged into others have no units


def order(groups: list[Group]) -> list[Group]:
    """The groups that have members in the program's order, each after those it needs.

    `before` is transitive, so that a group has more in it than any group that has to run earlier."""
    done: list[Group] = []
    placed = 0
    for g in groups:
        if not g.units or placed >> g.number & 1:
            continue
        missing, earlier = g.before & ~placed, []
        while missing:
            low = missing & -missing
            earlier.append(groups[low.bit_length() - 1])
            missing ^= low
        earlier.sort(key=lambda h: h.before.bit_count())
        done += [*earlier, g]
        placed |= g.before | (1 << g.number)
    return done


def fuse(graph: Graph) -> list[Group]:
    """Groups that compute the graph, in the order in which they run."""
    nodes = prune(graph)
    settle(nodes)
    groups = gather(nodes)
    for g in groups:
        for unit in g.units:
            for leaf in unit.leaves:
                if leaf[0].group is not g:
                    leaf[0].stored = True
    return order(groups)
