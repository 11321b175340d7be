"""Any server may answer at the service's address: client and command line wait and read within
bounds, and say so.
"""

import io
import itertools
import json
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import anyio
import palimpsest_client.calls
import palimpsest_client.cli.shown
import palimpsest_client.connection
import pytest
from palimpsest_client import AsyncPalimpsest, ConnectionLost, Palimpsest, PalimpsestError, errors
from palimpsest_client.calls import LONGEST_PAUSE, MOST_EMPTY_PAGES, TRIES
from palimpsest_client.cli import main
from palimpsest_client.errors import NotTheService

from tests.served import respond

EVIL = "\x1b[2J\x1b]0;owned\x07 \x9b31m \x7f \u202e \u2028 \r\x00 end"
BODIES = {
    "list": b"[]",
    "null": b"null",
    "number": b"7",
    "text": b'"x"',
    "html": b"<html>Hello</html>",
    "bytes": b"\xff\xfe",
    "deep": b"[" * 100_000,
    "rows": b'{"sessions": 7, "memories": null, "messages": 7, "versions": '
    b'"x", "usage": true,'
    b' "jobs": {}, "next_cursor": 7, "job_id": 7, "context": []}',
}
COMMANDS = [
    ["sessions"],
    ["messages", "s"],
    ["context", "s"],
    ["recall", "tea"],
    ["remember", "Tea."],
    ["memories"],
    ["history", "m"],
    ["revert", "m"],
    ["forget", "m"],
    ["forget", "--type", "fact"],
    ["forget", "--type", "fact", "--dry-run"],
    ["ingest", "chats.jsonl"],
    ["export"],
    ["export", "sarah.jsonl"],
    ["import", "mem0.json"],
    ["import", "own.jsonl"],
    ["jobs", "--failed"],
    ["usage"],
    ["erase", "--yes"],
]


class Hostile:
    """A server on loopback that answers each request by `answer`; `asked` are the paths that it was
    asked for.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answer: Callable[[BaseHTTPRequestHandler], None] = lambda to: respond(to, 200, "{}")
        hostile = self

        class Handler(BaseHTTPRequestHandler):
            def handle(self) -> None:
                try:
                    super().handle()
                except ConnectionError:  # the client has had enough
                    self.close_connection = True

            def handle_any(self) -> None:
                hostile.asked.append(self.path)
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                hostile.answer(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815 - as the library calls them

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def hostile() -> Iterator[Hostile]:
    with Hostile() as running:
        yield running


@pytest.fixture
def memory(hostile: Hostile) -> Iterator[Palimpsest]:
    with Palimpsest(hostile.url, "pal_x") as client:
        yield client


@pytest.fixture
def command(
    hostile: Hostile,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command; returns its exit status and what it wrote."""
    monkeypatch.setenv("PALIMPSEST_URL", hostile.url)
    monkeypatch.setenv("PALIMPSEST_API_KEY", "pal_x")
    monkeypatch.setenv("PALIMPSEST_USER", "sarah")
    monkeypatch.chdir(tmp_path)
    for console in (palimpsest_client.cli.shown.console, palimpsest_client.cli.shown.errors):
        monkeypatch.setattr(console, "width", 10_000)
    Path("chats.jsonl").write_text('{"role": "user", "content": "I live in Hamburg."}')
    Path("mem0.json").write_text('[{"memory": "Likes tea"}]')
    Path("own.jsonl").write_text('{"format":"palimpsest"}')

    def run(*words: str, given: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["palimpsest", *words])
        monkeypatch.setattr(sys, "stdin", io.StringIO(given))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def answering(
    body: bytes, *, status: int = 200, **headers: str
) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(to: BaseHTTPRequestHandler) -> None:
        to.send_response(status)
        for name, value in headers.items():
            to.send_header(name.replace("_", "-"), value)
        to.send_header("Content-Length", str(len(body)))
        to.end_headers()
        to.wfile.write(body)

    return answer


@pytest.mark.parametrize("body", BODIES)
def test_an_answer_of_another_shape_is_one_sentence(
    body: str, hostile: Hostile, command: Callable[..., tuple[int, str, str]]
) -> None:
    hostile.answer = answering(BODIES[body])
    for words in COMMANDS:
        if body == "rows" and words in (
            ["forget", "m"],
            ["revert", "m"],
        ):  # they show whatever object answers them
            continue
        status, out, err = command(*words)
        sentence = [line for line in err.splitlines() if line.strip()][-1]
        assert (status, out.strip()) == (1, ""), words
        assert sentence.endswith((".", ")", "]")), (words, err)
        assert "Traceback" not in err


@pytest.mark.parametrize("body", BODIES)
def test_the_client_raises_errors_of_its_own(
    body: str, hostile: Hostile, memory: Palimpsest
) -> None:
    hostile.answer = answering(BODIES[body])
    chat, sarah = memory.session("s", user="sarah"), memory.user("sarah")
    calls: list[Callable[[], Any]] = [
        lambda: chat.say("Hello"),
        lambda: list(chat.messages()),
        lambda: list(sarah.memories()),
        lambda: sarah.remember("Tea."),
        lambda: sarah.erase().wait(),
        lambda: list(sarah.exported()),
        lambda: list(memory.sessions(limit=3)),
    ]
    for call in calls:
        with pytest.raises(PalimpsestError):
            call()

    async def asynchronously() -> None:
        async with AsyncPalimpsest(hostile.url, "pal_x") as client:
            await client.session("s", user="sarah").say("Hello")

    with pytest.raises(NotTheService):
        anyio.run(asynchronously)


def test_an_erasure_that_is_answered_by_nothing_is_not_done(
    hostile: Hostile, memory: Palimpsest
) -> None:
    hostile.answer = answering(b"{}")
    with pytest.raises(NotTheService):
        memory.user("sarah").erase()


def test_a_redirect_is_not_followed_and_the_key_stays_here(
    hostile: Hostile, command: Callable[..., tuple[int, str, str]]
) -> None:
    with Hostile() as elsewhere:
        for status in (301, 302, 307, 308):
            hostile.answer = answering(b"", status=status, Location=f"{elsewhere.url}/v1/sessions")
            code, out, err = command("sessions")
            assert (code, out, len(err.splitlines())) == (1, "", 1)
            assert f"it answers {status}" in err
        assert elsewhere.asked == []


def test_a_list_that_goes_on_without_rows_has_an_end(
    hostile: Hostile, memory: Palimpsest, command: Callable[..., tuple[int, str, str]]
) -> None:
    numbers = itertools.count()

    def empty(to: BaseHTTPRequestHandler) -> None:
        respond(to, 200, json.dumps({"sessions": [], "next_cursor": f"c{next(numbers)}"}))

    hostile.answer = empty
    code, _, err = command("sessions")
    assert (code, len(err.splitlines()), "does not end" in err) == (1, 1, True)
    assert len(hostile.asked) == MOST_EMPTY_PAGES
    hostile.answer = answering(b'{"sessions": [], "next_cursor": "again"}')
    hostile.asked.clear()
    with pytest.raises(NotTheService):
        list(memory.sessions())
    assert len(hostile.asked) == 2


def test_a_list_that_gives_more_than_was_asked_for_is_cut(
    hostile: Hostile, memory: Palimpsest
) -> None:
    hostile.answer = answering(json.dumps({"sessions": [{}] * 500, "next_cursor": "c"}).encode())
    assert len(list(memory.sessions(limit=7))) == 7


def test_the_command_line_shows_so_many_rows_and_says_that_there_are_more(
    hostile: Hostile, command: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(palimpsest_client.cli.shown, "MOST_ROWS", 1_000)
    numbers = itertools.count()

    def full(to: BaseHTTPRequestHandler) -> None:
        respond(
            to,
            200,
            json.dumps({"usage": [{"messages": 1}] * 100, "next_cursor": f"c{next(numbers)}"}),
        )

    hostile.answer = full
    code, out, err = command("usage", "--json")
    assert (code, len(json.loads(out)), "more rows" in err) == (0, 1_000, True)
    assert len(hostile.asked) == 11


@pytest.mark.parametrize("wait", ["999999999", "nan", "inf", "-5", "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_no_server_has_the_client_wait_for_long(
    wait: str,
    hostile: Hostile,
    command: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("palimpsest_client.blocking.time.sleep", pauses.append)
    hostile.answer = answering(
        b'{"code": "contention", "detail": "Busy."}', status=503, Retry_After=wait
    )
    assert command("sessions")[::2] == (1, "contention: Busy.\n")
    assert len(hostile.asked) == TRIES
    assert all(0 <= pause <= LONGEST_PAUSE for pause in pauses)


def test_an_answer_without_end_is_left(
    hostile: Hostile, memory: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(to: BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.end_headers()
        while True:
            to.wfile.write(b" " * 10_000)

    hostile.answer = endless
    monkeypatch.setattr(palimpsest_client.connection, "LARGEST_ANSWER", 100_000)
    with pytest.raises(NotTheService, match="more than 100,000 bytes"):
        memory.health()
    monkeypatch.setattr(palimpsest_client.connection, "LARGEST_ANSWER", 10**12)
    monkeypatch.setattr(palimpsest_client.connection, "LONGEST_ANSWER", 0.05)
    with pytest.raises(ConnectionLost, match="takes too long"):
        memory.health()
    assert len(hostile.asked) == 1 + TRIES
    hostile.answer = answering(b"no gzip", Content_Encoding="gzip")
    with pytest.raises(NotTheService, match="can't be decoded"):
        memory.health()


def is_harmless(text: str) -> bool:
    return all(each == "\n" or each.isprintable() for each in text)


def test_no_control_character_reaches_the_terminal(
    hostile: Hostile, command: Callable[..., tuple[int, str, str]]
) -> None:
    row = dict.fromkeys(
        (
            "session_id",
            "id",
            "content",
            "type",
            "topic_key",
            "role",
            "memory",
            "state",
            "kind",
            "day",
            EVIL,
        ),
        EVIL,
    )
    rows: dict[str, Any] = {
        name: [row] for name in ("sessions", "messages", "memories", "versions", "jobs", "usage")
    }
    whole = {
        **row,
        **rows,
        "next_cursor": None,
        "tokens": {EVIL: 1},
        "omitted": EVIL,
        "degraded": [EVIL],
        "answer": EVIL,
    }
    shown = [
        ["sessions"],
        ["messages", "s"],
        ["context", "s"],
        ["recall", "x"],
        ["remember", "x"],
        ["memories"],
        ["history", "m"],
        ["revert", "m"],
        ["forget", "m"],
        ["jobs", "--failed"],
        ["usage"],
    ]
    for words in shown:
        for form in ([], ["--json"]):
            hostile.answer = answering(json.dumps(whole).encode())
            code, out, err = command(*words, *form)
            assert (code, "end" in out, is_harmless(out + err)) == (0, True, True), (
                words,
                form,
                out,
            )
            hostile.answer = answering(
                json.dumps(
                    {"code": EVIL, "detail": EVIL, "errors": [{"field": EVIL, "message": EVIL}, 7]}
                ).encode(),
                status=400,
            )
            code, out, err = command(*words, *form)
            assert (code, out, "end" in err, is_harmless(err)) == (1, "", True, True), (words, form)


def test_the_files_of_an_export_are_addresses_and_lines(
    hostile: Hostile,
    memory: Palimpsest,
    monkeypatch: pytest.MonkeyPatch,
    command: Callable[..., tuple[int, str, str]],
) -> None:
    files: list[Any] = []

    def export(to: BaseHTTPRequestHandler) -> None:
        if to.path.endswith("file"):
            to.send_response(200)
            to.end_headers()
            to.wfile.write(
                json.dumps({"text": EVIL}, ensure_ascii=False).encode() + b"\n" + b"x" * 3_000
            )
            return
        respond(
            to, 200, json.dumps({"job_id": "j", "state": "done", "ledger": None, "files": files})
        )

    hostile.answer = export
    monkeypatch.setattr("palimpsest_client.exchange.LONGEST_LINE", 1_000)
    for address, rows in ((f"{hostile.url}/file", 1), ("file:///etc/passwd", 0), (7, 0)):
        files[:] = [address]
        code, out, err = command("export")
        assert (code, len(out.splitlines()), len(err.splitlines())) == (1, rows, 1)
        assert is_harmless(out + err)
        with pytest.raises(NotTheService):
            list(memory.user("sarah").exported())


@pytest.mark.parametrize("body", BODIES)
def test_the_bridge_answers_its_client_whatever_answers_it(
    body: str, hostile: Hostile, command: Callable[..., tuple[int, str, str]]
) -> None:
    for status in (200, 302, 500):
        hostile.answer = answering(BODIES[body], status=status)
        _, out, err = command("mcp", given='{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n' * 2)
        assert [json.loads(line)["error"]["code"] for line in out.splitlines()] == [-32603, -32603]
        assert err == ""


def test_a_sentence_is_one_however_much_the_server_says(
    hostile: Hostile, command: Callable[..., tuple[int, str, str]]
) -> None:
    hostile.answer = answering(
        json.dumps({"code": "x", "detail": "so\n" * 100_000}).encode(), status=422
    )
    code, _, err = command("sessions")
    assert (code, len(err.splitlines())) == (1, 1)
    assert len(err) < 600
    assert issubclass(errors.NotTheService, errors.NotConfigured)
