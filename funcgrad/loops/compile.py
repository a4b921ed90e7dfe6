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
from funcgrad.loops.control import Pairs, control_of
from funcgrad.loops.draft import drafts
from funcgrad.loops.fuse import Group, fuse
from funcgrad.loops.lower import lower
from funcgrad.loops.plan import Item, item_of_control, item_of_node, items_of_kernel, plan
from funcgrad.loops.program import Program
from funcgrad.loops.schedule import schedule
from funcgrad.loops.tile import tiles


def compile_inner(jaxpr: Jaxpr, pairs: Pairs) -> Program:
    """The program of a loop's body or of a branch. `pairs`: the outputs that may be written over an input's memory."""
    return compile_program(jaxpr, (), pairs)


def schedule_groups(groups: list[Group]) -> list[Item]:
    """The kernels, contractions and host calls of the groups, in order."""
    items = []
    for group in groups:
        first = group.units[0]
        if first.kind == "dot" or first.kind == "host":
            items.append(item_of_node(first))
        elif first.kind == "control":
            items.append(item_of_control(control_of(first, compile_inner)))
        elif first.kind == "fence":
            items.append(item_of_node(first))
        else:
            items.extend([items_of_kernel(schedule(t)) for d in drafts(group) for t in tiles(d)])
    return items


def compile_program(jaxpr: Jaxpr, donated: tuple[int, ...] = (), pairs: Pairs | None = None) -> Program:
    """The program of a Jaxpr without calls (see passes.simplify). Its inputs are the constvars, then the invars;
    `donated` numbers inputs whose memory may become an output's. `pairs`: see `lower`."""
    checking = config.check_ir
    graph = lower(jaxpr, pairs)
    if checking:
        check_graph(graph)
    groups = fuse(graph)
    if checking:
        check_groups(graph, groups)
    program = plan(graph, schedule_groups(groups), donated, pairs)
    if checking:
        check_program(program)
    return program
