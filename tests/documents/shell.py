"""Runs a page's shell blocks, with stand-ins for the programs that need an account, a network or
minutes.

What stands in writes down how it was called, and prints the file of its name and second argument,
if there is one. `unknown_calls` says which of these calls the real program would not know.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import re
import subprocess
import threading
import tomllib
from collections.abc import Callable, Iterator
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from pathlib import Path

from palimpsest_client.cli.commands import app
from typer.testing import CliRunner

from infra import config, paths
from tests.documents import aws_commands
from tests.documents.pages import Block, compare, with_answers
from tests.engines import npm
from tests.served import respond

STAND_INS = ("aws", "cdk", "make", "npm", "npx", "pip", "sam")
WRITES_DOWN = """#!/bin/sh
{{ printf '%s\\0' {name} "$@"; printf '\\n'; }} >> {calls}
cat "{name}.$2" 2>/dev/null || true
"""
ASKS_HERE = """#!/bin/sh
printf '%s\\0' "$@" | curl --silent --show-error --fail-with-body --data-binary @- {url}
"""
MAKEFILE = (paths.PROJECT / "Makefile").read_text()
CDK = ("bootstrap", "deploy", "destroy", "diff", "synth")


def run(page: str, folder: Path, **environment: str) -> list[list[str]]:
    """Run a page's blocks in order, in a folder; returns how the stand-ins were called.

    Raises AssertionError if a block fails, or prints something else than the page shows.
    """
    calls, programs = folder / "calls", folder / "programs"
    programs.mkdir()
    for name in STAND_INS:
        _put(programs / name, WRITES_DOWN.format(calls=calls, name=name))
    path = os.pathsep.join((str(programs), os.environ["PATH"]))
    with command_line() as url:
        _put(programs / "palimpsest", ASKS_HERE.format(url=url))
        for block, answer in with_answers(page, "sh"):
            output = _said(block, folder, {**os.environ, **environment, "PATH": path})
            compare(output, answer)
            assert answer or "urn:palimpsest:problem" not in output, f"{block.place}: {output}"
    return (
        [line.split("\0")[:-1] for line in calls.read_text().splitlines()] if calls.exists() else []
    )


@contextlib.contextmanager
def command_line() -> Iterator[str]:
    """Has this process run the client's command line, which saves a second a command; gives the
    address to call.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            command = self.rfile.read(int(self.headers["Content-Length"])).decode()
            result = CliRunner().invoke(app, command.split("\0")[:-1])
            respond(
                self,
                200 if result.exit_code == 0 else 500,
                f"{result.output}{result.exception or ''}",
            )

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _put(file: Path, program: str) -> None:
    file.write_text(program)
    file.chmod(0o700)


def _said(block: Block, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(  # noqa: S603 - our own documents
        ["bash", "-euo", "pipefail", "-c", block.text],  # noqa: S607
        cwd=folder, env=environment, check=False, capture_output=True,
        text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, f"{block.place}: {done.stdout}{done.stderr}"
    return done.stdout


def unknown_calls(calls: list[list[str]]) -> list[list[str]]:
    """The calls that the programs themselves would not know."""
    return [call for call in calls if not KNOWN[call[0]](call[1:])]


def _aws(call: list[str]) -> bool:
    """An operation of a service, with all parameters that it requires and none that it lacks."""
    with contextlib.suppress(ValueError):
        return bool(aws_commands.read(call))
    return False


def _cdk(call: list[str]) -> bool:
    """A command of the CDK with options that it has, and context that the stack reads."""
    read = {"stage"}

    def context(name: str) -> str | None:
        read.add(name)
        return "jwt" if name == "auth" else None

    for reads in (partial(config.stage_named, "prod"), config.choices):
        with contextlib.suppress(SystemExit):  # a token's issuer is missing
            reads(context)
    given = {option.partition("=")[0] for flag, option in pairwise(call) if flag == "-c"}
    return call[0] in CDK and given <= read and _has_options(call)


def _has_options(call: list[str]) -> bool:
    """Whether the CDK's own command line, where it is installed, lists the options of a call."""
    program = npm.NODE_MODULES / "aws-cdk" / "bin" / "cdk"
    options = {word for word in call[1:] if word.startswith("--")}
    if not options or not (program.is_file() or npm.required()):
        return True
    return options <= _cdk_options(program, call[0])


@cache
def _cdk_options(program: Path, command: str) -> set[str]:
    shown = subprocess.run(  # noqa: S603 - the program that is locked
        [npm.NODE, program, command, "--help"], check=True, capture_output=True, text=True
    ).stdout
    return set(re.findall(r"^ +(--[a-z-]+)", shown, re.MULTILINE))


def _make(call: list[str]) -> bool:
    """Targets of the Makefile, and arguments that the program behind the target has."""
    targets = [word for word in call if "=" not in word]
    there = set(re.findall(r"^([a-z0-9-]+):.*##", MAKEFILE, re.MULTILINE))
    variables = dict(word.split("=", 1) for word in call if "=" in word)
    flags = set(re.findall(r"(?<!\S)--[a-z-]+", variables.get("ARGS", "")))
    set_here = set(re.findall(r"^([A-Z]+) \?=", MAKEFILE, re.MULTILINE))
    return (
        set(targets) <= there
        and set(variables) <= set_here
        and (not flags or flags <= _flags(targets[0], variables))
    )


def _flags(target: str, variables: dict[str, str]) -> set[str]:
    """The options of the program that a target runs, and of its first argument, where that is a
    command.
    """
    program = re.search(rf"^{target}:.*\n\t@\$\(PYTHON\) -m (\S+)", MAKEFILE, re.MULTILINE)
    assert program, f"make {target} takes no ARGS"
    command = [word for word in variables["ARGS"].split()[:1] if not word.startswith("-")]
    return set(re.findall(r"--[a-z-]+", _help(program[1], *command)))


@cache
def _help(module: str, *command: str) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        importlib.import_module(module).main([*command, "--help"])
    return output.getvalue()


def _npm(call: list[str]) -> bool:
    """A package of the reader's own; packages that the tests install too, the CDK's command line,
    or Node's types, of which the test of TypeScript declares what it needs.
    """
    if call[0] == "init" or call[:2] == ["pkg", "set"]:
        return True
    there = {
        *json.loads((paths.PROJECT / "tests" / "engines" / "package.json").read_text())[
            "dependencies"
        ]
    }
    there |= {"aws-cdk", "@types/node"}
    packages = [
        word.partition("@")[0] if word[0] != "@" else word for word in call if word[0] != "-"
    ]
    return packages[0] in {"install", *there} and (
        packages[0] != "install" or set(packages[1:]) <= there
    )


def _pip(call: list[str]) -> bool:
    """The packages of this project, with extras that they have, or what is published."""
    return call[0] == "install" and all(
        map(_is_there, (word for word in call[1:] if word[0] != "-"))
    )


def _is_there(requirement: str) -> bool:
    name, extras = re.fullmatch(r"([\w./-]+)(?:\[([\w,-]+)\])?", requirement).groups()  # type: ignore[union-attr]
    client = "layers/client/pyproject.toml"
    files = {"palimpsest-memory": client, "./layers/client": client, ".": "pyproject.toml"}
    if name not in files:
        return extras is None
    there = tomllib.loads((paths.PROJECT / files[name]).read_text())["project"][
        "optional-dependencies"
    ]
    return set((extras or "").split(",")) - {""} <= set(there)


def _sam(call: list[str]) -> bool:
    return call[:2] == ["local", "invoke"]


KNOWN: dict[str, Callable[[list[str]], bool]] = {
    "aws": _aws, "cdk": _cdk, "make": _make, "npm": _npm, "npx": _npm, "pip": _pip, "sam": _sam,
}  # fmt: skip


def files() -> Iterator[tuple[str, str]]:
    """What the reader of a page has at hand: names and contents of files."""
    messages = [
        {"role": "user", "content": "I own a dog."},
        {"role": "assistant", "content": "Noted."},
    ]
    yield "chats.jsonl", json.dumps({"session_id": "nora-old", "messages": messages})
    yield "old-chats.jsonl", json.dumps({"session_id": "ivan-old", "messages": messages})
    mem0 = {
        "id": "1",
        "memory": "Moritz lives in Hamburg.",
        "user_id": "moritz",
        "created_at": "2026-01-05T09:00:00Z",
    }
    yield "mem0.json", json.dumps({"results": [mem0]})
    event = {
        "sessionId": "amara-monday",
        "eventId": "1",
        "eventTimestamp": "2026-01-05T09:00:00+00:00",
        "payload": [
            {"conversational": {"role": "USER", "content": {"text": "I live in Hamburg."}}}
        ],
    }
    yield "aws.list-events", json.dumps({"events": [event]})
