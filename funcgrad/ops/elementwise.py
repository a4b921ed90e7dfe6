"""All elementwise operators under one roof, for the faces: `from funcgrad.ops import elementwise as ew; ew.sin(x)`.

Each is here under the name of its primitive, also where that is a name of Python's (`ew.abs`), and under the name with which it
was declared (`abs_`).
"""

from funcgrad.ops._family import add
from funcgrad.ops.arithmetic import clamp, div, max_, min_, mul, neg, rem, rsqrt, sqrt, square, sub
from funcgrad.ops.arithmetic import max_ as max
from funcgrad.ops.arithmetic import min_ as min
from funcgrad.ops.bitwise import (
    and_,
    clz,
    gcd,
    not_,
    or_,
    population_count,
    shift_left,
    shift_right_arithmetic,
    shift_right_logical,
    xor,
)
from funcgrad.ops.compare import eq, ge, gt, le, lt, ne
from funcgrad.ops.convert import (
    bitcast_convert_type,
    convert,
    convert_element_type,
    copy,
    reduce_precision,
    stop_gradient,
)
from funcgrad.ops.exponential import (
    acosh,
    asinh,
    atanh,
    cosh,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    log2,
    log10,
    logistic,
    sinh,
    tanh,
)
from funcgrad.ops.gamma import betaln, gamma, loggamma, poch
from funcgrad.ops.hypergeometric import hyp1f1, hyp2f1
from funcgrad.ops.incomplete import betainc, betainc_ratio, igamma, igammac, random_gamma_grad
from funcgrad.ops.integrals import ci, exp1, expi, expn, fresnel_c, fresnel_s, owens_t, si, spence, wofz
from funcgrad.ops.normal import dawsn, erfcx, ndtri
from funcgrad.ops.orthogonal import jn, sph_legendre
from funcgrad.ops.parts import abs_, complex_, conj, imag, real, sign
from funcgrad.ops.parts import abs_ as abs
from funcgrad.ops.parts import complex_ as complex
from funcgrad.ops.powers import cbrt, integer_pow, pow_
from funcgrad.ops.powers import pow_ as pow
from funcgrad.ops.products import xlog1py, xlogy
from funcgrad.ops.rounding import ceil, floor, is_finite, nextafter, round_
from funcgrad.ops.rounding import round_ as round
from funcgrad.ops.select import select_n
from funcgrad.ops.special import bessel_i0e, bessel_i1e, digamma, erf, erf_inv, erfc, lgamma, polygamma, zeta, zeta_slope
from funcgrad.ops.trigonometric import acos, asin, atan, atan2, cos, sin, tan

__all__ = [
    "abs",
    "abs_",
    "acos",
    "acosh",
    "add",
    "and_",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "betainc_ratio",
    "betaln",
    "bitcast_convert_type",
    "cbrt",
    "ceil",
    "ci",
    "clamp",
    "clz",
    "complex",
    "complex_",
    "conj",
    "convert",
    "convert_element_type",
    "copy",
    "cos",
    "cosh",
    "dawsn",
    "digamma",
    "div",
    "eq",
    "erf",
    "erf_inv",
    "erfc",
    "erfcx",
    "exp",
    "exp1",
    "exp2",
    "expi",
    "expm1",
    "expn",
    "floor",
    "fresnel_c",
    "fresnel_s",
    "gamma",
    "gcd",
    "ge",
    "gt",
    "hyp1f1",
    "hyp2f1",
    "igamma",
    "igammac",
    "imag",
    "integer_pow",
    "is_finite",
    "jn",
    "le",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "loggamma",
    "logistic",
    "lt",
    "max",
    "max_",
    "min",
    "min_",
    "mul",
    "ndtri",
    "ne",
    "neg",
    "nextafter",
    "not_",
    "or_",
    "owens_t",
    "poch",
    "polygamma",
    "population_count",
    "pow",
    "pow_",
    "random_gamma_grad",
    "real",
    "reduce_precision",
    "rem",
    "round",
    "round_",
    "rsqrt",
    "select_n",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "si",
    "sign",
    "sin",
    "sinh",
    "spence",
    "sph_legendre",
    "sqrt",
    "square",
    "stop_gradient",
    "sub",
    "tan",
    "tanh",
    "wofz",
    "xlog1py",
    "xlogy",
    "xor",
    "zeta",
    "zeta_slope",
]
