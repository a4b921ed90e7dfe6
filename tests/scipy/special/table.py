"""Every function of scipy.special that is elementwise: operands for its values, and points for its derivatives."""

import numpy as np

inf, nan = np.inf, np.nan
REALS = np.array(
    [-inf, -1e10, -30.5, -3.0, -2.5, -1.0, -0.5, -1e-9, -0.0, 0.0, 1e-300, 1e-9, 0.3, 1.0, 1.5, 2.0, 7.7, 40.0, 1e5, inf, nan]
)
POSITIVE = np.array([0.0, 1e-300, 1e-9, 0.3, 0.5, 1.0, 1.4, 1.6, 2.0, 7.7, 40.0, 1e3, 1e5, inf, nan])
PARTS = np.array([-0.1, 0.0, 1e-300, 1e-20, 1e-9, 0.02, 0.24, 0.26, 0.5, 0.6, 0.74, 0.76, 0.98, 1 - 1e-9, 1.0, 1.1, nan])
SHAPES = np.array([1e-9, 1e-3, 0.3, 1.0, 1.5, 6.0, 30.0, 400.0, 1e5])


def grid(*axes):
    return tuple(a.ravel() for a in np.meshgrid(*axes, indexing="ij"))


# name: (operands, points of derivatives, relative tolerance)
TABLE = {
    "gammaln": ((REALS,), [(0.3,), (4.5,), (-1.3,)]),
    "digamma": ((REALS[1:],), [(0.3,), (4.5,), (-1.3,)]),
    "gamma": ((np.append(REALS, [100.0, 171.5, 172.0, -100.5, -200.5]),), [(0.3,), (4.5,), (-1.3,)]),
    "gammasgn": ((REALS,), []),
    "loggamma": ((REALS,), [(0.3,), (4.5,)]),
    "gammainc": (grid(SHAPES, POSITIVE), [(0.4, 0.3), (0.4, 3.0), (5.0, 4.0), (5.0, 8.0)]),
    "gammaincc": (grid(SHAPES, POSITIVE), [(0.4, 0.3), (0.4, 3.0), (5.0, 4.0), (5.0, 8.0)]),
    "betainc": (grid(SHAPES[:-1], SHAPES[:-1], PARTS[1:-2]), [(0.4, 0.7, 0.2), (3.0, 5.0, 0.3), (3.0, 5.0, 0.6)]),
    "beta": (grid(np.append(SHAPES, [-0.5, -1.5, 0.0, nan]), SHAPES), [(0.4, 3.0), (5.0, -0.5)]),
    "factorial": ((np.array([-inf, -2.0, -1.5, -0.5, 0.0, 0.5, 1.0, 5.0, 20.0, 170.0, nan]),), [(0.3,), (4.5,)]),
    "poch": (grid(np.array([-2.0, -0.5, 0.0, 0.3, 4.0, 30.0]), np.array([0.0, 1.0, 0.5, 3.0, 10.5])), [(0.3, 2.0), (4.5, 1.5)]),
    "comb": (grid(np.array([-1.0, 0.0, 1.0, 5.0, 7.5, 100.0]), np.array([-1.0, 0.0, 1.0, 2.5, 5.0])), [(7.5, 2.5), (10.0, 3.0)]),
    "zeta": (grid(np.array([0.5, 1.0, 1.01, 2.0, 2.5, 9.0, 60.0]), np.array([0.1, 1.0, 3.5, 50.0, 1e4, nan])), [(1.5, 0.7), (4.0, 6.0)]),
    "erf": ((REALS,), [(0.3,), (-2.0,)]),
    "erfc": ((REALS,), [(0.3,), (-2.0,), (5.0,)]),
    "erfcx": ((np.append(REALS, [-26.0, 49.0, 51.0]),), [(0.3,), (-2.0,), (5.0,), (60.0,)]),
    "erfinv": ((np.array([-1.1, -1.0, -0.999999, -0.5, 0.0, 1e-300, 1e-9, 0.3, 0.99, 1.0, nan]),), [(0.3,), (-0.9,)]),
    "dawsn": ((REALS,), [(0.3,), (-2.0,), (5.0,), (-60.0,)]),
    "ndtr": ((REALS,), [(0.3,), (-2.0,)]),
    "ndtri": ((PARTS,), [(0.3,), (0.01,), (0.97,)]),
    "log_ndtr": ((REALS,), [(0.3,), (-0.99,), (-1.01,), (-20.0,), (4.0,)]),
    "expit": ((REALS,), [(0.3,), (-2.0,)]),
    "logit": ((PARTS,), [(0.3,), (0.01,), (0.97,), (0.249,), (0.251,)]),
    "xlogy": (grid(REALS, POSITIVE), [(0.0, 0.7), (-2.0, 3.0)]),
    "xlog1py": (grid(REALS, np.append(POSITIVE, [-1.0, -0.3])), [(0.0, 0.7), (-2.0, -0.3)]),
    "entr": ((REALS,), [(0.3,), (2.0,)]),
    "rel_entr": (grid(REALS[3:], np.append(POSITIVE, -1.0)), [(0.3, 0.7), (2.0, 1.5)]),
    "kl_div": (grid(REALS[3:-2], np.append(POSITIVE[:-2], -1.0)), [(0.3, 0.7), (2.0, 1.5)]),
    "boxcox": (grid(np.array([-1.0, 0.0, 1e-5, 0.3, 1.0, 4.0, 1e5]), np.array([-2.0, -1e-9, 0.0, 1e-9, 0.3, 3.0])),
               [(0.3, 0.0), (2.0, 0.3), (3.0, 2.0), (3.0, -1.0)]),
    "boxcox1p": (grid(np.array([-2.0, -1.0, -0.5, 1e-12, 0.3, 4.0, 1e5]), np.array([-2.0, -1e-9, 0.0, 1e-9, 0.3, 3.0])),
                 [(0.3, 0.0), (2.0, 0.3), (3.0, 2.0), (-0.5, -1.0)]),
}  # fmt: skip
