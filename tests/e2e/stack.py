"""A running stack as tests meet it: in front of it with an API key, behind it with an operator's
rights.
"""

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from infra import paths
from infra.operate import target
from infra.operate.api_keys import SCOPES, ApiKeys
from infra.operate.target import Target
from tests.engines import loopback
from tests.engines.loopback import free_port

STACK = "Palimpsest-local"
DEAD_LETTERS = "DeadLettersUrl"
MODEL = "gpt-4.1-mini"  # not the default one: changing it gives the workers a new environment
PATIENCE = loopback.PATIENCE
WAIT = 20
MOST_LINES = 10_000  # of a log group in one answer of the local AWS


class Status(int):
    """An answer's status; where an assertion shows one that was refused, it shows the answer's
    words too.
    """

    def __new__(cls, status: int, text: str) -> Self:
        status_with_words = super().__new__(cls, status)
        status_with_words.text = text
        return status_with_words

    text: str

    def __repr__(self) -> str:
        return f"{int(self)} {self.text}" if self >= HTTPStatus.BAD_REQUEST else f"{int(self)}"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass(frozen=True, slots=True)
class Client:
    """HTTP with an API key; every call has a connection of its own, so that threads may share
    it.
    """

    url: str
    key: str
    tenant: str = ""

    def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        query: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        place = urlsplit(self.url)
        sent = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        sent |= {"Content-Type": "application/json", **(headers or {})}
        data = raw if raw is not None or body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection(place.netloc, timeout=PATIENCE)
        try:
            target = f"{place.path}{path}?{urlencode(query)}" if query else f"{place.path}{path}"
            connection.request(method, target, data, sent)
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            text = answer.read().decode()
            return Answer(Status(answer.status, text), named, text)
        finally:
            connection.close()

    def begin(self, session: str, **memory: object) -> None:
        """A session of Sarah's with a memory configuration."""
        answer = self(
            "POST", "/v1/sessions", {"session_id": session, "user_id": "sarah", "memory": memory}
        )
        assert answer.status == 201, answer.text

    def append(
        self, session: str, *texts: str, role: str = "user", key: str = "", **more: object
    ) -> Answer:
        body = {
            "user_id": "sarah",
            "messages": [{"role": role, "content": text} for text in texts],
            **more,
        }
        headers = {"Idempotency-Key": key} if key else {}
        return self("POST", f"/v1/sessions/{session}/messages", body, headers=headers)

    def say(
        self, session: str, turns: int, *, about: str = "remote work", first: int = 0
    ) -> list[Any]:
        """Whole turns of some 50 tokens each, one append a turn; returns the answers."""
        answers = []
        for number in range(first, first + turns):
            question = f"Question {number} about {about}: what does the staff handbook say, and where does it say so?"
            reply = f"Answer {number} about {about}: it is allowed, with your manager's approval; see section {number}."
            messages = [
                {"role": "user", "content": question},
                {"role": "assistant", "content": reply},
            ]
            body = {"user_id": "sarah", "messages": messages}
            answer = self("POST", f"/v1/sessions/{session}/messages", body)
            assert answer.status == 201, answer.text
            answers.append(answer.json)
        return answers

    def overflow(self, session: str, *, about: str = "remote work") -> str:
        """Talk until a window of 400 tokens overflows; the id of the job that is pending then.
        Nothing is extracted.
        """
        self.begin(session, max_tokens=400, keep_recent_turns=2, extract="manual")
        for number in range(20):
            (answer,) = self.say(session, 1, about=about, first=number)
            if answer["overflow"]:
                job_id: str = answer["overflow"]["job_id"]
                return job_id
        raise AssertionError("the window never overflowed")

    def job(self, job_id: str) -> Any:
        """The job when it has ended."""
        answers: list[Any] = []

        def has_ended() -> bool:
            answer = self("GET", f"/v1/jobs/{job_id}", query={"wait": WAIT})
            assert answer.status == 200, answer.text
            answers.append(answer.json)
            return answers[-1]["state"] in ("done", "failed")

        eventually(has_ended)
        return answers[-1]

    def ended(self, answer: Answer) -> Any:
        """The job that a call with `wait` began: as it was answered, or later where a busy machine
        needed longer.
        """
        assert answer.status in (HTTPStatus.OK, HTTPStatus.ACCEPTED)
        return answer.json if answer.status == HTTPStatus.OK else self.job(answer.json["job_id"])

    def state(self, job_id: str) -> str:
        state: str = self("GET", f"/v1/jobs/{job_id}").json["state"]
        return state

    def whole(self, path: str, body: Mapping[str, object], *, but: Collection[str] = ()) -> Any:
        """A context or recall that misses nothing, `but` for these: what takes too long on a busy
        machine is left out, and is there when one asks again.
        """
        answers: list[Any] = []

        def is_whole() -> bool:
            answer = self("POST", path, body)
            assert answer.status == HTTPStatus.OK
            answers.append(answer.json)
            return set(answers[-1]["degraded"]) <= set(but)

        eventually(is_whole)
        return answers[-1]

    def session(self, session: str) -> Any:
        return self("GET", f"/v1/sessions/{session}").json

    def history(self, session: str) -> list[Any]:
        """Every row, page after page."""
        rows: list[Any] = []
        query: dict[str, object] = {"limit": 100}
        while True:
            page = self("GET", f"/v1/sessions/{session}/messages", query=query).json
            rows += page["messages"]
            if page["next_cursor"] is None:
                return rows
            query["cursor"] = page["next_cursor"]


def folder_of_its_own() -> Path:
    return Path(tempfile.mkdtemp(prefix="stack-"))


@dataclass
class Stack:
    """The stack in a folder and on a port of its own, driven by the commands that its users
    have.
    """

    folder: Path
    openai_url: str
    port: int = field(default_factory=free_port)
    has_model: bool | None = None  # None: it was not started yet
    url: str = ""
    key: str = ""

    def start(self, **environment: str) -> None:
        """Bring it up, or up to date."""
        variables = {"OPENAI_BASE_URL": self.openai_url, **environment}
        self.run("infra.local", "start", "--port", str(self.port), environment=variables)
        endpoint = json.loads((self.folder / "endpoint.json").read_text())
        self.url, self.key = endpoint["url"], endpoint["api_key"]
        for known in ("place", "keys"):  # a local AWS that was started again has another access key
            self.__dict__.pop(known, None)

    def use_model(self, *, wanted: bool) -> None:
        """With a key the workers ask the double of OpenAI's API, without one they ask nobody."""
        if self.has_model != wanted:
            self.start(**({"OPENAI_API_KEY": "sk-test", "CHAT_MODEL": MODEL} if wanted else {}))
            self.has_model = wanted

    def kill(self) -> None:
        """End it with all that it started, at once: nobody wants its state."""
        for started in (self.folder / "process.json", self.folder / "opensearch.json"):
            if started.is_file() and (pid := json.loads(started.read_text())["pid"]):
                os.killpg(pid, signal.SIGKILL)

    def run(
        self, module: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> str:
        """The output of one of the project's commands on this stack."""
        variables = os.environ | {"PALIMPSEST_LOCAL_DIR": str(self.folder), **(environment or {})}
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments], env=variables, cwd=paths.PROJECT, check=False,
            capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @cached_property
    def place(self) -> Target:
        return Target(STACK, target.local_session(self.folder), f"http://127.0.0.1:{self.port}")

    @cached_property
    def outputs(self) -> dict[str, str]:
        return self.place.outputs()

    @cached_property
    def keys(self) -> ApiKeys:
        return ApiKeys(self.place, self.outputs["TenantsTable"])

    def client(self, *, scopes: tuple[str, ...] = SCOPES, tenant: str = "") -> Client:
        """A client with a key of its own, of a tenant that nobody else has."""
        tenant = tenant or f"tenant-{uuid.uuid4().hex[:12]}"
        return Client(self.url, self.keys.create(tenant, scopes=scopes), tenant)

    def logs(self, function: str = "", *, since: float = 0) -> list[str]:
        """Every line that a function has logged since then (epoch seconds), or all log groups
        together.
        """
        client = self.place.client("logs")
        groups = [group["logGroupName"] for group in client.describe_log_groups()["logGroups"]]
        wanted = [group for group in groups if f"/{function}Log" in group or not function]
        return [line for group in wanted for line in _lines(client, group, since=int(since * 1000))]

    def waiting(self, queue: str) -> int:
        """How many messages of a queue can be received."""
        options = {
            "QueueUrl": self.outputs[queue],
            "AttributeNames": ["ApproximateNumberOfMessages"],
        }
        return int(
            self.place.client("sqs").get_queue_attributes(**options)["Attributes"][
                "ApproximateNumberOfMessages"
            ]
        )

    def take(self, queue: str) -> list[str]:
        """The bodies of a queue's messages, which are deleted."""
        client, bodies = self.place.client("sqs"), []
        while messages := client.receive_message(
            QueueUrl=self.outputs[queue], MaxNumberOfMessages=10
        ).get("Messages"):
            for message in messages:
                client.delete_message(
                    QueueUrl=self.outputs[queue], ReceiptHandle=message["ReceiptHandle"]
                )
                bodies.append(message["Body"])
        return bodies


def _lines(client: Any, group: str, *, since: int) -> list[str]:
    """Every line of a log group since then (epoch milliseconds). The local AWS gives the oldest
    10,000 and no more, so one asks again from the last millisecond of a full answer on.
    """
    lines: list[str] = []
    while True:
        events = client.filter_log_events(logGroupName=group, startTime=since, limit=MOST_LINES)[
            "events"
        ]
        if len(events) < MOST_LINES:
            return lines + [event["message"] for event in events]
        next_since = max(since + 1, events[-1]["timestamp"])
        lines += [event["message"] for event in events if event["timestamp"] < next_since]
        since = next_since


def processes_of(folder: Path) -> list[dict[str, str]]:
    """The environments of the functions' processes that the local AWS of that folder has started.
    Its other children, such as the one that saves a snapshot, come and go by themselves.
    """
    parent = json.loads((folder / "process.json").read_text())["pid"]
    children = [
        children_of_task.read_text()
        for children_of_task in Path(f"/proc/{parent}/task").glob("*/children")
    ]
    environments = [
        environment_of(Path("/proc", pid))
        for children_of_task in children
        for pid in children_of_task.split()
    ]
    return [
        environment for environment in environments if "AWS_LAMBDA_FUNCTION_NAME" in environment
    ]


def environment_of(process: Path) -> dict[str, str]:
    """What a process was given, by its folder in /proc; nothing if it has ended."""
    try:
        entries = (process / "environ").read_text(errors="replace").split("\0")
    except OSError:
        return {}
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def eventually(look: Callable[[], object]) -> None:
    """Returns once `look` gives something true; fails when its patience is over."""
    deadline = time.monotonic() + PATIENCE
    while not look():
        assert time.monotonic() < deadline, f"not so within {PATIENCE} s"
        time.sleep(0.1)
