"""Nests and groups as text, for people: one line an operand, one a reduction or store.

In: a `Nest`, or the `Group`s of a graph. Out: text that says all of their structure, the same for the same structure.
"""

from funcgrad.core.dtypes import short_name
from funcgrad.loops.expr import Expr
from funcgrad.loops.fuse import Group
from funcgrad.loops.nest import Nest

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^"}
_INFIX |= {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def show_expr(e: Expr) -> str:
    """`(x0 + p1) * acc0`: x is an operand, p a param, i an index, n an extent."""
    args = [show_expr(a) for a in e.args]
    if e.op == "load":
        return f"x{e.attr}" + (f"[{', '.join(args)}]" if args else "")
    if e.op in ("param", "index", "extent", "acc", "carry"):
        return f"{ {'param': 'p', 'index': 'i', 'extent': 'n'}.get(e.op, e.op) }{e.attr}"
    if e.op == "const":
        return repr(e.attr)
    if e.op in _INFIX:
        return f"({args[0]} {_INFIX[e.op]} {args[1]})"
    name = f"{e.op}_{short_name(e.dtype)}" if e.op in ("cast", "bitcast") else e.op
    return f"{name}({', '.join(args)})"


def show_nest(nest: Nest) -> str:
    """The whole structure of a nest."""
    head = f"{nest.layout} nest, {nest.outer} outer and {nest.inner} inner axes"
    lines = [head + (", in sequence" if nest.sequential else "")]
    for k, o in enumerate(nest.operands):
        steps = ", ".join("*" if s is None else str(s) for s in o.strides)
        lines.append(
            f"  x{k}: {o.role} {short_name(o.dtype)} strides ({steps})" + (f" + {o.indirect} indices" if o.indirect else "")
        )
    if nest.params:
        lines.append("  params: " + ", ".join(f"p{k} {short_name(d)}" for k, d in enumerate(nest.params)))
    for p in nest.passes:
        lines.append(f"  {p.level}:" if p.test is None else f"  {p.level} {show_expr(p.test)}:")
        for r in p.reductions:
            place = f" at {show_expr(r.index_value)}" if r.index_value is not None else ""
            kind = "running " if r.running else ""
            lines.append(f"    acc{r.number} = {kind}{r.op} of {show_expr(r.value)}{place} in {short_name(r.dtype)}")
        for s in p.stores:
            where = f"x{s.operand}" + (f"[{', '.join(show_expr(i) for i in s.indices)}]" if s.indices else "")
            guard = f" if {show_expr(s.guard)}" if s.guard is not None else ""
            lines.append(f"    {where} {s.combine or ''}= {show_expr(s.value)}{guard}")
        for c in p.carries:
            lines.append(f"    carry{c.number} = {show_expr(c.start)}, then {show_expr(c.next)}")
    return "\n".join(lines)


def show_groups(groups: list[Group]) -> str:
    """What fusion decided: a line for each kernel, contraction or host step."""
    lines = []
    for g in groups:
        fold = f" folding axes {g.reduced}" if g.reduced is not None else ""
        kept = [repr(u) + ("" if u.must or u.stored else " (not stored)") for u in g.units]
        lines.append(f"{g.units[0].kind if g.closed else 'kernel'} over {list(g.space)}{fold}: {', '.join(kept)}")
    return "\n".join(lines)
