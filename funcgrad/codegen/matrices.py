"""Kernels for small matrices: Cholesky, LU with partial pivoting, triangular and general systems, determinants.

`matrix_kernel("cholesky f64")` is the source text of a kernel that does one matrix for each point of [lo, hi). LAPACK is faster
for large matrices, and these are only asked for small ones (ops/_small.py): there a call of LAPACK costs more than the
arithmetic, and a loop with one inside would go back to Python in each step.

Matrices lie anywhere: dims gives, for each operand that is read, the distance in elements from one matrix to the next, from row
to row and from column to column. What is written lies in rows without gaps. Methods: Golub and Van Loan, Matrix Computations,
3.1 (triangular systems), 3.4 (LU), 4.2 (Cholesky by rows).
"""

from funcgrad.loops.nest import ERROR_RECORD_BYTES

SCRATCH = ERROR_RECORD_BYTES

_CHOLESKY = """
def k_cholesky_{t}(buffers, dims, lo, hi, scratch):
    # dims: n; matrix, row and column steps of x. The lower triangle of x is read; NaN where it is not positive definite.
    # A NaN in x spreads with the arithmetic, to its row and the rows that come after, as it does in LAPACK
    n = dims[0]
    bx = dims[1]
    rx = dims[2]
    cx = dims[3]
    x0 = ptr_{t}(buffers, 0)
    y0 = ptr_{t}(buffers, 1)
    for b in range(lo, hi):
        x = offset(x0, b * bx)
        y = offset(y0, b * n * n)
        bad = 0
        for i in range(n):
            for j in range(i):
                s = {t}(0.0)
                for k in range(j):
                    s = radd(s, mul(y[i * n + k], y[j * n + k]))
                y[i * n + j] = fdiv(sub(x[i * rx + j * cx], s), y[j * n + j])
            s = {t}(0.0)
            for k in range(i):
                s = radd(s, mul(y[i * n + k], y[i * n + k]))
            d = sub(x[i * rx + i * cx], s)
            if d <= {t}(0.0):
                bad = 1
            y[i * n + i] = sqrt(d)
            for j in range(i + 1, n):
                y[i * n + j] = {t}(0.0)
        if bad > 0:
            for i in range(n):
                for j in range(i + 1):
                    y[i * n + j] = {t}(nan)
"""

_TRIANGULAR = """
def k_triangular_{t}(buffers, dims, lo, hi, scratch):
    # dims: n, m; steps of a (n x n), of b (n x m), row and column steps of y; is a lower; is its diagonal 1. a y = b
    n = dims[0]
    m = dims[1]
    ba = dims[2]
    ra = dims[3]
    ca = dims[4]
    bb = dims[5]
    rb = dims[6]
    cb = dims[7]
    ry = dims[8]
    cy = dims[9]
    lower = dims[10]
    unit = dims[11]
    a0 = ptr_{t}(buffers, 0)
    b0 = ptr_{t}(buffers, 1)
    y0 = ptr_{t}(buffers, 2)
    for p in range(lo, hi):
        a = offset(a0, p * ba)
        b = offset(b0, p * bb)
        y = offset(y0, p * n * m)
        for s in range(n):
            i = n - 1 - s
            if lower > 0:
                i = s
            for j in range(m):
                y[i * ry + j * cy] = b[i * rb + j * cb]
            for r in range(s):
                k = n - 1 - r
                if lower > 0:
                    k = r
                f = a[i * ra + k * ca]
                for j in range(m):
                    y[i * ry + j * cy] = sub(y[i * ry + j * cy], mul(f, y[k * ry + j * cy]))
            if unit == 0:
                d = a[i * ra + i * ca]
                for j in range(m):
                    y[i * ry + j * cy] = fdiv(y[i * ry + j * cy], d)
"""

# P A = L U in w (rows without gaps), row by row down: the largest of the column becomes the pivot.
_ELIMINATION = """
        for i in range(n):
            for j in range(n):
                w[i * n + j] = x[i * rx + j * cx]
        for k in range(n):
            at = k
            best = fabs(w[k * n + k])
            for i in range(k + 1, n):
                if fabs(w[i * n + k]) > best:
                    best = fabs(w[i * n + k])
                    at = i
            {chosen}
            if at != k:
                for j in range(n):
                    t = w[k * n + j]
                    w[k * n + j] = w[at * n + j]
                    w[at * n + j] = t
                {swapped}
            if best > {t}(0.0):
                for i in range(k + 1, n):
                    f = fdiv(w[i * n + k], w[k * n + k])
                    w[i * n + k] = f
                    for j in range(k + 1, n):
                        w[i * n + j] = sub(w[i * n + j], mul(f, w[k * n + j]))
                    {eliminated}
"""

_SOLVE = """
def k_solve_{t}(buffers, dims, lo, hi, scratch):
    # dims: n, m; steps of x (n x n), of b (n x m). x y = b; a singular x gives NaN
    n = dims[0]
    m = dims[1]
    bx = dims[2]
    rx = dims[3]
    cx = dims[4]
    bb = dims[5]
    rb = dims[6]
    cb = dims[7]
    x0 = ptr_{t}(buffers, 0)
    b0 = ptr_{t}(buffers, 1)
    y0 = ptr_{t}(buffers, 2)
    w = row_{t}(scratch, {scratch}, 3)
    for p in range(lo, hi):
        x = offset(x0, p * bx)
        b = offset(b0, p * bb)
        y = offset(y0, p * n * m)
        for i in range(n):
            for j in range(m):
                y[i * m + j] = b[i * rb + j * cb]
        bad = 0
{elimination}
        for s in range(n):
            i = n - 1 - s
            for k in range(i + 1, n):
                f = w[i * n + k]
                for j in range(m):
                    y[i * m + j] = sub(y[i * m + j], mul(f, y[k * m + j]))
            for j in range(m):
                y[i * m + j] = fdiv(y[i * m + j], w[i * n + i])
        if bad > 0:
            for j in range(n * m):
                y[j] = {t}(nan)
"""
_IN_SOLVE = {
    "chosen": "if not best > {t}(0.0):\n                bad = 1",
    "swapped": "for j in range(m):\n                    t = y[k * m + j]\n                    y[k * m + j] = y[at * m + j]\n"
    "                    y[at * m + j] = t",
    "eliminated": "for j in range(m):\n                        y[i * m + j] = sub(y[i * m + j], mul(f, y[k * m + j]))",
}

_SLOGDET = """
def k_slogdet_{t}(buffers, dims, lo, hi, scratch):
    # dims: n; steps of x. The sign of the determinant and the logarithm of its size
    n = dims[0]
    bx = dims[1]
    rx = dims[2]
    cx = dims[3]
    x0 = ptr_{t}(buffers, 0)
    y0 = ptr_{t}(buffers, 1)
    z0 = ptr_{t}(buffers, 2)
    w = row_{t}(scratch, {scratch}, 3)
    for p in range(lo, hi):
        x = offset(x0, p * bx)
        sign = {t}(1.0)
{elimination}
        size = {t}(0.0)
        for i in range(n):
            d = w[i * n + i]
            if d < {t}(0.0):
                sign = neg(sign)
            if d == {t}(0.0):
                sign = {t}(0.0)
            size = add(size, log_{t}(fabs(d)))
        y0[p] = sign
        z0[p] = size
"""

_DET = """
def k_det_{t}(buffers, dims, lo, hi, scratch):
    # dims: n; steps of x
    n = dims[0]
    bx = dims[1]
    rx = dims[2]
    cx = dims[3]
    x0 = ptr_{t}(buffers, 0)
    y0 = ptr_{t}(buffers, 1)
    w = row_{t}(scratch, {scratch}, 2)
    for p in range(lo, hi):
        x = offset(x0, p * bx)
        sign = {t}(1.0)
{elimination}
        for i in range(n):
            sign = mul(sign, w[i * n + i])
        y0[p] = sign
"""
_IN_DET = {"chosen": "", "swapped": "sign = neg(sign)", "eliminated": ""}

_LU = """
def k_lu_{t}(buffers, dims, lo, hi, scratch):
    # dims: n; steps of x. y: L below the diagonal and U; z: the row that step k exchanged with k; o: the order of the
    # rows. A matrix that is not finite has factors of NaN
    n = dims[0]
    bx = dims[1]
    rx = dims[2]
    cx = dims[3]
    x0 = ptr_{t}(buffers, 0)
    y0 = ptr_{t}(buffers, 1)
    z0 = ptr_i32(buffers, 2)
    o0 = ptr_i32(buffers, 3)
    for p in range(lo, hi):
        x = offset(x0, p * bx)
        w = offset(y0, p * n * n)
        z = offset(z0, p * n)
        o = offset(o0, p * n)
        for i in range(n):
            o[i] = i32(i)
        size = {t}(0.0)
        for i in range(n):
            for j in range(n):
                size = max_(size, fabs(x[i * rx + j * cx]))
{elimination}
        if not is_finite(size):
            for i in range(n):
                z[i] = i32(i)
                o[i] = i32(i)
                for j in range(n):
                    w[i * n + j] = {t}(nan)
"""
_IN_LU = {
    "chosen": "z[k] = i32(at)",
    "swapped": "r = o[k]\n                o[k] = o[at]\n                o[at] = r",
    "eliminated": "",
}

_TEXTS = {
    "cholesky": (_CHOLESKY, {}),
    "triangular": (_TRIANGULAR, {}),
    "solve": (_SOLVE, _IN_SOLVE),
    "slogdet": (_SLOGDET, _IN_DET),
    "det": (_DET, _IN_DET),
    "lu": (_LU, _IN_LU),
}


def matrix_kernel(name: str) -> str:
    """The source text of a kernel: `name` is "solve f64", "cholesky f32" ..."""
    kind, t = name.split()
    text, parts = _TEXTS[kind]
    elimination = _ELIMINATION.strip("\n")
    for hole, lines in (parts or dict.fromkeys(_IN_DET, "")).items():
        elimination = _without_holes(elimination, hole, lines)
    filled = text.strip("\n").replace("{elimination}", elimination)
    return filled.replace("{t}", t).replace("{scratch}", str(SCRATCH)) + "\n"


def _without_holes(text: str, hole: str, lines: str) -> str:
    """`text` with `{hole}` filled in; an empty one takes its line with it."""
    mark = "{" + hole + "}"
    return "\n".join([line.replace(mark, lines) for line in text.split("\n") if lines or mark not in line])
