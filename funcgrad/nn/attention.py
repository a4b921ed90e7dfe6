"""dot_product_attention: softmax(Q K^T scale + bias) V per head, with masks, windows, sequence lengths and grouped heads.

Vaswani et al., "Attention Is All You Need", 2017; grouped heads: Ainslie et al., "GQA", 2023. 16-bit floats are multiplied and
summed in float32. A query that may attend to nothing gets zeros (and passes no gradient), not an average over what is masked.
"""

import math
from typing import Any

import numpy as np

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import DtypeError, ShapeError, UsageError, message
from funcgrad.nn.normalize import logsumexp, softmax
from funcgrad.numpy._axes import fitting, static_ints
from funcgrad.numpy._promote import as_value, cast
from funcgrad.numpy.compare import logical_and
from funcgrad.numpy.einstein import einsum
from funcgrad.numpy.elementwise import add, multiply
from funcgrad.numpy.structure import broadcast_to, expand_dims, moveaxis, reshape
from funcgrad.ops import elementwise as ew
from funcgrad.ops.shape import iota
from funcgrad.trace.value import Value

__all__ = ["dot_product_attention"]


def _four(x: Any, arg: str) -> Value:
    v = as_value(x, "nn.dot_product_attention", arg)
    if v.ndim > 4:
        raise ShapeError(
            message(f"nn.dot_product_attention: got {arg} {v.aval.str_short()}", "at most four axes", "fg.vmap over the others")
        )
    return expand_dims(v, tuple(range(4 - v.ndim))) if v.ndim < 4 else v


def _check(query: Value, key: Value, value: Value) -> None:
    b, _, k, h = key.shape
    if value.shape[:3] != key.shape[:3] or query.shape[0] != b or query.shape[3] != h or not k or query.shape[2] % k:
        raise ShapeError(
            message(
                f"nn.dot_product_attention: got query {query.shape}, key {key.shape}, value {value.shape}",
                "query (B, T, N, H), key and value (B, S, K, H), N a multiple of K",
                "reshape the heads into their own axis: x.reshape(B, T, N, H)",
            )
        )
    if len({query.dtype, key.dtype, value.dtype}) > 1 or query.dtype not in dt.FLOATS:
        raise DtypeError(
            message(
                f"nn.dot_product_attention: got {query.dtype}, {key.dtype}, {value.dtype}", "one floating dtype", "x.astype(...)"
            )
        )


def _window(size: Any) -> tuple[int, int]:
    pair = static_ints(size, "nn.dot_product_attention", "local_window_size")
    pair = pair * 2 if isinstance(size, (int, np.integer)) else pair
    if len(pair) != 2:
        raise UsageError(
            message(
                f"nn.dot_product_attention: got local_window_size={size}",
                "an integer, or (left, right)",
                "local_window_size=(3, 0)",
            )
        )
    left, right = [fitting(n, "nn.dot_product_attention", "local_window_size") for n in pair]
    return left, right


def _lengths(x: Any, arg: str, batch: int) -> Any:
    v = as_value(x, "nn.dot_product_attention", arg)
    if v.shape != (batch,) or v.dtype not in dt.INTEGERS:
        raise ShapeError(
            message(
                f"nn.dot_product_attention: got {arg} {v.aval.str_short()}", f"integers of shape ({batch},)", f"{arg}.astype(int)"
            )
        )
    return ew.convert(v, dt.int64)


def _grouped(x: Value, groups: int, heads: int) -> Any:
    """(B, N or 1, T, S) -> (B, K or 1, G or 1, T, S)."""
    b, n, t, s = x.shape
    if n == 1:
        return reshape(x, (b, 1, 1, t, s))
    if n != groups * heads:
        raise ShapeError(
            message(
                f"nn.dot_product_attention: got a mask or bias of shape {x.shape}",
                f"{groups * heads} heads, or 1",
                "mask[:, None]",
            )
        )
    return reshape(x, (b, heads, groups, t, s))


def _combined_mask(
    mask: Any, is_causal: bool, window: Any, q_lengths: Any, kv_lengths: Any, t: int, s: int, groups: int, heads: int
) -> Any:
    """What may be attended to, broadcastable to (B, K, G, T, S), or None for everything."""
    parts = []
    if mask is not None:
        m = _four(mask, "mask")
        if m.dtype != dt.bool_:
            raise DtypeError(
                message(
                    f"nn.dot_product_attention: got mask {m.aval.str_short()}",
                    "booleans, True where attention is allowed",
                    "mask.astype(bool), or bias= for numbers that are added",
                )
            )
        parts.append(_grouped(m, groups, heads))
    shape = (1, 1, 1, t, s)
    rows, columns = iota(dtype=dt.int64, shape=shape, dimension=3), iota(dtype=dt.int64, shape=shape, dimension=4)
    if flag(is_causal, "nn.dot_product_attention", "is_causal"):
        parts.append(ew.ge(rows, columns))
    if window is not None:
        left, right = _window(window)
        parts.append(ew.and_(ew.le(rows, ew.add(columns, np.int64(left))), ew.ge(rows, ew.sub(columns, np.int64(right)))))
    for lengths, places in ((q_lengths, rows), (kv_lengths, columns)):
        if lengths is not None:
            n = lengths.shape[0]
            wide = broadcast_to(reshape(lengths, (n, 1, 1, 1, 1)), (n, 1, 1, t, s))
            parts.append(ew.lt(broadcast_to(places, wide.shape), wide))
    out = None
    for part in parts:
        out = part if out is None else logical_and(out, part)
    return out


def dot_product_attention(
    query: Any, key: Any, value: Any, bias: Any = None, mask: Any = None, *, scale: Any = None, is_causal: bool = False,
    query_seq_lengths: Any = None, key_value_seq_lengths: Any = None, local_window_size: Any = None, implementation: Any = None,
    return_residual: bool = False,
) -> Any:  # fmt: skip
    """softmax(query key^T * scale + bias) value, for each head.

    Args: query: (B, T, N, H) or (T, N, H). key, value: (B, S, K, H) or (S, K, H), N a multiple of K (groups of query heads share
    one of theirs). bias: added to the logits, broadcastable to (B, N, T, S). mask: booleans of such a shape, True where
    attention is allowed. scale: 1 / sqrt(H) without one. is_causal: query t attends to keys up to t. query_seq_lengths,
    key_value_seq_lengths: (B,) integers; what lies beyond is padding. local_window_size: (left, right) or an integer: how far
    from its own place a query sees. implementation: None or "xla"; there is one. return_residual: also give the logsumexp of the
    logits, (B, T, N), without gradient. Returns: an array of the shape and dtype of query (its last axis that of value).

    >>> x = fnp.arange(6.0).reshape(3, 1, 2)  # three places, one head, two features
    >>> nn.dot_product_attention(fnp.zeros((3, 1, 2)), x, x)[:, 0]  # no preference: the mean of all values
    Array([[2., 3.],
           [2., 3.],
           [2., 3.]], dtype=float32)
    >>> nn.dot_product_attention(fnp.zeros((3, 1, 2)), x, x, is_causal=True)[:, 0]
    Array([[0., 1.],
           [1., 2.],
           [2., 3.]], dtype=float32)
    """
    if not among(implementation, (None, "xla")):
        raise UsageError(
            message(f"nn.dot_product_attention: got implementation={implementation!r}", "None or 'xla'", "leave it out")
        )
    shape = as_value(query, "nn.dot_product_attention", "query").shape
    q, k, v = _four(query, "query"), _four(key, "key"), _four(value, "value")
    _check(q, k, v)
    b, t, n, h = q.shape
    s, heads = k.shape[1:3]
    groups = n // heads
    work = dt.float32 if q.dtype.itemsize < 4 else q.dtype
    grouped = reshape(q, (b, t, heads, groups, h))
    logits = einsum("btkgh,bskh->bkgts", grouped, k, preferred_element_type=work)
    logits = multiply(logits, work.type(1 / math.sqrt(h)) if scale is None else scale)
    if bias is not None:
        logits = cast(add(logits, _grouped(_four(bias, "bias"), groups, heads)), work)
    q_lengths = None if query_seq_lengths is None else _lengths(query_seq_lengths, "query_seq_lengths", b)
    kv_lengths = None if key_value_seq_lengths is None else _lengths(key_value_seq_lengths, "key_value_seq_lengths", b)
    allowed = _combined_mask(mask, is_causal, local_window_size, q_lengths, kv_lengths, t, s, groups, heads)
    weights = cast(softmax(logits, -1, where=allowed), k.dtype)
    out = einsum("bkgts,bskh->btkgh", weights, v)
    out = reshape(out, (*shape[:-1], v.shape[3]))
    if not flag(return_residual, "nn.dot_product_attention", "return_residual"):
        return out
    residual = cast(ew.stop_gradient(logsumexp(logits, -1, where=allowed)), k.dtype)
    return out, reshape(moveaxis(residual, -1, 1), shape[:-1])
