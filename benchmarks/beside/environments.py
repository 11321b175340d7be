"""The libraries that are compared with this one. Each has an environment of its own with pinned
versions, which is deleted with .build.
"""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.service import Place
from infra import paths

ENVIRONMENTS = paths.BUILD / "venvs" / "bench"
REQUIREMENTS = Path(__file__).parent / "subjects" / "requirements"


@dataclass(frozen=True, slots=True)
class Peer:
    """A compared library. `module` drives it, `packages` are the packages that its row names with
    their versions, and `note` says how it is set up.
    """

    module: str
    title: str
    packages: tuple[str, ...]
    note: str

    @property
    def versions(self) -> str:
        pinned = dict(
            line.split(" ")[0].split("==", 1)
            for line in self.requirements.read_text().splitlines()
            if "==" in line
        )
        return ", ".join(f"{package} {pinned[package]}" for package in self.packages)

    @property
    def requirements(self) -> Path:
        return REQUIREMENTS / f"{self.module}.txt"


PEERS = (
    Peer(
        "openai_agents",
        "OpenAI Agents SQLiteSession",
        ("openai-agents",),
        "a file database, get_items(limit=20); its text is neither validated nor counted",
    ),
    Peer(
        "llama_index_memory",
        "LlamaIndex Memory",
        ("llama-index-core", "sqlalchemy", "aiosqlite"),
        "a file database by async_database_uri; token_limit of 40 messages, token_flush_size of "
        "20, no memory blocks: "
        "reading gives the 20 to 40 messages of its queue",
    ),
    Peer(
        "langgraph_sqlite",
        "LangGraph SqliteSaver",
        ("langgraph", "langgraph-checkpoint-sqlite"),
        "MessagesState; an append is one update_state (a run of a graph writes more checkpoints), "
        "reading is "
        "get_state; its beta DeltaChannel, which stores differences, is not used",
    ),
    Peer(
        "langchain_dynamodb",
        "LangChain DynamoDBChatMessageHistory",
        ("langchain-community", "boto3"),
        "the documented table on the same engine as ours, history_size unset: with it older "
        "messages are deleted",
    ),
)


def python_of(peer: Peer) -> Path:
    """Return the interpreter of the library's environment. The environment is made if it is missing
    or was made from other requirements.
    """
    folder = ENVIRONMENTS / peer.module
    stamp = folder / "requirements.sha256"
    digest = hashlib.sha256(peer.requirements.read_bytes() + sys.version.encode()).hexdigest()
    python = folder / "bin" / "python"
    with paths.building():
        if not stamp.is_file() or stamp.read_text() != digest:
            print(f"Installing {peer.versions}", file=sys.stderr, flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            uv = [sys.executable, "-m", "uv"]
            away = tempfile.gettempdir()  # where the project's own exclusions do not count
            venv = [*uv, "venv", "--quiet", "--python", sys.executable, str(folder)]
            subprocess.run(venv, check=True, cwd=away)
            options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--python", python]
            subprocess.run(
                [*uv, "pip", "install", *map(str, options), "-r", str(peer.requirements)],
                check=True,
                cwd=away,
            )
            stamp.write_text(digest)
    return python


def command(python: Path | str, module: str, task: dict[str, Any]) -> list[str]:
    return [str(python), "-m", f"benchmarks.beside.subjects.{module}", json.dumps(task)]


def environment(place: Place) -> dict[str, str]:
    """Return the environment variables of a subject's process. They hold nothing about this
    machine's user, and no way to reach other machines.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, **place.environment}


def printed(
    module: str,
    *arguments: str,
    env: Mapping[str, str],
    seconds: float,
    input_text: str | None = None,
) -> Any:
    """Return the JSON in the last line that a module of ours prints, run in a process of its own
    with this environment. It reads `input_text`. Raises `RuntimeError` if it fails.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        input=input_text,
        env=env,
        cwd=paths.PROJECT,
        check=False,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{module}: {done.stderr.strip()[-2_000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def asked(
    python: Path | str, module: str, task: dict[str, Any], *, place: Place, seconds: float
) -> dict[str, Any]:
    """Return the answer of a subject's process. Raises `RuntimeError` if it ends without an answer,
    or not in time.
    """
    try:
        done = subprocess.run(
            command(python, module, task),
            check=False,
            capture_output=True,
            text=True,
            timeout=seconds,
            cwd=paths.PROJECT,
            env=environment(place),
        )
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"{module}: no answer within {seconds:.0f} s") from error
    if done.returncode != 0:
        raise RuntimeError(f"{module}: {done.stderr.strip().splitlines()[-1:]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@contextlib.contextmanager
def home(peer: Peer, place: Place) -> Iterator[str]:
    """Yield the place where a library stores its data: a folder of its own, or a table of its own
    in the database.
    """
    if peer.module == "langchain_dynamodb":
        yield json.dumps({"endpoint": place.endpoint, "table": _session_table(place)})
    else:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            yield folder


def _session_table(place: Place) -> str:
    """Create the table from LangChain's documentation, under a new name, and return the name."""
    import uuid

    import boto3

    name = f"SessionTable-{uuid.uuid4().hex[:8]}"
    boto3.client("dynamodb", endpoint_url=place.endpoint).create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "SessionId", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "SessionId", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return name
