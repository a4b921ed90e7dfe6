"""The meaning of every op of expr.py in NumPy, on whole arrays: the reference that printed kernels are held to."""

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import special_ends
from funcgrad.core.gamma_integrals import betainc_ratio, gamma_ratio
from funcgrad.core.lazy import LazyModule
from funcgrad.core.log_beta import log_beta, rising

special: Any = LazyModule("scipy.special")
_UNSIGNED = {"i": "u", "u": "u", "b": "u"}


def _bool_or(logical: Callable[..., Any], bitwise: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: logical(*xs) if xs[0].dtype == bool else bitwise(*xs)


def _truncated_div(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Integers truncate, as in C; the rest divides."""
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    q = np.floor_divide(x, y)
    if x.dtype.kind == "i":
        q = q + ((q * y != x) & ((x < 0) != (y < 0)) & (y != 0)).astype(q.dtype)
    return q


def _shr(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.right_shift(x, y)


def _shr_logical(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    u = np.dtype(f"u{x.dtype.itemsize}")
    return np.right_shift(x.astype(u), y.astype(u)).astype(x.dtype)


def _clz(x: np.ndarray) -> np.ndarray:
    """Leading zeros of each integer."""
    bits = x.dtype.itemsize * 8
    rest = x.astype(np.dtype(f"u{x.dtype.itemsize}")).astype(np.uint64)
    n = np.full(rest.shape, bits, np.int64)
    for _ in range(bits):
        n -= rest != 0
        rest = rest >> np.uint64(1)
    return n.astype(x.dtype)


def _complex(re: np.ndarray, im: np.ndarray) -> np.ndarray:
    out = np.empty(np.broadcast_shapes(re.shape, im.shape), np.complex64 if re.dtype == np.float32 else np.complex128)
    out.real, out.imag = re, im
    return out


def _logistic(x: np.ndarray) -> np.ndarray:
    return (1 / (1 + np.exp(-x))).astype(x.dtype)


ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(k0: np.ndarray, k1: np.ndarray, c0: np.ndarray, c1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Threefry-2x32 with 20 rounds (Salmon et al., SC 2011)."""
    ks = (k0, k1, k0 ^ k1 ^ np.uint32(0x1BD11BDA))
    x0, x1 = c0 + ks[0], c1 + ks[1]
    for i in range(5):
        for r in ROTATIONS[i % 2]:
            x0 = x0 + x1
            x1 = ((x1 << np.uint32(r)) | (x1 >> np.uint32(32 - r))) ^ x0
        x0 = x0 + ks[(i + 1) % 3]
        x1 = x1 + ks[(i + 2) % 3] + np.uint32(i + 1)
    return x0, x1


def _in_float64(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun` computed in float64 and rounded to the dtype of the first operand."""
    return lambda *xs: np.asarray(fun(*[np.asarray(x, np.float64) for x in xs])).astype(np.asarray(xs[0]).dtype)


def _expn(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    known = np.isfinite(n)
    value = special.expn(np.rint(np.where(known, n, 0)).astype(np.int64), x.astype(np.float64))
    return np.where(known, value, np.nan).astype(x.dtype)


def _only(n: np.ndarray) -> int:
    """The order, one number for all elements."""
    return int(np.ravel(n)[0]) if np.size(n) else 1


UNARY: dict[str, Callable[[np.ndarray], Any]] = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: (1 / np.sqrt(x)).astype(x.dtype),
    "cbrt": np.cbrt,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": lambda x: special.erf(x),
    "erfc": lambda x: special.erfc(x),
    "erf_inv": lambda x: special.erfinv(x),
    "lgamma": special_ends.log_gamma,
    "digamma": lambda x: special.psi(x),
    "gamma": lambda x: special.gamma(x),
    "erfcx": lambda x: special.erfcx(x),
    "ndtri": lambda x: special.ndtri(x),
    "dawsn": lambda x: special.dawsn(x),
    "bessel_i0e": lambda x: special.i0e(x),
    "bessel_i1e": lambda x: special.i1e(x),
    "exp1": lambda x: special.exp1(x),
    "expi": lambda x: special.expi(x),
    "spence": lambda x: special.spence(x),
    "si": lambda x: special.sici(x)[0],
    "ci": lambda x: special.sici(x)[1],
    "fresnel_s": lambda x: special_ends.fresnel(x)[0],
    "fresnel_c": lambda x: special_ends.fresnel(x)[1],
    "wofz": lambda z: special.wofz(z),
    "logistic": _logistic,
    "is_finite": np.isfinite,
    "not": _bool_or(np.logical_not, np.invert),
    "population_count": lambda x: np.bitwise_count(x.view(np.dtype(f"u{x.dtype.itemsize}"))).astype(x.dtype),
    "clz": _clz,
    "real": np.real,
    "imag": np.imag,
    "conj": np.conj,
}

BINARY: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _truncated_div,
    "rem": np.fmod,
    "pow": np.power,
    "gcd": np.gcd,
    "atan2": np.arctan2,
    "max": np.maximum,
    "min": np.minimum,
    "and": _bool_or(np.logical_and, np.bitwise_and),
    "or": _bool_or(np.logical_or, np.bitwise_or),
    "xor": _bool_or(np.logical_xor, np.bitwise_xor),
    "shl": np.left_shift,
    "shr": _shr,
    "shr_logical": _shr_logical,
    "nextafter": np.nextafter,
    "complex": _complex,
    "igamma": _in_float64(special_ends.incomplete_gamma),
    "igammac": _in_float64(lambda a, x: special.gammaincc(a, x)),
    "betaln": _in_float64(log_beta),
    "expn": lambda n, x: _expn(n, x),
    "poch": _in_float64(rising),
    "owens_t": special_ends.owens_t,
    "zeta": _in_float64(special_ends.hurwitz),
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


MORE: dict[str, Callable[..., Any]] = {
    "jn": _in_float64(lambda x, n: special.jv(n, x)),
    "betainc": _in_float64(lambda a, b, x: special.betainc(a, b, x)),
    "gamma_ratio": _in_float64(lambda a, x, n: gamma_ratio(a, x, _only(n))),
    "betainc_ratio": _in_float64(lambda a, b, x, i, j: betainc_ratio(a, b, x, _only(i), _only(j))),
}


def cast(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`x` converted, a complex number by its real part."""
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = np.real(x)
    return x.astype(dtype)


def bitcast(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The bits of `x` as another dtype of the same width."""
    return np.ascontiguousarray(x).view(dtype).reshape(x.shape)


FOLDS: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def identity(op: str, dtype: np.dtype) -> Any:
    """What a fold over nothing gives."""
    if op == "max" or op == "min":
        if dtype.kind == "b":
            return op == "min"
        if dtype.kind in "iu":
            return np.iinfo(dtype).min if op == "max" else np.iinfo(dtype).max
        return dtype.type(-np.inf if op == "max" else np.inf)
    if op == "and":
        return dtype.type(True) if dtype.kind == "b" else ~dtype.type(0)
    return dtype.type(1 if op == "mul" else 0)
