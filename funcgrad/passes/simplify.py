"""The list of passes, in order.

In: a typed Jaxpr as traced. Out: one without calls, repeated work, dead equations and no-ops, with the same outputs to the last
bit, but for the order in which products that leave a loop are summed. With config.check_ir the type checker runs after each step.
"""

from collections.abc import Callable

from funcgrad.core.config import config
from funcgrad.ir.check import check
from funcgrad.ir.jaxpr import Jaxpr
from funcgrad.passes.afterwards import afterwards
from funcgrad.passes.ahead import ahead
from funcgrad.passes.control import control
from funcgrad.passes.cse import share
from funcgrad.passes.dce import prune
from funcgrad.passes.fold import fold
from funcgrad.passes.identities import reduce_identities
from funcgrad.passes.inline import inline


def shrink_control(jaxpr: Jaxpr) -> Jaxpr:
    """passes/control.py, with all steps for the programs inside."""
    return control(jaxpr, simplify)


STEPS: tuple[tuple[str, Callable[[Jaxpr], Jaxpr]], ...] = (
    ("inline calls", inline),
    ("simplify loops and branches", shrink_control),
    ("take products before loops", ahead),
    ("take sums of products after loops", afterwards),
    ("fold constants", fold),
    ("drop no-ops", reduce_identities),
    ("share equal equations", share),
    ("drop dead equations", prune),
)


def simplify(jaxpr: Jaxpr) -> Jaxpr:
    """The Jaxpr after all STEPS."""
    for _, step in STEPS:
        jaxpr = step(jaxpr)
        if config.check_ir:
            check(jaxpr)
    return jaxpr
