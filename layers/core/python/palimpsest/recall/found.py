"""The memory or message that a recall finds, with everything that its rank depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from palimpsest.memory.filters import MemoryType
from palimpsest.memory.record import Record, Source

if TYPE_CHECKING:
    from palimpsest.text.sentences import Says


Retriever = Literal["keyword", "vector", "topic_key", "newest"]

Scores = Mapping[Retriever, float]
"""The raw score that each retriever gave."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A found record or message, with everything that its rank depends on. Times are epoch
    milliseconds.

    `scores` holds the raw score of each retriever: BM25, cosine, and for `topic_key` and `newest`
    the share (0..1) of the question's words that match. `coverage` is the share of these words in
    its text. `neighbours` of a message are the keys of the messages right before and after it;
    those of a record are the keys of its source messages. If a message says an earlier value of a
    topic, `outdated_by` is the key of the topic's current record. `says` is whether a message
    states something, or only asks or greets. `words` is the number of its different words, and
    `own_words` the number of its words for its speaker, such as "my". `speaker` is the role of a
    message, None for a record.

    `opinions` are the opinions of callers on a record in earlier recalls. `by_words` is true for a
    task, which has no vector. `is_over` is true for a task whose session has ended, and for a
    record that was due long ago, has ended, or rests on a record that has changed.
    """

    key: str
    scores: Scores
    said_at: int
    coverage: float = 0.0
    importance: float = 0.5
    uses: int = 0
    used_at: int = 0
    by_words: bool = False
    is_over: bool = False
    neighbours: tuple[str, ...] = ()
    outdated_by: str | None = None
    says: Says = "something"
    words: int = 0
    own_words: int = 0
    speaker: str | None = None
    opinions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A found record or message as the tables have it, with its `candidate` for ranking.

    `id` is the record's or the message's own. `valid_from` is in epoch milliseconds. `speaker` is
    the role of a message (None for a record), and `name` the name of a speaker other than the user.
    If this memory states an outdated value, `outdated_by` is the id of the record or message that
    states the current one. `times` is the number of found memories and messages with this text.
    `before` is the text right before a message; it is read only for a reranker. `when` is the time
    at which a record's content happens, happened or was due.

    `rests_on_changed` is true if a record rests on another that has changed. `ended_at` (epoch
    milliseconds) is when a record ended without a new value. `is_material` is true for a message
    that other messages show to be no testimony.
    """

    id: str
    type: MemoryType
    content: str
    source: Source
    valid_from: int
    candidate: Candidate
    record: Record | None = None
    speaker: str | None = None
    name: str | None = None
    score: float = 0.0
    times: int = 1
    before: str = ""
    when: str | None = None
    rests_on_changed: bool = False
    ended_at: int | None = None
    is_material: bool = False

    @property
    def found_by(self) -> tuple[str, ...]:
        return tuple(sorted(self.candidate.scores))

    @property
    def said_by(self) -> str:
        """The speaker: `user`, `assistant`, `tool`, or the name of somebody else."""
        who = self.record.speaker if self.record else self.name or self.speaker
        return who or "user"

    @property
    def outdated_by(self) -> str | None:
        return self.candidate.outdated_by


def words_of(record: Record) -> str:
    """Return the text of a record that is compared with the words of a question."""
    return "\n".join((record.content, record.subject or "", *record.keywords, *record.queries))
