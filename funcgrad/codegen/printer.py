"""The printer: one loop nest -> the source text of one kernel.

In: a `Nest` and a `Target`. Out: a `Source`: plain Numba Python with short names (x0 reads, y0 writes, s0 is
a scratch row, n0 an extent, q0 a parameter, t0 a named value, a0 a reduction's result). The text is canonical:
equal structure gives equal text, and the kernel's name is a hash of the text. A row of softmax prints as

    for o in range(lo, hi):
        x0_1 = o * x0_d0
        ...
        m0 = f32(-inf)
        for i in range(n1):
            m0 = rmax(m0, x0[x0_1 + i])
        a0 = m0
        p1 = f64(0.0)
        for b in range(0, n1, 512):
            e = select(b + 512 < n1, b + 512, n1)
            m1 = f32(0.0)
            for i in range(b, e):
                t0 = exp_f32(x0[x0_1 + i] - a0)
                s0[i] = t0
                m1 = radd(m1, t0)
            p1 = p1 + f64(m1)
        a1 = f32(p1)
        for i in range(n1):
            y0[y0_1 + i] = fdiv(s0[i], a1)
"""

import hashlib

from funcgrad.codegen import carried, column, rows
from funcgrad.codegen.canonical import canonical
from funcgrad.codegen.kernel import Kernel
from funcgrad.codegen.target import Source, Target
from funcgrad.loops.nest import Nest

MEMO_LIMIT = 4096


def print_nest(nest: Nest, target: Target) -> Source:
    """The kernel of `nest` for `target`; printed once for each structure."""
    form = canonical(nest)
    memo = target.memo
    found = memo.get(form.key)
    if found is None:
        kernel = Kernel(nest, form, target)
        (carried if nest.carried else column if nest.layout == "column" else rows).write(kernel)
        found = _finish(kernel)
        if len(memo) >= MEMO_LIMIT:
            memo.pop(next(iter(memo)))
        memo[form.key] = found
    return found


def _finish(kernel: Kernel) -> Source:
    body = kernel.text()
    name = "k_" + hashlib.blake2b(body.encode(), digest_size=10).hexdigest()
    arguments = kernel.arguments()
    text = f"def {name}({', '.join(arguments)}):\n{body}"
    return Source(text, name, tuple(sorted(kernel.scalars.helpers)), kernel.scratch, arguments, kernel.slices())
