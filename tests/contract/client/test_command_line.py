"""The command line, as a person and a program use it."""

import io
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import httpx2
import pytest
from palimpsest_client import Palimpsest, errors
from palimpsest_client.cli import main, shown, stdio
from palimpsest_client.cli.commands import app
from palimpsest_client.cli.mcp_clients import ClientName
from typer.testing import CliRunner

from tests.doubles.openai_api import OpenAIApi
from tests.engines.environments import python_of
from tests.served import KEY, Served

PROGRAM = Path(__file__).parents[2] / "e2e" / "clients" / "mcp_client.py"
COMMANDS = {
    "name",
    "users",
    "edit",
    "prefer",
    "login",
    "chat",
    "sessions",
    "messages",
    "context",
    "recall",
    "remember",
    "memories",
    "profile",
    "history",
    "revert",
    "forget",
    "ingest",
    "export",
    "import",
    "jobs",
    "feedback",
    "reviews",
    "eval",
    "up",
    "down",
    "erase",
    "mcp",
    "usage",
}


@pytest.fixture(autouse=True)
def _there(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_URL", served.url)
    monkeypatch.setenv("PALIMPSEST_API_KEY", KEY)
    monkeypatch.setenv("PALIMPSEST_USER", "sarah")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shown.console, "width", 200)  # as wide as a terminal that cuts nothing off


def said(*words: str, given: str | None = None) -> str:
    """What a command prints, which must succeed."""
    done = CliRunner().invoke(app, words, input=given)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def found(*words: str) -> Any:
    return json.loads(said(*words, "--json"))


def test_every_command_is_there_with_help_and_completion() -> None:
    told = said("--help")
    assert {
        command.name or command.callback.__name__
        for command in app.registered_commands
        if command.callback
    } == COMMANDS
    assert all(name in told for name in COMMANDS)
    assert "--install-completion" in told
    for name in COMMANDS - {"mcp", "up", "down"}:  # which speak for themselves
        assert "--json" in said(name, "--help"), name


def test_users_are_listed_a_memory_is_edited_and_a_preference_is_set() -> None:
    saved = found("remember", "Sarah lives in Bremen.", "--topic", "residence")
    assert found("edit", saved["id"], "Sarah lives in Kiel.")["content"] == "Sarah lives in Kiel."
    assert [each["user_id"] for each in found("users")] == ["sarah"]
    assert found("prefer", "units", '{"length": "m"}')[0]["value"] == {"length": "m"}
    assert found("prefer", "language", "German")[0]["value"] == "German"
    assert {each["key"] for each in found("prefer")} == {"units", "language"}


def test_a_recall_shows_source_day_and_reasons_and_takes_feedback(memory: Palimpsest) -> None:
    memory.session("s1", user="sarah").append("I live in Bremen.")
    memory.session("s1").extract().wait()
    told = said("recall", "Where does Sarah live?", "--explain")
    day = next(memory.user("sarah").memories())["valid_from"][:10]
    assert re.search(rf"I live in Bremen\. .* {day} +s1 #1 ", told), told
    assert re.search(r"constant [+-]\d", told), told
    recall = re.search(r"recall: (rec_\w+)", told)
    assert recall is not None
    (known,) = found("memories")
    given = found("feedback", recall[1], "--wrong", known["id"], "--missing", "My street.")
    assert given["counted"] == [known["id"]]
    assert {each["kind"] for each in found("reviews")} == {"wrong", "missing"}
    for review in given["reviews"]:
        found("reviews", "--close", review)
    assert found("reviews") == []
    assert CliRunner().invoke(app, ["feedback", recall[1]]).exit_code == 2


def test_profiles_have_addresses_and_keys_of_their_own(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PALIMPSEST_PROFILE", "PALIMPSEST_URL", "PALIMPSEST_API_KEY"):
        monkeypatch.setenv(name, "")  # so that they are restored after the test
    login = ("login", "--url", served.url, "--key", KEY)
    assert "profiles/work.json" in said("--profile", "work", *login)
    assert json.loads(said("--profile", "work", "users", "--json")) == []
    missing = CliRunner().invoke(app, ["--profile", "home", "users"])
    assert "palimpsest --profile home login" in str(missing.exception)
    wrong = CliRunner().invoke(app, ["--profile", "../x", "users"])
    assert "letters, digits" in str(wrong.exception)
    monkeypatch.setenv("PALIMPSEST_PROFILE", "")
    assert isinstance(CliRunner().invoke(app, ["users"]).exception, errors.NotConfigured)


def test_short_help_is_shown() -> None:
    assert said("-h") == said("--help")
    assert said("recall", "-h") == said("recall", "--help")


def test_a_user_gets_names_and_loses_them() -> None:
    assert found("name", "Sarah", "--alias", "sj")["aliases"] == ["sj"]
    assert found("name")["name"] == "Sarah"
    assert found("name", "--clear")["name"] is None


def test_a_memory_is_saved_listed_recalled_corrected_and_reverted() -> None:
    first = found("remember", "Sarah lives in Hamburg.", "--topic", "residence")
    found("remember", "Sarah lives in Bremen.", "--topic", "residence")
    table = said("recall", "Where does Sarah live?")
    assert re.search(r"^0\.\d{1,4} +Sarah lives in Bremen\. +fact +keyword", table, re.MULTILINE), (
        table
    )
    assert [each["content"] for each in found("memories")] == ["Sarah lives in Bremen."]
    assert [each["content"] for each in found("memories", "--superseded")] == [
        "Sarah lives in Hamburg."
    ]
    assert [each["version"] for each in found("history", first["id"])] == [2, 1]
    assert found("revert", first["id"])["content"] == "Sarah lives in Hamburg."
    assert [each["content"] for each in found("forget", "--type", "fact", "--dry-run")] == [
        "Sarah lives in Hamburg."
    ]
    assert found("forget", "--type", "fact")["state"] == "done"
    assert "Nothing." in said("memories")


def test_a_profile_is_shown_on_one_page() -> None:
    assert said("profile").strip() == "Nothing."
    saved = found("remember", "Sarah lives in Hamburg.", "--topic", "residence")
    assert f"Who:\n- Sarah lives in Hamburg. [{saved['id']}]\n" in said("profile")
    (section,) = found("profile")["sections"]
    assert section["lines"][0]["memory_id"] == saved["id"]


def test_one_memory_is_forgotten_and_others_are_chosen_by_type_and_topic() -> None:
    tea = found("remember", "Sarah likes tea.", "--topic", "drink")
    found("remember", "Answer in German.", "--type", "instruction")
    assert [each["content"] for each in found("memories", "--type", "instruction")] == [
        "Answer in German."
    ]
    assert [each["id"] for each in found("forget", "--topic", "drink", "--dry-run")] == [tea["id"]]
    assert found("forget", tea["id"])["id"] == tea["id"]
    assert [each["content"] for each in found("memories")] == ["Answer in German."]


def test_an_id_and_a_time_stand_on_one_line_of_any_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    saved = found(
        "remember",
        "Sarah lives in Hamburg, near the harbour, with a view of the water.",
        "--topic",
        "residence",
    )
    monkeypatch.setattr(shown.console, "width", 80)
    table = said("memories")
    assert saved["id"] in table
    assert saved["valid_from"][:16].replace("T", " ") in table


def test_conversations_are_taken_in_and_shown(tmp_path: Path) -> None:
    row = {"session_id": "old", "messages": [{"role": "user", "content": "I live in Hamburg."}]}
    (tmp_path / "chats.jsonl").write_text(json.dumps(row))
    (job,) = found("ingest", "chats.jsonl")
    assert (job["state"], job["ledger"]["received"]) == ("done", 1)
    assert [each["session_id"] for each in found("sessions")] == ["old"]
    assert "I live in Hamburg." in said("messages", "old")
    assert found("context", "old")["messages"][-1]["content"] == "I live in Hamburg."
    assert "budget" in said("context", "old", "Where do I live?", "--explain")
    assert [each["kind"] for each in found("jobs")] == ["extract"]
    assert found("jobs", "--failed") == []


def test_messages_are_shown_with_their_marks(memory: Palimpsest) -> None:
    memory.session("marked", user="sarah").append("I have a dog.")
    assert "marks" not in said("messages", "marked")
    memory.session("marked", user="sarah").append("```\nI live in Kiel\n```")
    shown = said("messages", "marked").split()
    assert shown[5] == "marks"
    assert "material" in shown[6:]
    assert [each.get("material") for each in found("messages", "marked")] == [None, True]


def test_what_was_used_is_shown_by_day_by_user_and_in_all(memory: Palimpsest) -> None:
    memory.session("s9", user="sarah").append("Hello!")
    memory.session("s8", user="david").append("Hello!")
    (used,) = found("usage", "--by", "user")
    assert (used["user_id"], used["messages"]) == ("sarah", 1)
    assert {"messages", "embeddings", "US$"} <= set(said("usage", "--by", "tenant").split())
    assert [each["messages"] for each in memory.usage(by="tenant")] == [2]
    assert [each["messages"] for each in memory.usage(by="day", user_id="david")] == [1]
    with pytest.raises(errors.InvalidPeriod):
        list(memory.usage(from_="2020-01-01", to="2020-01-02"))


def test_everything_of_a_user_is_exported_and_erased(tmp_path: Path, memory: Palimpsest) -> None:
    memory.session("s1", user="sarah").say("I live in Hamburg.")
    said("remember", "Sarah likes tea.", "--topic", "drink")
    said("remember", "Sarah likes coffee.", "--topic", "drink")
    assert found("export", "sarah.jsonl") == {"rows": 7, "file": "sarah.jsonl"}
    rows = [json.loads(line) for line in (tmp_path / "sarah.jsonl").read_text().splitlines()]
    kinds = ["export", "user", "session", "message", "record", "record", "end"]
    assert [row["kind"] for row in rows if row["kind"] != "progress"] == kinds
    assert said("export").splitlines() == (tmp_path / "sarah.jsonl").read_text().splitlines()
    assert CliRunner().invoke(app, ["erase"], input="n\n").exit_code == 1
    assert len(found("memories")) == 1
    assert found("erase", "--yes")["memories"]["state"] == "done"
    assert found("memories") == []
    assert found("import", "sarah.jsonl")["result"] == {"restored": 3, "there": 0, "conflicts": 0}
    assert [each["content"] for each in found("memories")] == ["Sarah likes coffee."]


@pytest.mark.parametrize("form", ["results", "list", "lines"])
def test_what_mem0_exported_is_taken_over_once(tmp_path: Path, form: str) -> None:
    rows = [
        {
            "id": "m1",
            "memory": "Likes tea",
            "created_at": "2026-01-02T03:04:05Z",
            "metadata": {"app": "x", "deep": {}},
        },
        {"id": "m2", "text": "Owns a dog"},
    ]
    text = (
        "\n".join(map(json.dumps, rows))
        if form == "lines"
        else json.dumps({"results": rows} if form == "results" else rows)
    )
    (tmp_path / "mem0.json").write_text(text)
    saved = found("import", "mem0.json", "--from", "mem0")
    assert [each["content"] for each in saved] == ["Likes tea", "Owns a dog"]
    assert saved[0]["metadata"] == {"app": "x", "mem0_id": "m1"}
    assert saved[0]["valid_from"].startswith("2026-01-02T03:04:05")
    assert {each["outcome"] for each in found("import", "mem0.json")} == {"unchanged"}
    (tmp_path / "mem0.json").write_text("7")
    assert "no list of memories" in str(CliRunner().invoke(app, ["import", "mem0.json"]).exception)
    (tmp_path / "mem0.json").write_text('[{"id": "m3"}]')
    refused = CliRunner().invoke(app, ["import", "mem0.json"])
    assert "memory 1 has no text" in str(refused.exception)


def test_what_is_stored_is_shown_as_text(memory: Palimpsest) -> None:
    memory.user("sarah").remember("[red]not markup[/red] \x1b[2J and no control")
    told = said("memories")
    assert "[red]not markup[/red] \\x1b[2J and no control" in told
    assert "\x1b[2J" not in told


def test_a_login_is_tried_and_kept_for_its_owner_alone(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PALIMPSEST_URL")
    monkeypatch.delenv("PALIMPSEST_API_KEY")
    refused = CliRunner().invoke(app, ["login", "--url", served.url, "--key", "pal_wrong"])
    assert refused.exit_code != 0
    file = tmp_path / "config" / "palimpsest" / "endpoint.json"
    assert not file.exists()
    assert f'"kept in": "{file}"' in said("login", "--json", given=f"{served.url}\n{KEY}\n")
    assert (file.stat().st_mode & 0o777, json.loads(file.read_text())["api_key"]) == (0o600, KEY)
    assert found("sessions") == []


def test_a_person_talks_to_a_model_that_remembers(
    memory: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model's words are shown as they come, and stored as one reply, which the next question
    follows.
    """
    with OpenAIApi() as model:
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        told = said("chat", given="I live in Hamburg.\nAnd [bold]you[/bold]?\n\n")
        replies = said("chat", "--json", "--session", "program", given="I live in Hamburg.")
        assert said("chat", "--session", "never-begun", given="\n").strip() in ("", ">")
    asked = [request.body for request in model.requests]
    assert [each["stream"] for each in asked] == [True, True, True]
    assert json.loads(replies) == {"content": "echo: I live in Hamburg."}
    stored = [
        (message["role"], message["content"])
        for message in memory.user("sarah").session("cli").messages()
    ]
    assert stored == [
        ("user", "I live in Hamburg."), ("assistant", "echo: I live in Hamburg."),
        ("user", "And [bold]you[/bold]?"), ("assistant", "echo: And [bold]you[/bold]?"),
    ]  # fmt: skip
    assert [message["content"] for message in asked[1]["messages"][-3:]] == [
        content for _, content in stored[:3]
    ]
    assert [line.removeprefix("> ") for line in told.splitlines() if "echo" in line] == [
        stored[1][1],
        stored[3][1],
    ]


def run(*words: str, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "palimpsest_client.cli", *words],
        input=given,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "environment", "told"),
    [
        (["memories"], {"PALIMPSEST_API_KEY": "pal_wrong"}, "palimpsest login"),
        (["messages", "nowhere"], {}, "session_not_found: There is no such session."),
        (["remember", ""], {}, "memories.0.content"),
        (["memories"], {"PALIMPSEST_URL": "nowhere"}, "https://"),
        (["forget"], {}, "Name at least one"),
        (["memories"], {"PALIMPSEST_USER": ""}, "--user"),
        (
            ["chat"],
            {"OPENAI_API_KEY": ""},
            "This command needs a model's key: set OPENAI_API_KEY.\n",
        ),
        (
            ["chat"],
            {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:1"},
            "The model gave no answer: Conn",
        ),
    ],
)
def test_what_goes_wrong_is_told_in_a_sentence(
    words: list[str],
    environment: dict[str, str],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In this process: six more starts of the program would take five seconds."""
    monkeypatch.setattr(sys, "argv", ["palimpsest", *words])
    monkeypatch.setattr(sys, "stdin", io.StringIO("Hello\n"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (1, 2)
    said_wrong = capsys.readouterr().err
    assert told in said_wrong
    assert "Traceback" not in said_wrong


def test_the_program_itself_ends_with_the_sentence() -> None:
    done = run("memories", PALIMPSEST_API_KEY="pal_wrong")
    assert (done.returncode, "palimpsest login" in done.stderr, "Traceback" in done.stderr) == (
        1,
        True,
        False,
    )


def test_mcp_over_standard_input_is_the_services_own(served: Served) -> None:
    def request(method: str, **params: Any) -> str:
        return json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params})

    client = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    envelope = {
        "protocolVersion": "2026-07-28",
        "clientCapabilities": {},
        "clientInfo": client["clientInfo"],
    }
    modern = {f"io.modelcontextprotocol/{name}": value for name, value in envelope.items()}
    lines = [
        request("initialize", **client),
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        request("tools/call", name="remember", arguments={"content": "Sarah likes tea."}),
        request("tools/call", name="recall", arguments={"query": "tea"}, _meta=modern),
        request("resources/read", uri="palimpsest://profile", _meta=modern),
        "no json",
    ]
    done = run("mcp", given="\n".join(lines) + "\n")
    assert done.returncode == 0, done.stderr
    begun, saved, recalled, profile, wrong = map(json.loads, done.stdout.splitlines())
    assert begun["result"]["protocolVersion"] == "2025-11-25"
    assert saved["result"]["isError"] is False
    assert "Sarah likes tea." in recalled["result"]["content"][0]["text"]
    assert "Sarah likes tea." in profile["result"]["contents"][0]["text"]
    assert "error" in wrong
    refused = run("mcp", given=lines[2] + "\n", PALIMPSEST_API_KEY="pal_wrong")
    assert json.loads(refused.stdout)["error"] == {
        "code": stdio.FAILED,
        "message": "The key is not valid.",
    }


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_official_client_talks_over_standard_input_to_the_memory(
    mode: str, tmp_path: Path
) -> None:
    server = [sys.executable, "-m", "palimpsest_client.cli", "mcp", "--user", "sarah"]
    command: list[str | Path] = [python_of("mcp"), PROGRAM, mode, *server]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own program
    assert ran.returncode == 0, ran.stdout + ran.stderr
    saw = json.loads(ran.stdout)
    assert {"recall", "remember", "forget"} <= set(saw["tools"])
    assert saw["saved"]["data"]["memories"][0]["content"] == f"Sarah tested {mode}."
    assert saw["listed"]["data"]["memories"][0]["id"] == saw["saved"]["data"]["memories"][0]["id"]
    assert (saw["wrong"]["is_error"], "query: is required" in saw["wrong"]["text"]) == (True, True)


@pytest.mark.parametrize("name", list(ClientName))
def test_the_configuration_of_a_client_leads_to_the_users_memory(
    name: ClientName, served: Served
) -> None:
    told = said("mcp", "--config", name)
    text = told if name == "codex" else told[told.index("{") :]
    read = tomllib.loads(text) if name == "codex" else json.loads(text)
    ((_, servers),) = read.items()
    entry = servers["palimpsest"]
    listed = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    if "command" in entry:
        command, line = [entry["command"], *entry["args"]], json.dumps(listed) + "\n"
        there = {"PATH": "", **entry["env"]}
        ran = subprocess.run(  # noqa: S603 - our own program
            command, input=line, capture_output=True, text=True, check=True, env=there
        )
        answer = json.loads(ran.stdout)
    else:
        address = next(entry[field] for field in ("url", "httpUrl", "serverUrl") if field in entry)
        answer = httpx2.post(address, json=listed, headers=entry["headers"]).json()
    assert len(answer["result"]["tools"]) == 7
    assert served.seen[-1][1] == "/v1/users/sarah/mcp"


def test_without_typer_the_command_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['typer'] = None; from palimpsest_client.cli import main; main()"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )  # noqa: RUF100, S603
    assert (done.returncode, "palimpsest-memory[cli]" in done.stderr) == (1, True)
