"""NOTICE names what ships inside of the service and is not of ours, in the version that ships."""

import json
import re

from infra import paths
from layers.builtin import builtin_models
from tests.engines import console, npm

NOTICE = " ".join((paths.PROJECT / "NOTICE").read_text().split())
CORE = paths.LAYERS / "core" / "python" / "palimpsest"


def test_the_bundle_of_the_console_is_named_with_its_versions() -> None:
    heads = [(console.PAGE / file).read_text().partition("*/")[0] for file in console.ENTRIES]
    bundled = re.findall(r"([\w-]+) (\d+\.\d+\.\d+)", " ".join(heads))
    assert len(bundled) == 7
    assert [" ".join(each) for each in bundled if " ".join(each) not in NOTICE] == []
    locked = json.loads((npm.LOCKED / "package-lock.json").read_text())["packages"]
    assert {name: locked[f"node_modules/{name}"]["version"] for name, _ in bundled} == dict(bundled)


def test_the_package_that_the_models_come_from_is_named_with_its_version() -> None:
    assert builtin_models.SOURCE.replace("==", " ") in NOTICE
