"""Runs a storm on a local stack of its own, judges it, and writes a report with a picture.

python -m benchmarks.storm [--minutes 10] [--users 20] [--pause 2] [--write]
"""

from __future__ import annotations

import argparse
import json
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.report import load, machine
from benchmarks.storm.model import WAYS, well
from benchmarks.storm.picture import Story, svg
from benchmarks.storm.talk import BUDGET, Course, User
from benchmarks.storm.verdict import QUIET_SECONDS, Verdict, add_contexts, judge
from benchmarks.storm.weather import Weather, write_share
from infra import paths
from tests.doubles.openai_api import OpenAIApi
from tests.e2e.stack import MODEL, Client, Stack, folder_of_its_own

TENANTS = 4
LONGEST_WAIT = 900  # seconds until everything must be quiet
LOOK = 5.0
PAGES = paths.PROJECT / "docs" / "measurements"
OTHERS = "\n## An hour\n"
"""The heading of the page below which the reports of other storms are, which stay."""
WAITS, HIDDEN = "ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"
JOBS = "#t = :job AND attribute_exists(due_at)"


@dataclass(slots=True)
class Queues:
    """How many messages are in queues, seen every few seconds."""

    stack: Stack
    begun: float
    seen: list[tuple[float, float]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        while not self.over.wait(LOOK):
            self.look()

    def look(self) -> tuple[int, int]:
        """Return how many messages wait, and how many are received or hidden."""
        client, counts = self.stack.place.client("sqs"), Counter[str]()
        for output, url in self.stack.outputs.items():
            if output.endswith("QueueUrl"):
                attributes = client.get_queue_attributes(
                    QueueUrl=url, AttributeNames=[WAITS, HIDDEN]
                )
                counts.update(
                    {name: int(attributes["Attributes"][name]) for name in (WAITS, HIDDEN)}
                )
        self.seen.append((time.time() - self.begun, counts.total()))
        return counts[WAITS], counts[HIDDEN]


def under_way(stack: Stack) -> list[str]:
    """Return what is not done yet: jobs that run or come again, and memories that the index has not
    confirmed.
    """
    client = stack.place.client("dynamodb")
    scan: dict[str, Any] = {
        "FilterExpression": JOBS,
        "ExpressionAttributeNames": {"#t": "type"},
        "ExpressionAttributeValues": {":job": {"S": "job"}},
    }
    jobs = client.get_paginator("scan").paginate(TableName=stack.outputs["SessionsTable"], **scan)
    jobs_left = [_job(item) for page in jobs for item in page["Items"]]
    pending = {
        "FilterExpression": "index_state = :pending",
        "ExpressionAttributeValues": {":pending": {"S": "pending"}},
    }
    records = client.get_paginator("scan").paginate(
        TableName=stack.outputs["MemoriesTable"], **pending
    )
    return jobs_left + ["memory not indexed" for page in records for _ in page["Items"]]


def _job(item: dict[str, Any]) -> str:
    kind, state = item["kind"]["S"], item["state"]["S"]
    tries = item["tries"]["N"] if "tries" in item else "0"
    due = float(item["due_at"]["N"]) - time.time()
    return f"{kind} {state}, tried {tries} times, due in {due:.0f} s"


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a storm: its seconds, its users, and the seconds between two turns of a user.
    `pace` shortens the pauses between faults. `patience` is how many seconds the storm waits at its
    end until everything is quiet.
    """

    seconds: float
    users: int
    pause: float
    pace: float = 1.0
    patience: float = LONGEST_WAIT


def run(size: Size) -> tuple[Verdict, Story, Sequence[Course], Counter[str]]:
    """Run a storm on a local stack of its own."""
    with OpenAIApi(answer=well) as api:
        stack = Stack(folder_of_its_own(), api.base_url)
        write_share(stack.folder, 0)
        try:
            stack.start(OPENAI_API_KEY="sk-test", CHAT_MODEL=MODEL)
            return _storm(stack, api, size)
        finally:
            stack.kill()
            shutil.rmtree(stack.folder, ignore_errors=True)


def _storm(
    stack: Stack, api: OpenAIApi, size: Size
) -> tuple[Verdict, Story, Sequence[Course], Counter[str]]:
    clients = [stack.client() for _ in range(TENANTS)]
    begun = time.time()
    until, queues = begun + size.seconds, Queues(stack, begun)
    watching = threading.Thread(target=queues.watch)
    watching.start()
    talkers = [
        User(clients[number % TENANTS], f"user-{number}", until=until, pause=size.pause)
        for number in range(size.users)
    ]
    weather = Weather(stack.folder, api, until, pace=size.pace)
    for thread in [*talkers, *(storms := weather.begin())]:
        if thread not in storms:
            thread.start()
    for thread in (*storms, *talkers):
        thread.join()
    api.forget_script()
    write_share(stack.folder, 0)
    ended = time.time()
    verdict = Verdict()
    first = min(QUIET_SECONDS, size.patience)
    verdict.quiet_after = _until(ended, lambda: is_quiet(stack, queues), most=first)
    if verdict.quiet_after is None:
        verdict.unfinished = [f"{queues.look()[0]} messages wait", *under_way(stack)]
        verdict.quiet_after = _until(ended, lambda: is_quiet(stack, queues), most=size.patience)
    verdict.empty_after = _until(ended, lambda: queues.look() == (0, 0), most=size.patience)
    queues.over.set()
    watching.join()
    for client, talker in zip(_each(clients, size.users), talkers, strict=True):
        for session in talker.course.sessions:
            judge(verdict, session, list(_texts(client, session.name)))
    courses = [talker.course for talker in talkers]
    add_contexts(verdict, courses)
    quiet = None if verdict.quiet_after is None else ended - begun + verdict.quiet_after
    story = Story(
        ended - begun,
        [(at - begun, took) for course in courses for at, took in course.calls],
        queues.seen,
        [replace(event, at=event.at - begun) for event in weather.events],
        quiet,
    )
    return verdict, story, courses, Counter(event.kind for event in weather.events)


def _each(clients: Sequence[Client], users: int) -> Iterator[Client]:
    return (clients[number % TENANTS] for number in range(users))


def is_quiet(stack: Stack, queues: Queues) -> bool:
    """Return whether no message waits, no job runs or comes again, and the index has all memories.

    Hidden messages are counted apart, in `empty_after`. A function that was killed while it started
    leaves its message hidden for minutes, but the sweep has sent the job's message again by then.
    """
    return queues.look()[0] == 0 and not under_way(stack)


def _until(ended: float, is_so: Callable[[], bool], *, most: float) -> float | None:
    """Return after how many seconds it is so, or None if that is not within `most` seconds."""
    while time.time() < ended + most:
        begun = time.time()
        if is_so():
            return begun - ended
        time.sleep(LOOK)
    return None


def _texts(client: Client, session: str) -> Iterator[str]:
    answer = client("GET", f"/v1/sessions/{session}")
    if answer.status == 404:
        return
    for row in client.history(session):
        if row.get("content"):
            yield row["content"]


def report(verdict: Verdict, story: Story, courses: Sequence[Course], counts: Counter[str]) -> str:
    took = sorted(took for _, took in story.calls) or [0.0]
    again = sum(course.refused for course in courses)
    ways = {event.detail for event in story.events if event.detail in WAYS}
    rows = [
        ("users", len(courses)),
        ("conversations", sum(len(course.sessions) for course in courses)),
        ("messages acknowledged", verdict.acknowledged),
        ("of these lost", len(verdict.lost)),
        ("doubled", len(verdict.doubled)),
        ("out of order", len(verdict.out_of_order)),
        ("contexts read", verdict.contexts),
        ("of these invalid or over the budget", len(verdict.bad_contexts)),
        ("calls that clients tried again", again),
        ("append, median", f"{took[len(took) // 2]:.2f} s"),
        ("append, 95 of 100", f"{took[int(len(took) * 0.95)]:.2f} s"),
        *((f"{kind}, times", count) for kind, count in sorted(counts.items())),
        ("ways in which the model misbehaved", f"{len(ways)} of {len(WAYS)}"),
        ("work done", _seconds(verdict.quiet_after)),
        ("last message of a killed function gone", _seconds(verdict.empty_after)),
        ("all of this held", "yes" if verdict.holds else f"no: {', '.join(verdict.faults)}"),
    ]
    table = [f"| {name} | {value} |" for name, value in rows]
    return "\n".join(["| what | count |", "|---|---:|", *table, ""])


def _seconds(after: float | None) -> str:
    return "not within 15 minutes" if after is None else f"after {after:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.storm", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument(
        "--pause", type=float, default=2, help="seconds between two turns of a user, on average"
    )
    parser.add_argument("--write", action="store_true", help="write the report in docs")
    parsed = parser.parse_args()
    size = Size(parsed.minutes * 60, parsed.users, parsed.pause)
    verdict, story, courses, counts = run(size)
    text = report(verdict, story, courses, counts)
    print(text)
    details = paths.BUILD / "storm"
    details.mkdir(exist_ok=True)
    (details / "storm.json").write_text(json.dumps(_details(verdict), indent=1))
    folder = PAGES if parsed.write else details
    title = f"A storm of {parsed.minutes:g} minutes with {parsed.users} users"
    (folder / "storm.svg").write_text(svg(story, title))
    page(folder / "storm.md", text, minutes=parsed.minutes, users=parsed.users, pause=parsed.pause)
    print(f"The report is in {folder}")
    raise SystemExit(0 if verdict.holds else 1)


def _details(verdict: Verdict) -> dict[str, Any]:
    """Return what did not hold, to find the cause."""
    names = ("lost", "doubled", "unknown", "out_of_order", "bad_contexts", "unfinished")
    return {name: getattr(verdict, name)[:50] for name in names}


def page(file: Path, table: str, *, minutes: float, users: int, pause: float) -> None:
    *_, later = file.read_text().partition(OTHERS) if file.is_file() else ("",)
    file.write_text(
        f"""# A storm

Figures of decisions [143](../adr/0143-a-storm.md) and [209](../adr/0209-a-hidden-message-is-work.md).

`make storm` lets {users} users talk for {minutes:g} minutes with a local stack of its own. Each pauses for {pause:g} s between two turns, on
average. Meanwhile everything goes wrong at the same time. Functions' processes are killed with `SIGKILL`, and a double of the model server misbehaves in {len(WAYS)} ways. Tables refuse up to
60 % of the functions' calls, and the search index is away for up to 20 s. Clients try a call again with the same key, for a minute
at most. Windows have {BUDGET} tokens.

Afterwards the storm reads every history and compares it with the acknowledged messages. The work must be done within {QUIET_SECONDS // 60} minutes:
no message waits in a queue or is hidden, no job runs or comes again, and the index has every memory.

The messages of a killed function come back when it must have ended, after 100 s at most ([ADR 172](../adr/0172-quiet-after-three-minutes.md)).
If it was killed while it started, they stay hidden for up to nine minutes. The sweep sends the messages of jobs again before that. But the
words of a conversation's message may be missing in the index until then. Recall reads the newest messages from the tables. A storm that has such a
message after three minutes counts as failed.

![Acknowledged messages, waiting work, and faults over time](storm.svg)

{table}
{machine()}, load {load()}.
{OTHERS if later else ""}{later}"""
    )


if __name__ == "__main__":
    main()
