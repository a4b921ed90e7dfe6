"""The graph that lowering makes and fusion cuts: one node for each value that somebody computes.

A node is a row-major array that may or may not come to exist in memory. Views are not nodes: they are the
affine maps (offset, strides) of the `Ref`s by which nodes read one another.
"""

from typing import Any, NamedTuple

import numpy as np

from funcgrad.loops.templates import Template, copy_template, storage_dtype
from funcgrad.loops.views import Shape, Strided, Strides, contiguous


class Ref(NamedTuple):
    """Element (offset + strides . i) of `node` at position i of the reader's space."""

    node: "Node"
    offset: int
    strides: Strides


class Number(NamedTuple):
    """A literal of the user's program: a param of the kernel."""

    value: Any
    dtype: np.dtype


class Random(NamedTuple):
    """An operand that is read at computed indices."""

    node: "Node"
    offset: int
    shape: Shape
    strides: Strides


Arg = Ref | Number | Random


class Region(NamedTuple):
    """A part of an assembled array: `shape`, where it lies in the array, and what is copied there."""

    shape: Shape
    offset: int
    strides: Strides
    arg: Arg


class Node:
    """One array. `kind` says how it comes to be:

    input     given by the caller
    map       `template` of `args` at every index of `shape`
    reduce    `op` over `axes` of args[0], which is read over `space`
    scan      running `op` along `axes` of args[0] over `space` (= shape)
    assemble  `regions`, written one after another
    scatter   a copy of args[0] (a Ref over shape); then args[-1] at every index of `space` goes where `template` of the args
              between says
    carried   a loop in registers over `space`: `call` makes its drafts; `results` are its nodes
    dot       a contraction by BLAS: `call` is a `contract.Contraction`
    host      `call` on views of args; `results` are its nodes (this is the first; there may be none, if it has effects)
    result    one more array of the host node args[0], or an array of the carried one
    """

    __slots__ = (
        "graph", "id", "kind", "shape", "size", "dtype", "strides", "template", "out", "args", "op", "space", "axes",
        "regions", "call", "results", "uses",
        "randoms", "must", "output", "input", "source", "messages", "after",
        "inline", "linear", "depth", "weight", "burden", "loads", "pulled", "group", "stored", "leaves", "level", "turn",
    )  # fmt: skip

    def __init__(self, graph: "Graph", kind: str, shape: Shape, dtype: np.dtype):
        self.graph, self.kind, self.shape, self.dtype = graph, kind, shape, dtype
        self.id = len(graph.nodes)
        graph.nodes.append(self)
        size = 1
        for n in shape:
            size *= n
        self.size = size
        self.strides = contiguous(shape)
        self.args: tuple[Any, ...] = ()  # of Arg
        self.template: Any = None  # a Template, for kinds that have one
        self.out = 0
        self.space: Shape = shape
        self.uses: list[tuple[Node, Ref, Shape]] = []  # who reads this node element by element, how, over which space
        self.randoms: list[tuple[Node, Random]] = []  # who reads it at computed indices
        self.must = False  # it has to exist in memory
        self.after: Node | None = None  # the host node with effects that has to run before this one
        self.output: int | None = None
        self.input: int | None = None
        self.inline = False
        self.burden = 0  # its code's and its inlined arguments' on the compile time of a kernel
        self.group: Any = None
        self.stored = False
        self.pulled: dict[Any, Any] | None = None
        self.level = "row"
        self.turn = 0

    def view(self) -> Strided:
        return Strided(self, 0, self.shape, self.strides)

    def __repr__(self) -> str:
        return f"n{self.id}:{self.kind}{list(self.shape)}"


class Graph:
    """Nodes in an order in which arguments come first, the program's inputs and its outputs."""

    __slots__ = ("nodes", "inputs", "outputs", "out_types", "copies")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: list[Node] = []
        self.outputs: list[Node] = []
        self.copies: dict[Any, Node] = {}
        self.out_types: tuple[tuple[Shape, np.dtype], ...] = ()

    def map(self, shape: Shape, dtype: np.dtype, template: Template, args: tuple[Arg, ...], out: int = 0) -> Node:
        """A pointwise node."""
        node = Node(self, "map", shape, dtype)
        node.template, node.args, node.out = template, args, out
        self.read(node)
        return node

    def read(self, node: Node) -> None:
        """Tell the nodes that `node` reads of it."""
        for arg in node.args:
            if arg.__class__ is Ref:
                arg.node.uses.append((node, arg, node.space))
            elif arg.__class__ is Random:
                arg.node.randoms.append((node, arg))

    def copy(self, view: Strided) -> Strided:
        """The elements of `view` in memory of their own, once for all who ask."""
        key = (view.node.id, view.offset, view.shape, view.strides)
        node = self.copies.get(key)
        if node is None:
            node = self.copies[key] = self.fresh_copy(view)
        return node.view()

    def fresh_copy(self, view: Strided) -> Node:
        """The elements of `view` as a node that nobody else has."""
        ref = Ref(view.node, view.offset, view.strides)
        return self.map(view.shape, view.node.dtype, copy_template(storage_dtype(view.node.dtype)), (ref,))
