"""The operators of linear algebra, by name: factorisations, solves and determinants of batches of matrices."""

from funcgrad.ops.factor import eig, eigh, hessenberg, qr, schur, svd
from funcgrad.ops.quasitriangular import complex_schur, parlett
from funcgrad.ops.solve import adjugate, det, linear_solve, lu, permute_rows, slogdet
from funcgrad.ops.sylvester import pivots_to_permutation, sqrtm, sylvester
from funcgrad.ops.triangular import cholesky, triangular_solve

__all__ = [
    "adjugate",
    "cholesky",
    "complex_schur",
    "det",
    "eig",
    "eigh",
    "hessenberg",
    "linear_solve",
    "lu",
    "parlett",
    "permute_rows",
    "pivots_to_permutation",
    "qr",
    "schur",
    "slogdet",
    "sqrtm",
    "svd",
    "sylvester",
    "triangular_solve",
]
