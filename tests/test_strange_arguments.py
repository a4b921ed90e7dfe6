"""Bad input gets a clear error: each argument of each public function is replaced by things that make no sense.

The calls are those of the docstring examples. Whatever is passed, either the function takes it, or the error is one of the
package's, in three parts. What the user's own code raises passes through, and so does what the system says of files and memory.
"""

import doctest
import inspect
import io
from fractions import Fraction

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.trace.interpreter import Tracer
from tests.test_names import FLAGS, NAMES, NAMESPACE, face, foreign

ROOMS = ("numpy", "lax", "nn", "random", "scipy", "image", "ops")
STRANGE = {
    "None": None, "text": "x", "half": 1.5, "negative": -7, "huge": 10**30, "empty": [], "dict": {}, "object": object(),
    "ragged": [[1, 2], [3]], "array": fnp.array([0.5, 1.5]), "complex": 1j, "nan": float("nan"), "texts": np.array(["a", "b"]),
    "objects": np.array([None, 1], object), "nested": (0, "x"), "nones": (None,), "fraction": Fraction(1, 3),
}  # fmt: skip

# Calls that are right, and take forever: a loop until a number is reached, SciPy's series at a number far away.
ENDLESS = {("while_loop", "init_val"), ("hyp1f1", "a"), ("hyp1f1", "x"), ("sph_harm_y", "n"), ("bounded_while_loop", "init_val")}
# Python's own: an enumeration.
SKIPPED = {"RandomAlgorithm"}


def functions():
    for module, name in NAMES:
        thing = getattr(face(module), name, None)
        if (
            module.split(".")[1:2]
            and module.split(".")[1] in ROOMS
            and callable(thing)
            and not foreign(thing)
            and name not in SKIPPED
        ):
            yield module, name


def calls(room, name):
    """The calls of the function in its own examples, as (args, kwargs), while it answers from `room` under its name."""
    function, found = getattr(room, name), []

    class Recorder:
        def __call__(self, *args, **kwargs):
            out = function(*args, **kwargs)
            if not any(isinstance(x, Tracer) for x in (*args, *kwargs.values())):
                found.append((args, kwargs))
            return out

        def __getattr__(self, attribute):
            return getattr(function, attribute)

    test = doctest.DocTestParser().get_doctest(inspect.getdoc(function) or "", dict(NAMESPACE), name, None, 0)
    setattr(room, name, Recorder())
    try:
        doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(test, out=io.StringIO().write)
    finally:
        setattr(room, name, function)
    return found


def variants(function, args, kwargs):
    """(argument, a function that makes the call with another value in its place)."""
    known = list(inspect.signature(function).parameters.values())
    for i in range(len(args)):
        given = known[i].name if i < len(known) and known[i].kind.name.startswith("POSITIONAL") else f"args[{i}]"
        yield given, lambda x, i=i: function(*args[:i], x, *args[i + 1 :], **kwargs)
    left_out = [p.name for p in known[len(args) :] if p.kind.name in ("POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY")]
    for given in dict.fromkeys([*kwargs, *left_out]):
        yield given, lambda x, given=given: function(*args, **{**kwargs, given: x})


def accepted(error):
    """Whether an error is clear, or not of the package's making."""
    if isinstance(error, fg.errors.FuncgradError) or "Allowed: " in str(error):
        return True
    if isinstance(error, (MemoryError, OSError, BufferError)):
        return bool(str(error))
    if isinstance(error, TypeError) and "<lambda>()" in str(error):
        return True  # the user's function takes other arguments
    frame = error.__traceback__
    while frame.tb_next is not None:
        frame = frame.tb_next
    return "doctest" in frame.tb_frame.f_code.co_filename


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module, name", list(functions()), ids=lambda x: x)
def test_strange_arguments(module, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    room = face(module)
    function, tried, faults = getattr(room, name), set(), []
    for args, kwargs in calls(room, name):
        for given, call in variants(function, args, kwargs):
            if given in tried or (name, given) in ENDLESS:
                continue
            tried.add(given)
            for what, x in STRANGE.items():
                try:
                    call(x)
                except Exception as error:
                    if not accepted(error):
                        faults.append(f"{name}({given}={what}): {error!r}")
    assert not faults, "\n".join(faults)


# Counts for which there is no memory and no time: an error, or an answer, at once.
@pytest.mark.parametrize(
    "call",
    [
        lambda: fnp.zeros(10**18) + 1,
        lambda: fnp.ones((10**10, 10**10)).sum(),
        lambda: fnp.arange(10**15),
        lambda: fnp.arange(10**30),
        lambda: fnp.linspace(0, 1, 10**15),
        lambda: fnp.eye(10**9),
        lambda: fnp.repeat(fnp.arange(3), 10**15),
        lambda: fnp.tile(fnp.arange(3), 10**15) + 1,
        lambda: fnp.pad(fnp.ones(3), 10**15),
        lambda: fnp.array_split(fnp.ones(3), 10**9),
        lambda: fnp.polyint(fnp.ones(3), 10**9),
        lambda: fnp.vander(fnp.ones(3), 10**15),
        lambda: fg.random.normal(fg.random.key(0), (10**15,)),
        lambda: fg.random.split(fg.random.key(0), 10**15),
        lambda: fg.nn.one_hot(fnp.arange(3), 10**15),
        lambda: fg.scipy.special.bessel_jn(1.0, v=10**9),
        lambda: fg.scipy.special.multigammaln(1.0, 10**9),
        lambda: fg.scipy.linalg.pascal(10**9),
    ],
)
def test_absurd_counts(call):
    with pytest.raises((MemoryError, ValueError)) as raised:
        call()
    assert str(raised.value)


def test_large_counts_that_have_an_answer():
    x = np.array([1.0, 4.0, 9.0])
    for n in (3, 10**9, 10**30):
        assert fnp.diff(x, n).shape == fnp.polyder(x, n).shape == (0,)
    np.testing.assert_array_equal(np.asarray(fnp.linalg.matrix_power(np.eye(2), 10**9)), np.eye(2))
    np.testing.assert_allclose(np.asarray(fg.scipy.linalg.expm(np.eye(2), max_squarings=10**9)), np.eye(2) * np.e)
    far = np.asarray(fnp.vander(x, 1200))
    np.testing.assert_allclose(far[:, -5:], np.vander(x, 5))
    assert fg.lax.scan(lambda c, x: (c + x, None), 0.0, x, unroll=10**9)[0] == 14.0
    numbers = np.asarray(fg.scipy.special.bernoulli(400))
    assert numbers[398] == np.inf and numbers[400] == -np.inf and numbers[399] == 0


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: fnp.sum(fnp.ones((2, 2)), axis=0, keepdims=fnp.ones(2)), r"f32\[2\] for keepdims"),
        (lambda: fnp.sort(fnp.ones(3), descending=np.ones(3)), r"fnp.sort: got float64\[3\] for descending"),
        (lambda: fnp.std(fnp.ones(3), ddof=None), "fnp.std: got None for ddof|fnp.var: got None for ddof"),
        (lambda: fnp.linalg.norm(fnp.ones(3), ord=1j), "fnp.linalg.norm: got ord=1j"),
        (lambda: fnp.can_cast(int, float, casting=1), "fnp.can_cast: got casting=1"),
        (lambda: fnp.pad(fnp.ones(3), 1, mode={}), "fnp.pad: got mode={}"),
        (lambda: fnp.frombuffer(b"abcd", "u1", count=None), "fnp.frombuffer: got None for count"),
        (lambda: fnp.fromiter(None, int), "fnp.fromiter: "),
        (lambda: fnp.einsum_path("i->", fnp.ones(3), optimize=1.5), "fnp.einsum: got optimize=1.5"),
        (lambda: fnp.zeros((10**10, 10**10)) + 1, "the result would be f32"),
        (lambda: fnp.ones(3)["a":], r"x\[a:b:c\]: got a value of type str"),
        (lambda: fnp.ones(3)[[[1], [1, 2]]], r"x\[i\]: got i of which NumPy makes no array"),
        (lambda: fnp.ones(3).at[7].get(mode="fill", fill_value=np.ones(2)), r"x.at\[i\].get: got f64\[2\] for fill_value"),
        (lambda: fnp.ones(3).at[0].apply(None), r"x.at\[i\].apply: got"),
        (lambda: fnp.ones(3).item("a"), "x.item: got 'a' for i"),
        (lambda: fnp.ones(3).item(7), r"x.item\(7,\): index 7"),
        (lambda: fnp.ones(3).tobytes(order=1), "x.tobytes: got order=1"),
        (lambda: fg.device_put("a"), "device_put: got str"),
        (lambda: fg.ShapeDtypeStruct("a", "float32"), "fg.ShapeDtypeStruct: got 'a' for shape"),
        (lambda: fg.vmap(fnp.sin, axis_size="a")(fnp.ones(3)), "fg.vmap: got 'a' for axis_size"),
        (lambda: fg.vmap(fnp.sin, out_axes="a")(fnp.ones(3)), "fg.vmap: got 'a' for out_axes"),
        (lambda: fg.grad(fnp.sum, has_aux=np.ones(2))(fnp.ones(3)), r"grad: got float64\[2\] for has_aux"),
        (lambda: fg.jit(fnp.sin, static_argnames=1.5), "jit: got static_argnames=1.5"),
        (lambda: fg.jit(fnp.sin, inline=np.ones(2)), r"jit: got float64\[2\] for inline"),
        (lambda: fnp.sin(fg.random.key(0)) + 1, "key<fry>"),
        (lambda: fg.random.key(0) + 1, "a PRNG key takes no part in arithmetic"),
    ],
)
def test_what_is_said(call, said):
    with pytest.raises((IndexError, MemoryError, TypeError, ValueError), match=f"(?:{said})(?s:.)*Allowed: "):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: fnp.sum(x, axis=0, keepdims=np.ones(2)),
        lambda x: fnp.sum(x, axis="x"),
        lambda x: fnp.zeros((None,), x.dtype),
        lambda x: fnp.zeros(2, "flot32"),
        lambda x: fnp.pad(x, 1, mode={}),
        lambda x: fnp.linalg.norm(x, ord=1j),
        lambda x: fnp.std(x, ddof=None),
        lambda x: fg.nn.one_hot(x.astype(int), -1),
        lambda x: fg.lax.top_k(x, 2.5),
        lambda x: x.at[7].get(mode="fill", fill_value="x"),
        lambda x: fnp.vander(x, 10**30),
    ],
)
def test_while_tracing(call):
    with pytest.raises((TypeError, ValueError), match="Allowed: "):
        fg.jit(call)(fnp.ones(3))
