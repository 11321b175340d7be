"""Reads a JSON file that lies beside the modules of a package."""

from __future__ import annotations

import json
from typing import Any


def packaged_json(package: str, name: str) -> Any:
    """Return the content of a package's JSON file, such as learned weights."""
    from importlib import resources  # not at import: most requests read no such file

    return json.loads(resources.files(package).joinpath(name).read_text("utf-8"))
