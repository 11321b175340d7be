"""A model server in every kind of trouble, over HTTP: once it works again, everything is done by
itself.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import pytest
from palimpsest.conversations.drafts import Draft
from palimpsest.conversations.overflow.model_summary import ModelSummarizer
from palimpsest.errors import PalimpsestError
from palimpsest.extraction.model import ModelExtractor
from palimpsest.jobs.attempts import MAX_TRIES
from palimpsest.jobs.job import Job
from palimpsest.models.openai.chat import OpenAIChatModel
from palimpsest.workers.batches import backoff

from tests.doubles.openai_api import OK, OpenAIApi, Request, Step
from tests.service import SARAH, Service

pytestmark = pytest.mark.contract

DAY = 24 * 3600
TICK, MINUTE = 5, 60
TROUBLES = (
    Step(delay=1.0),
    Step(drip=0.2),
    Step(reset=True),
    Step(truncated=True),
    Step(status=429, retry_after=str(DAY)),
    Step(status=429, retry_after=formatdate(4_102_444_800, usegmt=True)),
    Step(status=500),
    Step(status=503),
    Step(status=529),
    Step(status=408),
    Step(status=401),
    Step(body=b"<html><body>Bad gateway</body></html>"),
    Step(status=502, body=b"<html></html>"),
    Step(body=b""),
    Step(body=b"null"),
    Step(body=b"[]"),
    Step(body=b"17"),
    Step(body=b"{}"),
    Step(body=b'{"choices": null}'),
    Step(body=b'{"choices": [{"message": null}]}'),
    Step(body=b'{"choices": [{"message": {"content": 5}}]}'),
    Step(body=b"\xff\xfe{}"),
    Step(content="x" * 1_000_000),
    Step(content="I would rather talk about the weather."),
    Step(content='{"memories": [{"text": "likes tea"}]}'),
    Step(content='{"memories": {"type": "fact"}}'),
    Step(refusal="No."),
    Step(content="", finish="length"),
)
SLOW = 2  # the first two kinds, which are met a few times only: each costs the model's patience


class Known:
    def value(self) -> str | None:
        return "sk-test"


class TroubledApi(OpenAIApi):
    """Each session meets a trouble of its own, which it names in its messages, until the server
    `works`.
    """

    works = False

    def _take(self, request: Request) -> Step:
        self.requests.append(request)
        kind = int(str(re.search(r"kind (\d+) ", json.dumps(request.body))[1]))  # type: ignore[index]
        met = self.met[kind] = self.met[kind] + 1
        if self.works:
            return OK
        return TROUBLES[kind] if kind >= SLOW or met <= MAX_TRIES else Step(reset=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.met: Counter[int] = Counter()


def answered(request: dict[str, Any]) -> str:
    """What a good model says: a summary, or one memory of the first message that it is to read."""
    if "response_format" not in request and "memories" not in request["messages"][0]["content"]:
        return "They talked about tea."
    conversation = request["messages"][-1]["content"].partition("<conversation>")[2]
    number, text = re.search(r'<message number="(\d+)"[^>]*>([^<]*)', conversation).groups()  # type: ignore[union-attr]
    memory = {
        "type": "fact",
        "content": text,
        "messages": [int(number)],
        "quote": text,
        "topic": None,
    }
    more = {"subject": "user", "keywords": [], "queries": [], "importance": 0.8, "confidence": 1}
    return json.dumps({"memories": [memory | more]})


@pytest.fixture
def api() -> Iterator[TroubledApi]:
    with TroubledApi(answer=answered) as running:
        yield running


def ask(service: Service, api: OpenAIApi, *, patience: float) -> None:
    """Have the workers use the model behind this server, and wait so many seconds for it."""
    model = OpenAIChatModel(
        key=Known(), model="gpt-4.1-nano", base_url=api.base_url, timeout=patience
    )
    service.summarizer = ModelSummarizer(model, service.tokens)  # type: ignore[assignment]
    service.extractor = ModelExtractor(model, service.tokens)
    service.wire_workers()


class Queue:
    """Delivers jobs as the queue does: again after a pause, and given up with the last receive."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.waiting: list[tuple[float, int, Job]] = []

    def run(self, seconds: int) -> None:
        for second in range(0, seconds, TICK):
            if second % MINUTE == 0:
                self.service.sweep_all()
            self._deliver(self.service.clock.now().timestamp())
            self.service.time.advance(TICK)

    def _deliver(self, now: float) -> None:
        new = self.service.outbox[self.service.delivered :]
        self.service.delivered += len(new)
        messages = self.waiting + [(now, 0, job) for job in new]
        self.waiting = [message for message in messages if message[0] > now]
        for _, receives, job in (message for message in messages if message[0] <= now):
            try:
                self.service.handle(job)
            except PalimpsestError as failure:
                if receives + 1 == MAX_TRIES:
                    self.service.fail(job, error=failure.code)
                else:
                    self.waiting.append(
                        (now + backoff(failure, tries=receives + 1), receives + 1, job)
                    )


def test_within_ten_minutes_after_any_trouble_every_session_is_folded_and_extracted(
    api: TroubledApi,
) -> None:
    service = Service(memory={"strategy": "summarize", "max_tokens": 300, "keep_recent_turns": 2})
    ask(service, api, patience=0.5)
    for kind in range(len(TROUBLES)):
        for turn in range(8):
            said = [
                Draft(
                    {
                        "role": "user",
                        "content": f"kind {kind} is what I say in turn {turn}, " + "and more " * 9,
                    }
                )
            ]
            said.append(Draft({"role": "assistant", "content": f"kind {kind} it is."}))
            service.app.append(service.session(f"s{kind}"), said, user="sarah")
    queue = Queue(service)
    queue.run(20 * MINUTE)
    assert min(api.met[kind] for kind in range(len(TROUBLES))) > MAX_TRIES
    api.works = True
    ask(service, api, patience=30)  # from here on no machine is too slow
    queue.run(10 * MINUTE)
    for kind in range(len(TROUBLES)):
        head, progress = service.head(f"s{kind}"), service.memories.progress(SARAH, f"s{kind}")
        assert (head.job, head.compaction, head.summary is not None) == (None, "none", True), (
            TROUBLES[kind]
        )
        assert (progress.parked, progress.through >= 10) == ((), True), TROUBLES[kind]
    assert not [job for job in service.all_jobs() if job.state in ("pending", "running")]
