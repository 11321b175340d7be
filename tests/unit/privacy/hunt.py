"""A whole service whose every place outside of a session's own window is searched for words."""

from __future__ import annotations

import json
import logging
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from html import unescape
from typing import Any

from palimpsest.api.resources.messages.shapes import AppendRequest
from palimpsest.clock import FakeClock
from palimpsest.conversations.session import Head
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.record import GRAPH
from palimpsest.memory.removal.sources import Hidden
from palimpsest.models.ports import Completion, Schema
from palimpsest.models.usage import Usage
from palimpsest.recall.question import RecallRequest
from palimpsest.stores import OwnStores
from palimpsest.tenants.settings import TenantSettings
from palimpsest_local.in_process import InProcess, in_process

from tests.doubles.meanings import Meanings
from tests.service import SARAH, TENANT

_MESSAGE = re.compile(r'<message number="(\d+)" speaker="user"[^>]*>(.*?)</message>', re.DOTALL)
MEMORY = {"strategy": "summarize", "max_tokens": 100_000}
BLOCKS = {"blocks": [{"type": "static"}, {"type": "extractive"}, {"type": "vector", "k": 10}]}


class Parrot:
    """A language model that believes and repeats whatever it reads. `read` has all of it."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def capacity(self, model: str | None = None) -> int:
        del model
        return 100_000

    def complete(
        self, *, instructions: str, text: str, max_tokens: int, model: str | None = None
    ) -> Completion:
        del max_tokens, model
        self.read += [instructions, text]
        return Completion(re.sub(r"<[^>]+>", " ", text), "parrot", Usage(1, 1, 1))

    def complete_json(
        self,
        *,
        instructions: str,
        text: str,
        schema: Schema,
        max_tokens: int,
        model: str | None = None,
    ) -> Completion:
        del max_tokens, model
        self.read += [instructions, text]
        if schema.name != "memories":
            return Completion("{}", "parrot", Usage(1, 1, 1))
        memories = [
            _memory(int(number), unescape(words)) for number, words in _MESSAGE.findall(text)
        ]
        return Completion(json.dumps({"memories": memories}), "parrot", Usage(1, 1, 1))


def _memory(number: int, words: str) -> dict[str, Any]:
    return {
        "type": "fact",
        "content": words.strip(),
        "messages": [number],
        "quote": words.strip(),
        "topic": None,
        "subject": "user",
        "keywords": words.split()[:8],
        "queries": [],
        "importance": 0.9,
        "confidence": 1.0,
        "relationships": [],
    }


class Overheard:
    """Implements `Reranker`: all it is asked to read is in `read`."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def scores(self, question: str, texts: Sequence[str], *, until: float) -> Sequence[float]:
        del until
        self.read += [question, *texts]
        return [0.5 for _ in texts]


class Logs(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.getMessage()} {record.__dict__}")


class Hunt:
    """The service of one tenant with Sarah as its user; with a `model`, all is sent to a parrot."""

    receipt = Hidden()
    """Of the last deletion."""

    def __init__(
        self,
        *,
        model: bool = False,
        settings: Mapping[str, Any] | None = None,
        own: OwnStores | None = None,
    ) -> None:
        self.clock = FakeClock(datetime(2026, 1, 5, 9, tzinfo=UTC))
        self.chat, self.embedder, self.reranker, self.logs = (
            Parrot(),
            Meanings(),
            Overheard(),
            Logs(),
        )
        self.has_model = model
        logging.getLogger().addHandler(self.logs)
        self.own: InProcess = in_process(
            TENANT,
            memory={**MEMORY, **BLOCKS},
            chat=self.chat if model else None,
            embedder=self.embedder,
            reranker=self.reranker,
            clock=self.clock,
            own=own,
        )
        self.service = self.own.service
        kept = {"keep_model_calls": True, **(settings or {})}
        changed = TenantSettings(memory={**MEMORY, **BLOCKS}, **kept)
        self.service.stores.tenants.replace_settings(TENANT, changed)

    def say(
        self,
        session: str,
        *texts: str,
        role: str = "user",
        timestamp: str | None = None,
        **more: Any,
    ) -> None:
        """Append a message each, and do all work that follows. Roles alternate after the first if
        there are several.
        """
        messages = [
            {
                "role": role,
                "content": text,
                **({"timestamp": timestamp} if timestamp else {}),
                **more,
            }
            for text in texts
        ]
        self.send(session, messages)

    def send(self, session: str, messages: Sequence[Mapping[str, Any]]) -> None:
        body = AppendRequest.model_validate({"user_id": SARAH.user, "messages": messages})
        self.service.append(TENANT.session(session), body.messages, user=SARAH.user, extract="now")
        self.work()

    def ingest(self, messages: Sequence[Mapping[str, Any]], *, session: str | None = None) -> None:
        body = AppendRequest.model_validate({"user_id": SARAH.user, "messages": messages})
        self.service.ingest(SARAH, body.messages, session_id=session)
        self.work()

    def work(self) -> None:
        self.clock.advance(1)
        self.own.work()
        self.own.work()

    def later(self, days: int = 1) -> None:
        self.clock.advance(days * 24 * 3600)

    def summarize(self, session: str) -> None:
        self.service.prune(TENANT.session(session), strategy="summarize", max_tokens=1)
        self.work()

    def fold(self, session: str) -> None:
        """Let all that was said so far leave the window for a summary."""
        self.say(session, *[f"We talk about hiking route {number}." for number in range(12)])
        before = self.head(session).seq
        self.summarize(session)
        assert self.head(session).window_start > before - 12

    def head(self, session: str) -> Head:
        head = self.service.stores.sessions.open(TENANT.session(session)).head
        assert head is not None
        return head

    def summary(self, session: str) -> str:
        """The summary with which the session's window begins."""
        sessions = self.service.stores.sessions
        made = sessions.compaction(TENANT.session(session), self.head(session).summary)
        return (made.summary if made else None) or ""

    def kept_calls(self) -> str:
        """Everything that is kept of calls of the model."""
        blobs = self.service.stores.blobs
        contents = [blobs.get(key) for key in blobs.keys(f"calls/{TENANT.tenant}/")]
        return "\n".join(data.decode() for data in contents if data)

    def known(self) -> list[str]:
        page = self.service.manage_memories.listed(SARAH, where=MemoryFilter(), limit=100)[0]
        return [record.content for record in page]

    def id_of(self, words: str) -> str:
        page = self.service.manage_memories.listed(SARAH, where=MemoryFilter(), limit=100)[0]
        return next(record.id for record in page if words.casefold() in record.content.casefold())

    def places(self, question: str, *, beside: str = "other") -> Iterator[tuple[str, str]]:
        """Every place that is not the window of the session itself, with all that stands there.
        `beside` is another session of the same user.
        """
        yield from self._stored()
        yield from self._found(question, session=None)
        self.send(beside, [{"role": "user", "content": "Hello there."}])
        yield from self._found(question, session=beside)
        context = self.service.context(
            TENANT.session(beside), given={"role": "user", "content": question}
        )
        yield "context", json.dumps(asdict(context), default=str, ensure_ascii=False)
        yield "embedded texts", "\n".join(text for call in self.embedder.asked for text in call)
        yield "reranked texts", "\n".join(self.reranker.read)
        yield "model", "\n".join(self.chat.read)
        yield "logs", "\n".join(self.logs.lines)

    def _stored(self) -> Iterator[tuple[str, str]]:
        memories = self.service.stores.memories
        for types in (frozenset[Any](), GRAPH):
            page = memories.listed(SARAH, types=types, limit=1_000)
            yield "records", json.dumps([asdict(record) for record in page.records], default=str)
        for name in self.service.stores.sessions.listed(
            TENANT, user=SARAH.user, limit=100
        ).sessions:
            compactions = self.service.stores.sessions.compactions(
                TENANT.session(name), first=1, last=10_000
            )
            yield (
                "summaries",
                json.dumps([asdict(compaction) for compaction in compactions], default=str),
            )
        yield "index", index_text(self.service)
        yield "kept model calls", self.kept_calls()
        jobs, _ = self.service.stores.jobs.listed(SARAH, limit=1_000, newest_first=True)
        yield "jobs", json.dumps([asdict(job) for job in jobs], default=str)

    def _found(self, question: str, *, session: str | None) -> Iterator[tuple[str, str]]:
        for answer in (False, True):
            request = RecallRequest(question, k=20, answer=answer, session=session, explain=True)
            result = self.service.recall(SARAH, request)
            shown = [
                [memory.content, memory.before, asdict(memory.source)] for memory in result.memories
            ]
            yield "recall", json.dumps([shown, result.answer], default=str, ensure_ascii=False)
        for mode in ("keyword", "vector"):
            memories = self.service.search(SARAH, question, mode=mode, k=20)
            yield "search", json.dumps([memory.content for memory in memories], ensure_ascii=False)

    def leaks(self, *words: str, question: str, besides: Sequence[str] = ()) -> list[str]:
        """The places where one of the words stands."""
        return [
            f"{place}: {word}: {_around(text, word)}"
            for place, text in self.places(question)
            for word in words
            if word.casefold() in text.casefold() and place not in besides
        ]


def _around(text: str, word: str) -> str:
    place = text.casefold().find(word.casefold())
    return text[max(0, place - 80) : place + 80]


def index_text(service: Any) -> str:
    """All that the search index holds of documents that are there."""
    path = service.index._database._path
    with sqlite3.connect(path) as connection:
        terms = connection.execute(
            "SELECT DISTINCT terms.term FROM terms JOIN postings ON postings.term = terms.id"
        ).fetchall()
        documents = connection.execute(
            "SELECT key, subject, session FROM documents WHERE gone_at IS NULL"
        ).fetchall()
    return " ".join(str(value) for row in (*terms, *documents) for value in row)
