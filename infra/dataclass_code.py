"""Compiles the code that `dataclass` writes for the classes of the library and of the packages that
it loads.

    PYTHONPATH=LIBRARY:PACKAGES python infra/dataclass_code.py FOLDER

makes FOLDER/dataclasses.cpython-313.marshal. It runs on the Python that functions run on, and needs
nothing else. `palimpsest.wiring.cold_start` reads the file.
"""

import dataclasses
import importlib
import marshal
import pkgutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any


def main(folder: Path) -> None:
    compiled: dict[bytes, bytes] = {}

    def run(text: str, variables: dict[str, Any], names: Mapping[str, Any]) -> None:
        code = compile(text, "<string>", "exec", dont_inherit=True)
        compiled[sha256(text.encode()).digest()] = marshal.dumps(code)
        exec(code, variables, names)  # noqa: S102 - as `dataclass` does

    vars(dataclasses)["exec"] = run
    for module in pkgutil.walk_packages(
        importlib.import_module("palimpsest").__path__, "palimpsest."
    ):
        with suppress(ImportError):  # it needs a layer that not every function has
            importlib.import_module(module.name)
    file = folder / f"dataclasses.{sys.implementation.cache_tag}.marshal"
    file.write_bytes(marshal.dumps(compiled))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
