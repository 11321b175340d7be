"""Puts into a built wheel the token tables, so that the installed library downloads nothing when it
runs, the API's description, and the suite `palimpsest_testing`.
"""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
DESCRIPTION = "palimpsest_description/openapi.json"


class Extras(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the packages `tiktoken_ranks` and `palimpsest_testing`, and the file of the API's
    description. An editable installation gets none of them.
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
        description = ROOT / "layers" / "description" / "python" / DESCRIPTION
        build_data["force_include"][str(description)] = DESCRIPTION
