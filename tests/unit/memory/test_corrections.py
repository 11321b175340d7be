"""What a user corrects, however often, in whatever words and order it arrives: what holds now is
told, and nothing else as if it held.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path

import pytest
from palimpsest.memory.manage import ManageMemories
from palimpsest.memory.record import Record
from palimpsest.offline.extractor import PatternExtractor
from palimpsest.recall.question import RecallRequest
from palimpsest.recall.recall import Recall
from palimpsest.recall.search import Mode, SearchMemories
from palimpsest.recall.tool import SEARCH

from tests.doubles.tokens import LetterCounter
from tests.service import SARAH
from tests.unit.context.service import ContextService

CORRECTED = ("I work at Acme.", "I work at Bolt now.")
CORRECTED_TWICE = (*CORRECTED, "Actually, I work at Core.")
REWORDED = (*CORRECTED, "I'm working for Bolt as a welder these days.")
RETURNED = (*CORRECTED, "I work at Acme.")
QUESTIONS = ("Where do I work?", "work at Acme", "Who is my employer?")
FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)


class Corrections:
    """A service to which these things were said, one a day, each in a session of its own, in the
    order of `arrival`.
    """

    def __init__(
        self, folder: Path, said: tuple[str, ...], arrival: tuple[int, ...] | None = None
    ) -> None:
        blocks = [{"type": "extractive"}, {"type": "vector"}]
        self.service = ContextService(folder=folder, blocks=blocks)
        self.service.extract = replace(self.service.extract, extractor=PatternExtractor())
        for day in arrival or range(len(said)):
            session = f"day{day}"
            self.service.say(
                said[day], session=session, timestamp=(FIRST_DAY + timedelta(days=day)).isoformat()
            )
            self.service.handle(self.service.ask(session))
            self.service.index_all(session)
        index = self.service.index
        stores = (self.service.memories, self.service.sessions, index, index, self.service.embedder)
        self.recall = Recall(*stores, LetterCounter(), self.service.clock)
        self.search = SearchMemories(*stores, self.service.clock)
        self.versions = ManageMemories(
            self.service.memories, self.service.tenants, self.service.clock
        )

    def current(self) -> Record:
        pointer = self.service.memories.pointers(SARAH, ["employer"])["employer"]
        (record,) = self.service.memories.records(SARAH, [pointer.record or ""])
        return record

    def searched(self, question: str, mode: Mode) -> list[str]:
        return [
            one.content
            for one in self.search(SARAH, question, mode=mode, k=20)
            if one.record is not None
        ]

    def recalled(self, question: str) -> list[str]:
        """What is told as holding now: records, and messages that nothing has outdated."""
        found = self.recall(SARAH, RecallRequest(question, k=20)).memories
        return [one.content for one in found if one.outdated_by is None]

    def tool_lines(self, question: str) -> list[str]:
        content = str(
            self.service.memories_app.tools(SEARCH, SARAH, {"query": question})["content"]
        )
        return [line for line in content.splitlines()[1:] if "outdated" not in line]

    def remembered(self, message: str | None) -> str:
        self.service.say("Hello again!", session="later")
        return self.service.context(message, session="later").memory.text


@pytest.fixture(
    params=[
        pytest.param((said, arrival), id=f"{name} {''.join(map(str, arrival))}")
        for name, said in {
            "corrected": CORRECTED, "twice": CORRECTED_TWICE, "reworded": REWORDED, "returned": RETURNED,
        }.items()
        for arrival in permutations(range(len(said)))
    ]
)  # fmt: skip
def corrected(
    request: pytest.FixtureRequest, tmp_path: Path
) -> tuple[Corrections, tuple[str, ...]]:
    said, arrival = request.param
    return Corrections(tmp_path, said, arrival), said


def test_only_what_was_said_last_is_current_in_every_channel(
    corrected: tuple[Corrections, tuple[str, ...]],
) -> None:
    service, said = corrected
    newest, older = said[-1], set(said) - {said[-1]}
    assert service.current().content == newest
    for question in QUESTIONS:
        assert set(service.searched(question, "keyword")) <= {newest}
        assert service.searched(question, "vector") == [newest]
        recalled = service.recalled(question)
        assert recalled
        assert not older & set(recalled)
        assert not [line for line in service.tool_lines(question) for one in older if one in line]
    for message in (None, *QUESTIONS):
        memory = service.remembered(message)
        assert newest in memory.replace("&#x27;", "'")
        assert not [one for one in older if one in memory]


def test_what_was_said_before_stays_readable_in_the_history(
    corrected: tuple[Corrections, tuple[str, ...]],
) -> None:
    service, said = corrected
    history = service.versions.history(SARAH, service.current().id)
    assert [version.record.content for version in history] == list(reversed(said))
    assert [version.is_current for version in history] == [True] + [False] * (len(said) - 1)
    assert [
        service.versions.read(SARAH, version.record.id).record.content for version in history
    ] == [version.record.content for version in history]
