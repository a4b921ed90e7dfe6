"""NumPy's functions on arrays that can be traced: `import funcgrad.numpy as fnp`.

The functions stand in the modules of this package by theme; each says in its `__all__` what users see. Here they are
gathered, and what users see on arrays (operators, methods, NumPy's dispatch) is installed.
"""

# ruff: noqa: F403, F405  (the names are those in the modules' __all__)

import sys

import funcgrad.bridge.eager  # noqa: F401  (the floor of the interpreter stack)
from funcgrad.numpy import (
    arithmetic,
    bessel,
    closeness,
    compare,
    constants,
    contract,
    creation,
    cumulative,
    diagonals,
    dtypes,
    edit,
    einstein,
    elementwise,
    fft,
    files,
    filled,
    fitting,
    floats,
    histograms,
    integers,
    interpolation,
    join,
    linalg,
    logarithms,
    means,
    methods,
    namespace_info,
    nonzeros,
    numbering,
    operators,
    padding,
    polynomials,
    protocol,
    quantiles,
    ranges,
    reductions,
    reordering,
    scalar_types,
    segments,
    selection,
    sets,
    sorting,
    statistics,
    structure,
    triangles,
    trigonometric,
    ufuncs,
    vectorized,
)
from funcgrad.numpy.arithmetic import *
from funcgrad.numpy.bessel import *
from funcgrad.numpy.closeness import *
from funcgrad.numpy.compare import *
from funcgrad.numpy.constants import *
from funcgrad.numpy.contract import *
from funcgrad.numpy.creation import *
from funcgrad.numpy.cumulative import *
from funcgrad.numpy.diagonals import *
from funcgrad.numpy.dtypes import *
from funcgrad.numpy.edit import *
from funcgrad.numpy.einstein import *
from funcgrad.numpy.elementwise import *
from funcgrad.numpy.files import *
from funcgrad.numpy.filled import *
from funcgrad.numpy.fitting import *
from funcgrad.numpy.floats import *
from funcgrad.numpy.histograms import *
from funcgrad.numpy.integers import *
from funcgrad.numpy.interpolation import *
from funcgrad.numpy.join import *
from funcgrad.numpy.logarithms import *
from funcgrad.numpy.means import *
from funcgrad.numpy.namespace_info import *
from funcgrad.numpy.nonzeros import *
from funcgrad.numpy.numbering import *
from funcgrad.numpy.padding import *
from funcgrad.numpy.polynomials import *
from funcgrad.numpy.quantiles import *
from funcgrad.numpy.ranges import *
from funcgrad.numpy.reductions import *
from funcgrad.numpy.reordering import *
from funcgrad.numpy.scalar_types import *
from funcgrad.numpy.selection import *
from funcgrad.numpy.sets import *
from funcgrad.numpy.sorting import *
from funcgrad.numpy.statistics import *
from funcgrad.numpy.structure import *
from funcgrad.numpy.triangles import *
from funcgrad.numpy.trigonometric import *
from funcgrad.numpy.ufuncs import *
from funcgrad.numpy.vectorized import *

bool = bool_

__all__ = ["bool", "fft", "linalg"]
__all__ += arithmetic.__all__
__all__ += bessel.__all__
__all__ += compare.__all__
__all__ += closeness.__all__
__all__ += constants.__all__
__all__ += contract.__all__
__all__ += creation.__all__
__all__ += filled.__all__
__all__ += ranges.__all__
__all__ += triangles.__all__
__all__ += cumulative.__all__
__all__ += diagonals.__all__
__all__ += dtypes.__all__
__all__ += scalar_types.__all__
__all__ += einstein.__all__
__all__ += elementwise.__all__
__all__ += files.__all__
__all__ += fitting.__all__
__all__ += histograms.__all__
__all__ += floats.__all__
__all__ += integers.__all__
__all__ += interpolation.__all__
__all__ += join.__all__
__all__ += logarithms.__all__
__all__ += namespace_info.__all__
__all__ += padding.__all__
__all__ += polynomials.__all__
__all__ += reductions.__all__
__all__ += means.__all__
__all__ += selection.__all__
__all__ += numbering.__all__
__all__ += edit.__all__
__all__ += nonzeros.__all__
__all__ += sets.__all__
__all__ += sorting.__all__
__all__ += statistics.__all__
__all__ += quantiles.__all__
__all__ += structure.__all__
__all__ += reordering.__all__
__all__ += trigonometric.__all__
__all__ += ufuncs.__all__
__all__ += vectorized.__all__
ufuncs.install(sys.modules[__name__])
operators.install()
segments.install()
methods.install(sys.modules[__name__])
protocol.install(sys.modules[__name__])
