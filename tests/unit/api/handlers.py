"""The functions' own handlers, loaded as the runtime loads them: from a file, by path."""

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[3]


def load(function: str) -> ModuleType:
    path = ROOT / "functions" / function / "handler.py"
    spec = importlib.util.spec_from_file_location(f"functions.{function}.handler", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
