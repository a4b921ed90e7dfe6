"""The exceptions about traced values read the tracer; every text has its three parts in order."""

import pickle

import pytest

import funcgrad.errors as public
from funcgrad.core import errors
from funcgrad.core.source import Source


class FakeTracer:
    aval = "float32[3]"
    source = Source("/home/me/train.py", 12, "loss")


TRACED = [
    (errors.ConcretizationTypeError, TypeError),
    (errors.TracerBoolConversionError, TypeError),
    (errors.TracerIntegerConversionError, TypeError),
    (errors.TracerArrayConversionError, TypeError),
    (errors.NonConcreteBooleanIndexError, IndexError),
    (errors.UnexpectedTracerError, Exception),
]


@pytest.mark.parametrize("cls,builtin", TRACED, ids=[cls.__name__ for cls, _ in TRACED])
def test_text_from_a_tracer(cls, builtin):
    error = cls(FakeTracer())
    text = str(error)
    assert isinstance(error, builtin) and isinstance(error, errors.FuncgradError)
    assert "float32[3], made at train.py:12 (loss)" in text
    assert "test_errors.py:" in text and "error = cls(FakeTracer())" in text  # the line that asked
    assert 0 < text.index("\n  Allowed: ") < text.index("\n  Try: ")
    assert str(pickle.loads(pickle.dumps(error))) == text
    assert str(cls("as it stands")) == "as it stands"
    assert getattr(public, cls.__name__) is cls
    assert "::" in cls.__doc__  # an example of cause and mend


def test_context_is_shown():
    assert "as the axis of sum" in str(errors.ConcretizationTypeError(FakeTracer(), "as the axis of sum"))


def test_bool_is_a_concretization_error():
    assert issubclass(errors.TracerBoolConversionError, errors.ConcretizationTypeError)


def test_caught_by_the_habits_of_both():
    for cls, kinds in [
        (errors.ShapeError, (TypeError, ValueError)),
        (errors.TreeError, (ValueError, TypeError)),
        (errors.UsageError, (TypeError, ValueError)),
        (errors.DtypeError, (TypeError,)),
        (errors.NanError, (FloatingPointError,)),
        (errors.DeletedArrayError, (RuntimeError,)),
        (errors.CompileError, (RuntimeError,)),
    ]:
        for kind in kinds:
            with pytest.raises(kind, match="text"):
                raise cls("text")


def test_message():
    assert errors.message("sin: got int32[3]", "floats", "x.astype('float32')") == (
        "sin: got int32[3].\n  Allowed: floats\n  Try: x.astype('float32')"
    )
    assert errors.message("done.") == "done."


def test_describe():
    import numpy as np

    assert errors.describe(np.zeros((2, 3), "int8")) == "int8[2,3]"
    assert errors.describe(FakeTracer()) == "float32[3]"
    assert errors.describe("s") == "a value of type str"
    assert errors.made_at(3) == ""
