"""A lazy module is imported at its first use, and gives the module's own objects."""

import importlib
import sys
import threading
import time

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


def test_a_package_comes_whole_before_a_module_inside_of_it(tmp_path, monkeypatch):
    package = tmp_path / "first_whole"
    package.mkdir()
    (package / "__init__.py").write_text("import time\ntime.sleep(0.3)\nready = True\n")
    (package / "inside.py").write_text("import sys\nready = hasattr(sys.modules['first_whole'], 'ready')\n")
    monkeypatch.syspath_prepend(tmp_path)
    thread = threading.Thread(target=importlib.import_module, args=("first_whole",))
    thread.start()
    while "first_whole" not in sys.modules:
        time.sleep(0.001)
    assert LazyModule("first_whole.inside", first="first_whole").ready
    thread.join()
