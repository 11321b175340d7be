"""What a start of the local stack makes anew, and what it takes from an earlier start."""

import gc
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from infra import paths
from infra.local import deploy, endpoint
from infra.local.processes import CannotRun, end, has_ended, on_its_own

SOURCES = (
    "cdk.json",
    "functions/site/handler.py",
    "infra/stack.py",
    "layers/runtime/requirements.txt",
)
APP = """
import json, os
from pathlib import Path

assembly, context = Path(os.environ["CDK_OUTDIR"]), json.loads(os.environ["CDK_CONTEXT_JSON"])
built = Path(".build/layers/one")
built.mkdir(parents=True, exist_ok=True)
place = {"bucketName": "assets", "objectKey": "one"}
files = {"one": {"source": {"path": str(built.resolve())}, "destinations": {"here": place}}}
(assembly / "Palimpsest-local.assets.json").write_text(json.dumps({"files": files}))
told = {**context, "url": (Path(os.environ["PALIMPSEST_LOCAL_DIR"]) / "index").as_uri()}
(assembly / "Palimpsest-local.template.json").write_text(json.dumps(told))
"""
"""In place of the CDK: a template of what it was told, and an asset that stands outside the
assembly.
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of which each kind of source is one file."""
    for name in SOURCES:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("one")
    (tmp_path / "infra" / "app.py").write_text(APP)
    monkeypatch.setattr(paths, "PROJECT", tmp_path)
    monkeypatch.setattr(paths, "BUILD", tmp_path / ".build")
    monkeypatch.setenv("PALIMPSEST_LOCAL_DIR", str(tmp_path / "first"))
    for name in ("OPENAI_BASE_URL", "CHAT_MODEL", *map(str.upper, deploy.CONTEXT)):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def template(search: str = "") -> dict[str, str]:
    found: dict[str, str] = json.loads(
        (deploy.assembly_of(search) / "Palimpsest-local.template.json").read_text()
    )
    return found


def is_synthesized(capsys: pytest.CaptureFixture[str], search: str = "") -> bool:
    """Whether a start would make an assembly."""
    capsys.readouterr()
    deploy.assembly_of(search)
    return "Synthesizing the stack" in capsys.readouterr().out


@pytest.mark.parametrize("name", [*SOURCES, "layers/core/python/new.py"])
def test_an_assembly_has_another_origin_once_a_source_changes(project: Path, name: str) -> None:
    before = deploy.origin("{}")
    assert deploy.origin("{}") == before
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text("two")
    assert deploy.origin("{}") != before


def test_a_stack_is_synthesized_once_for_all_folders_until_a_source_or_setting_changes(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_synthesized(capsys)
    monkeypatch.setenv("PALIMPSEST_LOCAL_DIR", str(project / "second"))
    assert not is_synthesized(capsys)
    assert is_synthesized(capsys, "dynamodb")
    monkeypatch.setenv("EMBEDDING_MODEL", "other")
    assert is_synthesized(capsys)
    monkeypatch.delenv("EMBEDDING_MODEL")
    assert not is_synthesized(capsys)
    (project / "infra" / "stack.py").write_text("two")
    assert is_synthesized(capsys)


def test_an_assembly_whose_layers_are_gone_is_made_anew(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert is_synthesized(capsys)
    shutil.rmtree(project / ".build" / "layers")
    assert is_synthesized(capsys)
    assert not is_synthesized(capsys)


def test_each_start_has_its_own_folder_server_and_model_in_the_assembly_that_it_shares(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = template()
    assert first["url"] == (project / "first" / "index").as_uri()
    assert (first["openai_base_url"], first["chat_model"]) == ("", "gpt-4.1-nano")
    monkeypatch.setenv("PALIMPSEST_LOCAL_DIR", str(project / "with a space"))
    monkeypatch.setenv("OPENAI_BASE_URL", 'http://127.0.0.1:9/"v1"')
    monkeypatch.setenv("CHAT_MODEL", "gpt-4.1")
    second = template()
    assert second["url"] == (project / "with a space" / "index").as_uri()
    assert (second["openai_base_url"], second["chat_model"]) == (
        'http://127.0.0.1:9/"v1"',
        "gpt-4.1",
    )
    assert len(list((project / ".build" / "assemblies").iterdir())) == 1


@pytest.fixture
def profile(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with one profile, that of Ann."""
    (project / "config").write_text("[profile ann]\nregion = eu-central-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(project / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(project / "none"))
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("AWS_PROFILE", "ann")
    monkeypatch.setenv("MODELS_FROM", "bedrock")


@pytest.mark.usefixtures("profile")
def test_a_start_with_bedrock_uses_the_callers_profile_and_no_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EMBEDDING", "titan")
    told = template()
    wanted = {
        "models_from": "bedrock",
        "embedding": "titan",
        "bedrock_profile": "ann",
        "bedrock_region": "eu-central-1",
    }
    assert {name: told[name] for name in wanted} == wanted
    assert "openai_base_url" not in told
    monkeypatch.setenv("BEDROCK_REGION", "us-west-2")
    assert template()["bedrock_region"] == "us-west-2"


@pytest.mark.usefixtures("profile")
def test_a_start_with_bedrock_says_if_the_profile_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(CannotRun, match="nobody"):
        template()


def test_a_start_without_bedrock_names_no_profile(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "ann")
    assert "bedrock_profile" not in template()


def open_to_others(folder: Path) -> list[Path]:
    return [path for path in (folder, *folder.rglob("*")) if path.stat().st_mode & 0o077]


def test_what_a_start_copies_or_writes_is_for_its_owner_alone_also_in_a_folder_that_was_open(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "first" / "state" / "1").mkdir(parents=True)
    (project / "first" / "state" / "1" / "sqs.json").write_text("{}")
    (project / "first" / "link").symlink_to(project / "cdk.json")
    assert len(open_to_others(project / "first")) == 5
    template()
    endpoint.write(endpoint.Endpoint("http://here", "pal_key", "Palimpsest-local", "http://aws"))
    assert open_to_others(project / "first") == [project / "first" / "link"]
    monkeypatch.setenv("PALIMPSEST_LOCAL_DIR", str(project / "new" / "one"))
    endpoint.write(endpoint.Endpoint("http://here", "pal_key", "Palimpsest-local", "http://aws"))
    assert open_to_others(project / "new" / "one") == []


def test_a_synthesis_that_fails_leaves_nothing_to_be_taken_for_an_assembly(project: Path) -> None:
    (project / "infra" / "app.py").write_text("raise SystemExit(1)")
    for _ in range(2):
        with pytest.raises(CannotRun):
            deploy.assembly_of("")


def test_a_server_that_outlives_its_command_is_nothing_left_open_and_its_end_is_seen() -> None:
    pid = on_its_own(subprocess.Popen(["sleep", "60"]))  # noqa: S607
    gc.collect()  # an object that still asked for it would warn here, and fail this test
    assert not has_ended(pid)
    assert end(pid, seconds=60)
