"""From a simplified Jaxpr to a Program, in five named steps, each a function on data.

lower     Jaxpr  -> graph of nodes and affine reads
fuse      graph  -> groups: what exists in memory, what shares a kernel
schedule  groups -> kernels: interned nests and their numbers
plan      kernels -> steps with addresses, one arena
check     the program's legal form (with config.check_ir)
"""

from funcgrad.core.config import config
from funcgrad.ir.jaxpr import Jaxpr
from funcgrad.loops.checks import check_graph, check_groups, check_program
from funcgrad.loops.draft import drafts
from funcgrad.loops.fuse import Group, fuse
from funcgrad.loops.lower import lower
from funcgrad.loops.plan import Item, item_of_node, items_of_kernel, plan
from funcgrad.loops.program import Program
from funcgrad.loops.schedule import schedule
from funcgrad.loops.tile import tiles


def schedule_groups(groups: list[Group]) -> list[Item]:
    """The kernels, contractions and host calls of the groups, in order."""
    items = []
    for group in groups:
        first = group.units[0]
        if first.kind == "dot" or first.kind == "host":
            items.append(item_of_node(first))
        else:
            items.extend([items_of_kernel(schedule(t)) for d in drafts(group) for t in tiles(d)])
    return items


def compile_program(jaxpr: Jaxpr, donated: tuple[int, ...] = ()) -> Program:
    """The program of a Jaxpr without calls (see passes.simplify). Its inputs are the constvars, then the invars;
    `donated` numbers inputs whose memory may become an output's."""
    checking = config.check_ir
    graph = lower(jaxpr)
    if checking:
        check_graph(graph)
    groups = fuse(graph)
    if checking:
        check_groups(graph, groups)
    program = plan(graph, schedule_groups(groups), donated)
    if checking:
        check_program(program)
    return program
