"""The operators of linear algebra, by name: factorisations, solves and determinants of batches of matrices."""

from funcgrad.ops.factor import eig, eigh, qr, schur, svd
from funcgrad.ops.solve import adjugate, det, linear_solve, lu, permute_rows, slogdet
from funcgrad.ops.triangular import cholesky, triangular_solve

__all__ = [
    "adjugate",
    "cholesky",
    "det",
    "eig",
    "eigh",
    "linear_solve",
    "lu",
    "permute_rows",
    "qr",
    "schur",
    "slogdet",
    "svd",
    "triangular_solve",
]
