"""einsum: subscripts to a sequence of `dot_general` calls along an opt_einsum path.

A letter twice in one operand takes its diagonal (a view); a letter in one operand only and not in the output is summed
before the product; what is left of two operands is one batched matrix product.
"""

from typing import Any

from funcgrad.core import dtypes as dt
from funcgrad.core.arguments import among
from funcgrad.core.errors import ShapeError, UsageError, describe, message
from funcgrad.core.lazy import LazyModule
from funcgrad.numpy._precision import check_precision
from funcgrad.numpy._promote import cast, check_unsupported, common_dtype, values_of
from funcgrad.numpy.diagonals import diagonal
from funcgrad.numpy.elementwise import multiply
from funcgrad.numpy.reductions import any as any_
from funcgrad.numpy.reductions import sum as sum_
from funcgrad.numpy.structure import expand_dims, transpose
from funcgrad.ops.contract import dot_general
from funcgrad.trace.value import Value

__all__ = ["einsum", "einsum_path"]

opt_einsum: Any = LazyModule("opt_einsum")


class _Shape:
    """What opt_einsum needs to know of an operand."""

    def __init__(self, shape: tuple[int, ...]):
        self.shape, self.ndim = shape, len(shape)


def _parse(subscripts: Any, operands: tuple[Any, ...]) -> tuple[list[str], str, list[Value]]:
    """The letters of each operand, those of the output, and the operands."""
    if not isinstance(subscripts, str):
        # einsum(x, [0, 1], y, [1, 2], [0, 2])
        try:
            subscripts, operands = opt_einsum.parser.convert_interleaved_input((subscripts, *operands))
        except (AssertionError, TypeError, ValueError, KeyError):
            raise UsageError(
                message(
                    f"fnp.einsum: got {describe(subscripts)} in the place of the subscripts",
                    "a text, or arrays and lists of axes in turn",
                    "fnp.einsum('ij,jk->ik', x, y)",
                )
            ) from None
    if not operands:
        raise UsageError(message(f"fnp.einsum: got {subscripts!r} and no arrays", "one array or more", "fnp.einsum('ij->i', x)"))
    xs = values_of("einsum", **{f"operands[{i}]": x for i, x in enumerate(operands)})
    try:
        inputs, output, _ = opt_einsum.parser.parse_einsum_input((subscripts, *[_Shape(x.shape) for x in xs]))
    except (AssertionError, ValueError, TypeError) as error:
        raise UsageError(
            message(
                f"fnp.einsum: got {subscripts!r} for shapes {[x.shape for x in xs]}: {error}",
                "one group of letters an operand, and letters of them, each once, after ->",
                _readable(subscripts, [x.ndim for x in xs]),
            )
        ) from None
    letters = inputs.split(",")
    sizes: dict[str, int] = {}
    for group, x in zip(letters, xs):
        if len(group) != x.ndim:
            raise ShapeError(
                message(
                    f"fnp.einsum: got {group!r} for {x.aval.str_short()}",
                    "one letter an axis",
                    "'...' for the axes that are left",
                )
            )
        for letter, n in zip(group, x.shape):
            if sizes.setdefault(letter, n) == 1:
                sizes[letter] = n
            elif n not in (1, sizes[letter]):
                raise ShapeError(
                    message(
                        f"fnp.einsum: got extents {sizes[letter]} and {n} for {letter!r} in {subscripts!r}",
                        "one extent a letter",
                        f"another letter for one of them; the shapes are {', '.join(str(x.shape) for x in xs)}",
                    )
                )
    return letters, output, xs


def _readable(subscripts: str, ranks: list[int]) -> str:
    """Subscripts that fit operands of these ranks: those given, where only their output is wrong."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    if arrow and [len(group) for group in inputs.split(",")] == ranks and inputs.replace(",", "").isalpha():
        return repr(f"{inputs}->{''.join(dict.fromkeys(letter for letter in output if letter in set(inputs) - {','}))}")
    letters = iter("ijklmnopqrstuvwxyzabcdefgh" * (1 + sum(ranks) // 26))
    groups = ["".join([next(letters) for _ in range(n)]) for n in ranks]
    return f"{','.join(groups)!r}, with the same letter for axes that go together"


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> tuple[Any, str]:
    """The order of contraction that `einsum` takes, and a report on its cost. Arguments as in `einsum`.

    >>> path, report = fnp.einsum_path("ij,jk,k->i", fnp.ones((9, 9)), fnp.ones((9, 9)), fnp.ones(9))
    >>> path
    ['einsum_path', (1, 2), (0, 1)]
    """
    letters, output, xs = _parse(subscripts, operands)
    text = ",".join(letters) + "->" + output
    path, info = _path(text, xs, optimize)
    return ["einsum_path", *path], str(info)


def _path(text: str, xs: list[Any], optimize: Any) -> tuple[Any, Any]:
    """opt_einsum's path and report; an error where `optimize` is none of its ways and no path for these operands."""
    try:
        way = _optimize(optimize, len(xs))
        return opt_einsum.contract_path(text, *[x.shape for x in xs], shapes=True, optimize=way)
    except UsageError:
        raise
    except (IndexError, TypeError, ValueError) as error:
        came = f"fnp.einsum: got optimize={optimize!r} for {len(xs)} operands: {error}"
        raise UsageError(message(came, "a path that contracts all operands", "optimize='auto'")) from None


_STRATEGIES = (
    "auto", "auto-hq", "optimal", "branch-all", "branch-2", "branch-1", "greedy", "eager", "opportunistic", "dp",
    "dynamic-programming", "random-greedy", "random-greedy-128",
)  # fmt: skip


def _optimize(optimize: Any, count: int) -> Any:
    """The argument as opt_einsum takes it, for so many operands; False is the two first of them each time."""
    if optimize is False:
        return [(0, 1)] + [(0, i) for i in range(count - 2, 0, -1)] if count > 1 else [(0,)]
    if optimize is True:
        return "optimal"
    if isinstance(optimize, (list, tuple)):
        return [tuple(p) for p in optimize if not isinstance(p, str)] if optimize else optimize
    if among(optimize, _STRATEGIES) or callable(optimize):
        return optimize
    raise UsageError(
        message(
            f"fnp.einsum: got optimize={optimize!r}",
            f"a bool, a path (a list of tuples of places), or {', '.join(map(repr, _STRATEGIES))}",
            "optimize='auto'",
        )
    )


def einsum(
    subscripts: Any, /, *operands: Any, out: Any = None, optimize: Any = "auto", precision: Any = None,
    preferred_element_type: Any = None, _dot_general: Any = dot_general, out_sharding: Any = None,
) -> Any:  # fmt: skip
    """Sums of products by Einstein's convention.

    Args: subscripts: "ij,jk->ik", with "..." for axes that broadcast; without "->" the letters that appear once are kept, in
    alphabetical order. Also the interleaved form `einsum(x, [0, 1], y, [1, 2])`. operands: arrays. optimize: an opt_einsum
    strategy,
    True, False (left to right) or a path. preferred_element_type: dtype of the products and of the result.
    Raises: ShapeError where a letter has two extents; UsageError for subscripts that cannot be read.
    out, out_sharding: must be None. precision: accepted; products are in full precision. _dot_general: must be left out.

    >>> x, y = fnp.array([[1, 2], [3, 4]]), fnp.array([[1, 0], [1, 1]])
    >>> fnp.einsum("ij,jk->ik", x, y)
    Array([[3, 2],
           [7, 4]], dtype=int64)
    >>> fnp.einsum("ii", x), fnp.einsum("...j->...", x)
    (Array(5, dtype=int64), Array([3, 7], dtype=int64))
    """
    check_unsupported("einsum", out=out)
    check_precision(precision, "einsum")
    if out_sharding is not None or _dot_general is not dot_general:
        raise UsageError(message("fnp.einsum: got out_sharding or _dot_general", "neither", "leave them out"))
    letters, output, xs = _parse(subscripts, operands)
    xs = common_dtype(*xs)
    if preferred_element_type is not None:
        xs = [cast(x, dt.promote_dtypes(x.dtype, dt.canonical(preferred_element_type))) for x in xs]
    terms = list(zip(letters, xs))
    for pair in _contraction_order(letters, output, xs, optimize):
        chosen = [terms[i] for i in pair]
        terms = [t for i, t in enumerate(terms) if i not in pair]
        kept = set(output).union(*[t[0] for t in terms])
        terms.append(_reduce_all(chosen, kept))
    group, x = terms[0]
    result = transpose(x, tuple([group.index(letter) for letter in output]))
    return result if preferred_element_type is None else cast(result, dt.canonical(preferred_element_type))


def _contraction_order(letters: list[str], output: str, xs: list[Value], optimize: Any) -> list[tuple[int, ...]]:
    if len(xs) <= 2:
        return [tuple(range(len(xs)))]
    text = ",".join(letters) + "->" + output
    return list(_path(text, xs, optimize)[0])


def _reduce_all(terms: list[tuple[str, Any]], kept: set[str]) -> tuple[str, Any]:
    """Several operands to one with the letters in `kept`."""
    group, x = _single(*terms[0], kept.union(*[t[0] for t in terms[1:]]))
    for i, (other, y) in enumerate(terms[1:], 1):
        later = kept.union(*[t[0] for t in terms[i + 1 :]])
        other, y = _single(other, y, later | set(group))
        group, x = _pair(group, x, other, y, later)
    return _single(group, x, kept)


def _single(group: str, x: Any, kept: set[str]) -> tuple[str, Any]:
    """Diagonals of repeated letters, then the sum over letters that nobody else has."""
    for letter in sorted(set(group)):
        while group.count(letter) > 1:
            first = group.index(letter)
            second = group.index(letter, first + 1)
            x = diagonal(x, axis1=first, axis2=second)
            group = group[:first] + group[first + 1 : second] + group[second + 1 :] + letter
    gone = tuple([i for i, letter in enumerate(group) if letter not in kept])
    if gone:
        x = any_(x, gone) if x.dtype == dt.bool_ else sum_(x, gone, promote_integers=False)
        group = "".join([letter for letter in group if letter in kept])
    return group, x


def _pair(left: str, x: Any, right: str, y: Any, kept: set[str]) -> tuple[str, Any]:
    """Two operands to one: letters in both are batched where they are kept and contracted where not."""
    for letter in set(left) & set(right):
        nx, ny = x.shape[left.index(letter)], y.shape[right.index(letter)]
        if nx != ny:  # one of them is 1, and repeats: as a letter of its own side it is summed away
            if nx == 1:
                left, x = _without(left, x, letter)
            else:
                right, y = _without(right, y, letter)
    both = [letter for letter in left if letter in right]
    batch = [letter for letter in both if letter in kept]
    contract = [letter for letter in both if letter not in kept]
    if not contract:
        return _outer(left, x, right, y)
    numbers = (
        (tuple([left.index(c) for c in contract]), tuple([right.index(c) for c in contract])),
        (tuple([left.index(c) for c in batch]), tuple([right.index(c) for c in batch])),
    )
    out = dot_general(x, y, dimension_numbers=numbers, preferred_element_type=None)
    rest = [c for c in left if c not in both], [c for c in right if c not in both]
    return "".join(batch + rest[0] + rest[1]), out


def _without(group: str, x: Any, letter: str) -> tuple[str, Any]:
    i = group.index(letter)
    return group[:i] + group[i + 1 :], sum_(x, i, promote_integers=False) if x.dtype != dt.bool_ else any_(x, i)


def _outer(left: str, x: Any, right: str, y: Any) -> tuple[str, Any]:
    """No letter is summed: an elementwise product of the operands lined up."""
    letters = left + "".join([c for c in right if c not in left])
    return letters, multiply(_lined_up(left, x, letters), _lined_up(right, y, letters))


def _lined_up(group: str, x: Any, letters: str) -> Any:
    present = [c for c in letters if c in group]
    x = transpose(x, tuple([group.index(c) for c in present]))
    return expand_dims(x, tuple([i for i, c in enumerate(letters) if c not in group]))
