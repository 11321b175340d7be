"""`palimpsest import` of conversations from other products, over HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest
from palimpsest_client import Palimpsest, users
from palimpsest_client.cli import shown
from palimpsest_client.cli.commands import app
from typer.testing import CliRunner

from tests.served import KEY, Served, lost
from tests.unit.chats import exports


@pytest.fixture(autouse=True)
def _there(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_URL", served.url)
    monkeypatch.setenv("PALIMPSEST_API_KEY", KEY)
    monkeypatch.setenv("PALIMPSEST_USER", "sarah")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shown.console, "width", 200)


@pytest.fixture
def export(tmp_path: Path) -> Path:
    cat = exports.chatgpt(
        exports.chatgpt_node("q", "root", "user", "My cat is called Mia.", create_time=1.7e9),
        conversation_id="c2", title="Cats",
    )  # fmt: skip
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([exports.moving_house(), cat]))
    return file


def imported(*words: str, status: int = 0) -> Any:
    done = CliRunner().invoke(app, ["import", *words, "--json"])
    assert done.exit_code == status, (done.output, done.exception)
    return json.loads(done.stdout)


def test_conversations_become_sessions_with_their_times_and_memories(
    export: Path, memory: Palimpsest
) -> None:
    assert imported(str(export)) == {
        "conversations": 2, "messages": 4, "stored": 4, "memories": 3, "problems": [],
    }  # fmt: skip
    rows = list(memory.session("sarah:chatgpt-c1").messages())
    assert rows[0]["timestamp"] == "2024-01-05T10:04:20.500000Z"
    known = list(memory.user("sarah").memories())
    assert {"I live in Bremen."} < {each["content"] for each in known}
    (home,) = (each for each in known if each["content"] == "I live in Bremen.")
    assert home["valid_from"].startswith("2024-01-05T10:04:20")


def test_the_same_file_again_stores_nothing_and_a_grown_one_only_what_is_new(
    export: Path, memory: Palimpsest
) -> None:
    imported(str(export))
    assert imported(str(export))["stored"] == 0
    rows = json.loads(export.read_text())
    rows[1]["mapping"]["more"] = exports.chatgpt_node("more", "q", "assistant", "A nice name.")
    rows[1]["current_node"] = "more"
    export.write_text(json.dumps(rows))
    assert imported(str(export))["stored"] == 1
    assert len(list(memory.session("sarah:chatgpt-c2").messages())) == 2


def test_an_interrupted_import_is_continued(
    export: Path, served: Served, memory: Palimpsest
) -> None:
    served.after = [lambda _: False, lambda _: False, *[lost] * 6]
    stopped = CliRunner().invoke(app, ["import", str(export)])
    assert stopped.exit_code != 0
    served.after = []
    done = imported(str(export))
    assert done["problems"] == []
    assert len(list(memory.session("sarah:chatgpt-c1").messages())) == 3
    assert len(list(memory.session("sarah:chatgpt-c2").messages())) == 1


def test_a_conversation_that_differs_is_named_and_the_others_are_stored(
    export: Path, memory: Palimpsest
) -> None:
    memory.session("sarah:chatgpt-c1", user="sarah").say("Another history.")
    done = imported(str(export), status=1)
    assert done["stored"] == 1
    assert [problem["session"] for problem in done["problems"]] == ["Moving house"]


def test_what_would_be_stored_is_shown_first_also_without_a_service(
    export: Path, memory: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PALIMPSEST_URL")
    found = imported(str(export), "--dry-run")
    assert (found["conversations"], found["messages"], found["model_calls"]) == (2, 4, 2)
    assert found["left_out"]["other branches"] == 2
    assert found["cost_usd"] > 0
    assert 10 < found["tokens"] < 40
    told = CliRunner().invoke(app, ["import", str(export), "--dry-run"]).stdout
    assert "2024-01-05 10:04" in told
    assert "Moving house" in told
    assert "with gpt-4.1-nano, in 2 calls" in told
    assert list(memory.users()) == []


def test_speakers_of_a_text_are_the_user_and_others(tmp_path: Path, memory: Palimpsest) -> None:
    (tmp_path / "_chat.txt").write_text("Anna: I live in Ulm.\nTom: I live in Kiel.\n")
    refused = CliRunner().invoke(app, ["import", "_chat.txt"])
    assert "None of the speakers (Anna, Tom) is sarah" in str(refused.exception)
    assert list(memory.users()) == []
    assert imported("_chat.txt", "--me", "Anna")["stored"] == 2
    known = {each["content"]: each for each in memory.user("sarah").memories()}
    assert known["I live in Ulm."]["speaker"] != "Tom"
    assert known.get("I live in Kiel.", {"speaker": "Tom"})["speaker"] == "Tom"


def test_names_that_the_service_knows_are_the_users(tmp_path: Path, memory: Palimpsest) -> None:
    memory.user("sarah").set_names("Anna")
    (tmp_path / "chat.md").write_text("**Anna:** I live in Ulm.\n\n**Tom:** I see.\n")
    assert imported("chat.md")["stored"] == 2


def test_a_long_conversation_is_sent_in_parts(
    served: Served, memory: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(users, "LARGEST_INGESTED", 1_000)
    rows = [{"role": "user", "content": f"{n} " + "word " * 50} for n in range(10)]
    job = memory.user("sarah").ingest_one(rows, session="long")
    assert job.shown["appended"] == 10
    assert sum(path.endswith("/ingest") for _, path, _ in served.seen) == 4
    assert len(list(memory.session("long").messages())) == 10


def test_wrong_options_are_refused(export: Path) -> None:
    for words in (["--model", "nothing", "--dry-run"], ["--from", "nothing"],
                  ["--from", "mem0", "--dry-run"]):  # fmt: skip
        assert CliRunner().invoke(app, ["import", str(export), *words]).exit_code == 2
