"""Puts the token tables into a built wheel, so that the installed library downloads nothing when it runs."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent


class TokenTables(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the package `tiktoken_ranks` and has the wheel include it; an editable installation gets none."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, str(ROOT / "layers" / "runtime"))
        import ranks

        package = ranks.build(ROOT / ".build" / "wheel")
        build_data["force_include"][str(package)] = ranks.PACKAGE
