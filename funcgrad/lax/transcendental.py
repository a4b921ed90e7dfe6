"""Exponentials, trigonometric and special functions under JAX's names, for floating and complex operands; nothing is promoted."""

from typing import Any

from funcgrad.lax._table import unary, unary_accurate
from funcgrad.numpy._axes import static_int
from funcgrad.numpy._promote import operand
from funcgrad.ops import elementwise as ew

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "digamma", "erf", "erf_inv", "erfc", "exp", "exp2",
    "expm1", "lgamma", "log", "log1p", "logistic", "polygamma", "sin", "sinh", "tan", "tanh",
]  # fmt: skip

# --- exponentials -----------------------------------------------------------------------------------------------------------

exp = unary_accurate(
    "exp",
    ew.exp,
    "e ** x",
    """
>>> lax.exp(np.array([0.0, 1.0, -np.inf]))
Array([1.        , 2.71828183, 0.        ], dtype=float64)
""",
)
exp2 = unary_accurate(
    "exp2",
    ew.exp2,
    "2 ** x",
    """
>>> lax.exp2(fnp.array([3.0, -1.0]))
Array([8. , 0.5], dtype=float32)
""",
)
expm1 = unary_accurate(
    "expm1",
    ew.expm1,
    "exp(x) - 1, exact near 0, where the difference would lose all digits.",
    """
>>> lax.expm1(np.array([1e-12, 1.0]))
Array([1.00000000e-12, 1.71828183e+00], dtype=float64)
""",
)
log = unary_accurate(
    "log",
    ew.log,
    "Natural logarithm: -inf at 0, NaN below it; of complex numbers the principal branch.",
    """
>>> lax.log(np.array([1.0, 10.0, 0.0]))
Array([0.        , 2.30258509,       -inf], dtype=float64)
>>> lax.log(np.array(-1 + 0j))
Array(0.+3.14159265j, dtype=complex128)
""",
)
log1p = unary_accurate(
    "log1p",
    ew.log1p,
    "log(1 + x), exact near 0.",
    """
>>> lax.log1p(np.array([1e-12, 1.0]))
Array([1.00000000e-12, 6.93147181e-01], dtype=float64)
""",
)
logistic = unary_accurate(
    "logistic",
    ew.logistic,
    "1 / (1 + exp(-x)), without overflow at either end.",
    """
>>> lax.logistic(np.array([-1000.0, 0.0, 2.0]))
Array([0.        , 0.5       , 0.88079708], dtype=float64)
""",
)

# --- trigonometric and hyperbolic -------------------------------------------------------------------------------------------

sin = unary_accurate(
    "sin",
    ew.sin,
    "Sine of an angle in radians.",
    """
>>> lax.sin(np.array([0.0, np.pi / 6, 1.0]))
Array([0.        , 0.5       , 0.84147098], dtype=float64)
""",
)
cos = unary_accurate(
    "cos",
    ew.cos,
    "Cosine of an angle in radians.",
    """
>>> lax.cos(np.array([0.0, np.pi / 3, 1.0]))
Array([1.        , 0.5       , 0.54030231], dtype=float64)
""",
)
tan = unary_accurate(
    "tan",
    ew.tan,
    "Tangent of an angle in radians.",
    """
>>> lax.tan(np.array([0.0, 0.5, 1.0]))
Array([0.        , 0.54630249, 1.55740772], dtype=float64)
""",
)
asin = unary(
    "asin",
    ew.asin,
    "Inverse sine, from -pi/2 to pi/2; NaN outside -1 to 1.",
    """
>>> lax.asin(np.array([0.0, 0.5, 1.0]))
Array([0.        , 0.52359878, 1.57079633], dtype=float64)
""",
)
acos = unary(
    "acos",
    ew.acos,
    "Inverse cosine, from 0 to pi; NaN outside -1 to 1.",
    """
>>> lax.acos(np.array([1.0, 0.5, -1.0]))
Array([0.        , 1.04719755, 3.14159265], dtype=float64)
""",
)
atan = unary(
    "atan",
    ew.atan,
    "Inverse tangent, from -pi/2 to pi/2. `atan2` knows the quadrant.",
    """
>>> lax.atan(np.array([0.0, 1.0, np.inf]))
Array([0.        , 0.78539816, 1.57079633], dtype=float64)
""",
)
sinh = unary(
    "sinh",
    ew.sinh,
    "Hyperbolic sine.",
    """
>>> lax.sinh(np.array([0.0, 1.0]))
Array([0.        , 1.17520119], dtype=float64)
""",
)
cosh = unary(
    "cosh",
    ew.cosh,
    "Hyperbolic cosine.",
    """
>>> lax.cosh(np.array([0.0, 1.0]))
Array([1.        , 1.54308063], dtype=float64)
""",
)
tanh = unary_accurate(
    "tanh",
    ew.tanh,
    "Hyperbolic tangent.",
    """
>>> lax.tanh(np.array([0.0, 1.0, 100.0]))
Array([0.        , 0.76159416, 1.        ], dtype=float64)
""",
)
asinh = unary(
    "asinh",
    ew.asinh,
    "Inverse hyperbolic sine.",
    """
>>> lax.asinh(np.array([0.0, 1.0]))
Array([0.        , 0.88137359], dtype=float64)
""",
)
acosh = unary(
    "acosh",
    ew.acosh,
    "Inverse hyperbolic cosine; NaN below 1.",
    """
>>> lax.acosh(np.array([1.0, 2.0]))
Array([0.       , 1.3169579], dtype=float64)
""",
)
atanh = unary(
    "atanh",
    ew.atanh,
    "Inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond.",
    """
>>> lax.atanh(np.array([0.0, 0.5, 1.0]))
Array([0.        , 0.54930614,        inf], dtype=float64)
""",
)

# --- special functions ------------------------------------------------------------------------------------------------------

lgamma = unary(
    "lgamma",
    ew.lgamma,
    "log |Gamma(x)|; Gamma(n) is (n - 1)! for whole numbers.",
    """
>>> lax.lgamma(np.array([1.0, 5.0, 0.5]))
Array([0.        , 3.17805383, 0.57236494], dtype=float64)
>>> np.log(24.0).round(8)
np.float64(3.17805383)
""",
)
digamma = unary(
    "digamma",
    ew.digamma,
    "The derivative of lgamma; digamma(1) is minus Euler's constant.",
    """
>>> lax.digamma(np.array([1.0, 0.5]))
Array([-0.57721566, -1.96351003], dtype=float64)
""",
)
erf = unary(
    "erf",
    ew.erf,
    "Error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x.",
    """
>>> lax.erf(np.array([0.0, 0.5, 3.0]))
Array([0.        , 0.52049988, 0.99997791], dtype=float64)
""",
)
erfc = unary(
    "erfc",
    ew.erfc,
    "1 - erf(x), exact for large x, where the difference would be 0.",
    """
>>> lax.erfc(np.array([0.0, 10.0]))
Array([1.00000000e+00, 2.08848758e-45], dtype=float64)
""",
)
erf_inv = unary(
    "erf_inv",
    ew.erf_inv,
    "Inverse of erf: from -1 to 1, infinite at the ends.",
    """
>>> lax.erf_inv(np.array([0.0, 0.5, 1.0]))
Array([0.        , 0.47693628,        inf], dtype=float64)
""",
)


def polygamma(m: Any, x: Any) -> Any:
    """The m-th derivative of digamma at x; m is a whole number that is known, 0 or more. x: floating.

    >>> lax.polygamma(1, np.array(1.0))
    Array(1.64493407, dtype=float64)
    >>> np.pi**2 / 6
    1.6449340668482264
    """
    order = static_int(int(m) if isinstance(m, float) and m.is_integer() else m, "lax.polygamma", "m")
    v = operand(x, "lax.polygamma", "x")
    return ew.digamma(v) if order == 0 else ew.polygamma(v, n=order)
