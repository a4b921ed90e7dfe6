"""SciPy's special functions on arrays that can be traced: `from funcgrad.scipy import special`.

Eager values are SciPy's, apart from those where it loses digits (betaln, comb, logit, log_ndtr, boxcox, zeta, hyp2f1). Compiled
ones come from kernels within about 1e-13 (float64) of exact, relative to the value away from zeros; the bound of each stands in
funcgrad/codegen/math_*.py. Derivatives are exact, of any order unless it is said, in all arguments for which they have a meaning.
"""

# ruff: noqa: F403, F405  (the names are those in the modules' __all__)

from funcgrad.scipy.special import entropy, gammas, integrals, normal, series
from funcgrad.scipy.special.entropy import *
from funcgrad.scipy.special.gammas import *
from funcgrad.scipy.special.integrals import *
from funcgrad.scipy.special.normal import *
from funcgrad.scipy.special.series import *

__all__ = []
__all__ += entropy.__all__
__all__ += gammas.__all__
__all__ += integrals.__all__
__all__ += normal.__all__
__all__ += series.__all__
