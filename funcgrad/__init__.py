"""funcgrad: functional arrays and composable transforms on NumPy, lowered to readable Numba kernels.

    import funcgrad as fg
    import funcgrad.numpy as fnp

This file holds names only. Nothing is compiled by an import.
"""

from funcgrad import errors as errors
from funcgrad import tree as tree
from funcgrad import tree_util as tree_util
from funcgrad.core.config import checking_leaks as checking_leaks
from funcgrad.core.config import config as config
from funcgrad.core.config import debug_nans as debug_nans
from funcgrad.core.config import default_device as default_device
from funcgrad.core.config import disable_jit as disable_jit
from funcgrad.core.config import log_compiles as log_compiles
from funcgrad.core.config import numpy_rank_promotion as numpy_rank_promotion

__version__ = "0.1.0"
