"""What a start of the local stack makes anew, and what it takes from the last start."""

from pathlib import Path

import pytest

from infra import paths
from infra.local import deploy

SOURCES = ("cdk.json", "functions/site/handler.py", "infra/stack.py", "layers/runtime/requirements.txt")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of which each kind of source is one file."""
    for name in SOURCES:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("one")
    monkeypatch.setattr(paths, "PROJECT", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", [*SOURCES, "layers/core/python/new.py"])
def test_an_assembly_has_another_origin_once_a_source_changes(project: Path, name: str) -> None:
    before = deploy.origin("{}")
    assert deploy.origin("{}") == before
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text("two")
    assert deploy.origin("{}") != before
