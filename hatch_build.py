"""Puts into a built wheel the token tables, so that the installed library downloads nothing when it
runs, the API's description, the suite `palimpsest_testing`, and the sources of the deployment,
which `palimpsest up` starts.
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
        sys.path[:0] = [str(ROOT / "layers" / each) for each in ("runtime", "testing", "local")]
        import ranks

        package = ranks.build(ROOT / ".build" / "wheel")
        build_data["force_include"][str(package)] = ranks.PACKAGE
        from suite import written

        build_data["force_include"][str(written(ROOT / ".build" / "wheel" / "suite"))] = (
            "palimpsest_testing"
        )
        from stack_archive import written as archived

        archive = archived(ROOT / ".build" / "wheel" / "stack.zip")
        build_data["force_include"][str(archive)] = "palimpsest_local/stack.zip"
        description = ROOT / "layers" / "description" / "python" / DESCRIPTION
        build_data["force_include"][str(description)] = DESCRIPTION
