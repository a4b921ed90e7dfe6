"""A lazy module is imported at its first use, and gives the module's own objects."""

import sys

import pytest

from funcgrad.core.lazy import LazyModule


def test_imported_when_used():
    module = LazyModule("colorsys")
    sys.modules.pop("colorsys", None)
    assert "colorsys" not in sys.modules
    first = module.rgb_to_hsv
    assert sys.modules["colorsys"].rgb_to_hsv is first and module.rgb_to_hsv is first
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = module.no_such_thing
