"""`palimpsest up`: what an installed wheel has, and how it is prepared."""

import io
import json
import os
import stat
import zipfile
from pathlib import Path

import pytest
from palimpsest_client.cli import local
from palimpsest_client.cli.commands import app
from palimpsest_local import stack
from typer.testing import CliRunner

from layers.local import stack_archive

ENDPOINT = {"url": "http://127.0.0.1:4599", "api_key": "pal_x", "stack": "s", "aws_endpoint": "h"}
STUB = """
import json, os, sys
from pathlib import Path
folder = Path(os.environ["PALIMPSEST_LOCAL_DIR"])
folder.mkdir(parents=True, exist_ok=True)
(folder / "told").write_text(json.dumps(sys.argv[1:]))
(folder / "endpoint.json").write_text({endpoint!r})
sys.exit(int(os.environ.get("STATUS", "0")))
"""


def test_the_archive_has_what_a_start_needs_and_is_the_same_each_time(tmp_path: Path) -> None:
    first, second = (stack_archive.written(tmp_path / name) for name in ("a.zip", "b.zip"))
    assert first.read_bytes() == second.read_bytes()
    names = set(zipfile.ZipFile(first).namelist())
    assert {
        "infra/app.py", "infra/local/__main__.py", "functions/sessions/handler.py", "cdk.json",
        "layers/core/python/palimpsest/errors.py", "requirements-infra.txt",
        "requirements-local.txt", "layers/runtime/requirements.txt",
    } <= names  # fmt: skip
    assert not [each for each in names if "__pycache__" in each or each.startswith("tests/")]


def test_a_clone_is_told_to_use_make(capsys: pytest.CaptureFixture[str]) -> None:
    assert stack.main(["up"]) == 1
    assert "run `make start`" in capsys.readouterr().err


def test_the_sources_are_unpacked_and_their_requirements_installed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("infra/app.py", "1")
    (tmp_path / stack.ARCHIVE).write_bytes(packed.getvalue())
    monkeypatch.setattr(stack, "files", lambda _: tmp_path)
    installed: list[Path] = []

    def install(folder: Path) -> None:
        (folder / ".venv").mkdir()
        installed.append(folder)

    monkeypatch.setattr(stack, "_install", install)
    folder = stack.prepared(tmp_path / "home")
    assert (folder / "infra" / "app.py").read_text() == "1"
    assert stack.prepared(tmp_path / "home") == folder
    assert installed == [folder]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder, with a stub in place of the program that starts the service."""
    (tmp_path / "stub_of_the_stack.py").write_text(STUB.format(endpoint=json.dumps(ENDPOINT)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PALIMPSEST_PROFILE", "")
    monkeypatch.setattr(local, "PROGRAM", "stub_of_the_stack")
    return tmp_path


def test_a_start_keeps_address_and_key_for_later_commands(home: Path) -> None:
    assert CliRunner().invoke(app, ["up", "--port", "4599"]).exit_code == 0
    told = json.loads((home / "data" / "palimpsest" / "local" / "told").read_text())
    assert told == ["up", "--port", "4599", "--search", ""]
    for name in ("endpoint.json", "profiles/local.json"):
        kept = home / "config" / "palimpsest" / name
        assert json.loads(kept.read_text()) == {"url": ENDPOINT["url"], "api_key": "pal_x"}
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_an_earlier_login_stays_and_a_failed_start_keeps_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATUS", "3")
    assert CliRunner().invoke(app, ["up"]).exit_code == 3
    assert not (home / "config").exists()
    monkeypatch.setenv("STATUS", "0")
    mine = home / "config" / "palimpsest" / "endpoint.json"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    assert CliRunner().invoke(app, ["up"]).exit_code == 0
    assert mine.read_text() == "mine"
    assert os.environ["PALIMPSEST_PROFILE"] == "local"
