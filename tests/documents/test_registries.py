"""No file of the project leads to a package registry: packages go by their names, or by their
project's own page.
"""

import re
import subprocess

import pytest

from infra import paths

HOSTS = (
    "registry",
    "pypi",
    "npm",
    "maven",
    "crates",
    "rubygems",
    "nuget",
    "packagist",
    "proxy",
    "anaconda",
    "hub.docker",
)
LINK = re.compile(rf"https?://[\w.-]*(?:{'|'.join(map(re.escape, HOSTS))})[\w.-]*", re.IGNORECASE)
BINARY = {".png", ".jpg", ".gz", ".onnx", ".tiktoken", ".ico"}


def test_no_file_links_to_a_package_registry() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607
        cwd=paths.PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )  # noqa: RUF100, S607
    files = [paths.PROJECT / name for name in listed.stdout.split("\0") if name]
    assert len(files) > 500
    found = [
        f"{file.relative_to(paths.PROJECT)}: {link[0]}"
        for file in files
        if file.suffix not in BINARY and file.is_file()
        for link in LINK.finditer(file.read_text(errors="replace"))
    ]
    assert found == []


@pytest.mark.parametrize("host", HOSTS)
def test_a_link_to_a_registry_is_seen(host: str) -> None:
    assert LINK.search("see " + "https" + f"://{host}.example/project/x")
    assert not LINK.search(f"pkg:{host}/x@1")
