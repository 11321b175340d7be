"""NOTICE names what ships inside of the service and is not of ours, in the version that ships."""

import re

from infra import paths
from layers.builtin import builtin_models
from tests.engines import console

NOTICE = " ".join((paths.PROJECT / "NOTICE").read_text().split())
CORE = paths.LAYERS / "core" / "python" / "palimpsest"


def test_the_bundle_of_the_console_is_named_with_its_versions() -> None:
    head = console.VENDOR.read_text().partition("*/")[0]
    bundled = re.findall(r"(\w+ \d+\.\d+\.\d+) \(", head)
    assert bundled
    assert [each for each in bundled if each not in NOTICE] == []


def test_the_package_that_the_models_come_from_is_named_with_its_version() -> None:
    assert builtin_models.SOURCE.replace("==", " ") in NOTICE
