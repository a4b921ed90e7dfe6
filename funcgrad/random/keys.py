"""PRNG keys: making, splitting, folding in, taking apart.

A typed key (`key(0)`) is an array of dtype `key<fry>`; a raw one (`PRNGKey(0)`) is uint32 with a last axis of 2. Every
function takes
either, and gives back keys of the kind that it got. The bits are those of `jax.random` for the same seed.
"""

import operator
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.config import config
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, describe, message
from funcgrad.numpy._axes import shape_of
from funcgrad.numpy._promote import as_value, operand
from funcgrad.ops import elementwise as ew
from funcgrad.ops.bits import random_fold_in, random_seed, random_split, random_unwrap, random_wrap
from funcgrad.trace.value import Value

__all__ = ["PRNGKey", "clone", "fold_in", "key", "key_data", "key_dtype", "key_impl", "split", "wrap_key_data"]

_IMPLEMENTATIONS = (None, "threefry2x32", "fry")


def _check_impl(name: str, impl: Any) -> None:
    if impl is not None and not (isinstance(impl, str) and impl in _IMPLEMENTATIONS) and not among(impl, (dt.KEY,)):
        raise UsageError(
            message(f"random.{name}: got impl={impl!r}", "'threefry2x32' (or None, which means it)", f"random.{name}(seed)")
        )


def _seeded(name: str, seed: Any) -> Any:
    """The typed key of a seed: its two halves of 32 bits, as JAX makes it of 64-bit seeds.

    JAX takes seeds in 32 bits where its default float is float32. What fits these (also negative, as their complement) gives
    the same key here; what does not keeps its upper half, which JAX drops.
    """
    wide = config.enable_x64
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, (bool, np.bool_)):
        number = operator.index(seed)
        if not -(2**63) <= number < 2**64:
            raise OverflowError(message(f"random.{name}: got seed {number}", "integers of at most 64 bits", "seed % 2**64"))
        bits = 32 if -(2**31) <= number < 2**32 and not wide else 64
        return random_seed(np.uint64(number % 2**bits))
    x = as_value(seed, f"random.{name}", "seed")
    if x.aval.dtype not in dt.INTEGERS:
        raise DtypeError(message(f"random.{name}: got {describe(x)} for the seed", "an integer", f"random.{name}(int(seed))"))
    if x.aval.ndim:
        raise ShapeError(
            message(f"random.{name}: got seeds of shape {x.aval.shape}", "one integer", f"fg.vmap(random.{name})(seeds)")
        )
    if wide:
        return random_seed(x)
    if x.aval.dtype.itemsize < 8:
        return random_seed(ew.convert(x, dt.uint32))
    if x.aval.dtype == dt.int64:
        small = ew.and_(ew.lt(x, np.int64(0)), ew.ge(x, np.int64(-(2**31))))
        x = ew.select_n(small, x, ew.and_(x, np.int64(2**32 - 1)))
    return random_seed(x)


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """A typed PRNG key from an integer seed.

    Args: seed: an integer of at most 64 bits; all of them count (negative ones down to -2**31 are taken modulo 2**32, as in JAX
    with its default of 32 bits). impl, dtype: "threefry2x32" or None.
    Returns: a scalar array of dtype key<fry>.
    Raises: TypeError for a seed that is not an integer, OverflowError for more than 64 bits.

    >>> k = random.key(0)
    >>> k
    Array((), dtype=key<fry>) overlaying:
    [0 0]
    >>> random.normal(k, (3,))
    Array([ 1.622642  ,  2.0252647 , -0.43359438], dtype=float32)
    """
    _check_impl("key", impl if dtype is None else dtype)
    return _seeded("key", seed)


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """A raw PRNG key, uint32[2], from an integer seed; `key(seed)` makes a typed one. impl: "threefry2x32" or None.

    >>> random.PRNGKey(7)
    Array([0, 7], dtype=uint32)
    >>> random.normal(random.PRNGKey(7)) == random.normal(random.key(7))
    Array(True, dtype=bool)
    """
    _check_impl("PRNGKey", impl)
    return random_unwrap(_seeded("PRNGKey", seed))


def typed(name: str, key: Any) -> tuple[Any, bool]:
    """A key (array) as typed keys, and whether it came raw."""
    if not isinstance(key, (Value, np.ndarray)):
        raise TypeError(message(f"random.{name}: got {describe(key)} for key", "a PRNG key", "random.key(0)"))
    x = as_value(key, f"random.{name}", "key")
    if x.aval.dtype == dt.KEY:
        return x, False
    if x.aval.dtype == dt.uint32 and x.aval.shape[-1:] == (2,):
        return random_wrap(x), True
    raise TypeError(message(f"random.{name}: got {describe(x)} for key", "a PRNG key: key<fry>[], or uint32[2]", "random.key(0)"))


def single(name: str, key: Any) -> Any:
    """One typed key; arrays of keys raise, naming vmap."""
    k, _ = typed(name, key)
    if k.aval.ndim:
        raise ShapeError(
            message(
                f"random.{name}: got keys of shape {k.aval.shape}", "one key", f"fg.vmap(lambda k: random.{name}(k, ...))(keys)"
            )
        )
    return k


def split(key: Any, num: Any = 2) -> Any:
    """`num` (an integer, or a shape) new independent keys from one, along new leading axes.

    A key gives the same numbers each time: split it, use the parts once each, and keep one to split on.

    >>> key, subkey = random.split(random.key(0))
    >>> random.uniform(subkey), random.split(key, (2, 3)).shape
    (Array(0.00729382, dtype=float32), (2, 3))
    """
    k, raw = typed("split", key)
    single("split", k)
    out = random_split(k, shape=shape_of(num, "random.split", "num"))
    return random_unwrap(out) if raw else out


def fold_in(key: Any, data: Any) -> Any:
    """The key that `key` and the 32-bit integer `data` give together: for instance one key for each step of a loop.

    data: 0 to 2**32 - 1 (others raise OverflowError), or a traced integer.

    >>> key = random.key(0)
    >>> [random.randint(random.fold_in(key, step), (), 0, 100).item() for step in range(3)]
    [91, 22, 59]
    """
    k, raw = typed("fold_in", key)
    single("fold_in", k)
    number = operand(data, "random.fold_in", "data")
    if isinstance(number, Value):
        if number.aval.dtype not in dt.INTEGERS | dt.BOOLS or number.aval.ndim:
            raise TypeError(
                message(
                    f"random.fold_in: got data {describe(number)}", "one integer", "fg.vmap(random.fold_in, (None, 0))(key, data)"
                )
            )
        word: Any = ew.convert(number, dt.uint32)
    else:
        try:
            word = np.uint32(operator.index(number))
        except (TypeError, OverflowError):
            raise OverflowError(
                message(f"random.fold_in: got data {number!r}", "integers from 0 to 2**32 - 1", "data % 2**32")
            ) from None
    out = random_fold_in(k, word)
    return random_unwrap(out) if raw else out


def key_data(keys: Any) -> Any:
    """The words of keys: uint32 with a last axis of 2.

    >>> random.key_data(random.key(7))
    Array([0, 7], dtype=uint32)
    """
    return random_unwrap(typed("key_data", keys)[0])


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Typed keys from their words, uint32 with a last axis of 2: the inverse of `key_data`.

    >>> key = random.wrap_key_data(np.array([0, 7], np.uint32))
    >>> random.uniform(key) == random.uniform(random.key(7))
    Array(True, dtype=bool)
    """
    _check_impl("wrap_key_data", impl if dtype is None else dtype)
    x = as_value(key_bits_array, "random.wrap_key_data", "key_bits_array")
    if x.aval.dtype != dt.uint32 or x.aval.shape[-1:] != (2,):
        raise ShapeError(
            message(f"random.wrap_key_data: got {describe(x)}", "uint32 with a last axis of 2", "random.key_data(key)")
        )
    return random_wrap(x)


def key_impl(keys: Any) -> str:
    """The name of the generator of these keys: Threefry-2x32 with 20 rounds.

    >>> random.key_impl(random.key(0))
    'threefry2x32'
    """
    typed("key_impl", keys)
    return "threefry2x32"


def key_dtype(impl_spec: Any = None) -> np.dtype:
    """The dtype of typed keys.

    >>> random.key(0).dtype == random.key_dtype()
    True
    """
    _check_impl("key_dtype", impl_spec)
    return dt.KEY


def clone(key: Any) -> Any:
    """The key itself, for code that marks a deliberate second use.

    >>> key = random.key(0)
    >>> random.uniform(random.clone(key)) == random.uniform(key)
    Array(True, dtype=bool)
    """
    typed("clone", key)
    return key
