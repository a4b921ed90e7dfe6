"""Scalar expressions: what one kernel computes at one point of its index space.

An `Expr` is an immutable node; a kernel's body is a DAG of them, shared by identity (the printer names
each shared node once). The vocabulary is closed: `OPS` below, and a target is a table from these names
to spellings. A dtype is the *scalar's*; how it is stored is the operand's business
(`bool` is stored as one byte, a PRNG key as one uint64).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

# Leaves (attr in brackets):
#   const [value]   a number that belongs to the operator's definition, and so to the kernel's key
#   param [slot]    a number that belongs to the program (a literal): passed at run time, in `dims`
#   index [axis]    the loop index along `axis` of the nest, int64
#   extent [axis]   the extent of `axis`, int64
#   load  [operand] the operand's element at the loop position; args, if any, are int64 indices along
#                   the operand's `indirect` axes (data-dependent addressing)
#   acc   [number]  the value of reduction `number` of an earlier pass (or, for a running reduction,
#                   of this pass up to and including this point)
#   carry [number]  a value handed from step to step: before this step or, in passes after its own, after the last
LEAVES = frozenset({"const", "param", "index", "extent", "load", "acc", "carry"})

UNARY = frozenset(
    "neg abs sign floor ceil round sqrt rsqrt cbrt exp exp2 expm1 log log1p sin cos tan asin acos atan "
    "sinh cosh tanh asinh acosh atanh erf erfc erf_inv lgamma digamma logistic is_finite not "
    "gamma erfcx ndtri dawsn bessel_i0e bessel_i1e exp1 expi spence si ci fresnel_s fresnel_c wofz "
    "population_count clz real imag conj".split()
)
# div and rem truncate on integers (as C); max and min propagate NaN; shr follows the dtype's sign; gcd is of unsigned integers.
BINARY = frozenset(
    "add sub mul div rem pow atan2 max min and or xor shl shr shr_logical nextafter complex eq ne lt le gt ge "
    "igamma igammac betaln zeta owens_t expn poch gcd".split()
)
# select(c, x, y) is x where c holds; cast converts the value and bitcast the bits, both to `dtype`;
# check(i, n) [check number] is i when 0 <= i < n, otherwise it records an IndexError and is 0;
# threefry_hi / _lo (k0, k1, c0, c1) are the two uint32 words of one Threefry-2x32-20 block.
# external [External] is a function of the user's own, of scalars.
# jn (x; n); betainc (a, b, x); gamma_ratio (a, x; n) and betainc_ratio (a, b, x; i, j), whose orders are float64, are the
# derivatives of igamma and betainc by parameters, over those by x.
MORE = frozenset({"jn", "betainc", "gamma_ratio", "betainc_ratio"})
OTHER = frozenset({"select", "cast", "bitcast", "check", "threefry_hi", "threefry_lo", "external"})

OPS = LEAVES | UNARY | BINARY | MORE | OTHER


@dataclass(frozen=True, eq=False, slots=True)
class Expr:
    """One scalar operation: `op` from `OPS`, the dtype of its value, its arguments, and `attr` for leaves."""

    op: str
    dtype: np.dtype
    args: tuple["Expr", ...] = ()
    attr: Any = None
