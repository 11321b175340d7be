"""Puts into a built wheel the token tables, so that the installed library downloads nothing when it
runs, and the suite `palimpsest_testing`.
"""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent


class Extras(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the packages `tiktoken_ranks` and `palimpsest_testing`; an editable installation gets
    neither.
    """

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path[:0] = [str(ROOT / "layers" / "runtime"), str(ROOT / "layers" / "testing")]
        import ranks

        package = ranks.build(ROOT / ".build" / "wheel")
        build_data["force_include"][str(package)] = ranks.PACKAGE
        from suite import written

        build_data["force_include"][str(written(ROOT / ".build" / "wheel" / "suite"))] = (
            "palimpsest_testing"
        )
