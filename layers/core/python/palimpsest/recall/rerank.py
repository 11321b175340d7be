"""Lets a model score the question with each of the first memories, within limits of processor time
and of the clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic, thread_time

from palimpsest import parallel
from palimpsest.models.ports import Reranker
from palimpsest.recall.found import FoundMemory
from palimpsest.recall.passage import passage
from palimpsest.recall.question import Query

FIRST = 21  # how many of the best are read; a lower one rarely answers the question
SECONDS = 0.4  # of processor time of the thread that reads
PATIENCE = 1.2  # seconds by the clock; a busy machine gives the thread a third of its time
GRACE = 0.05  # extra seconds in which a reranker that stops in time returns its scores
# Texts. The first part is small, because it shows how long a text takes. Each following part has
# twice as many as the one before, if there is time.
FIRST_PART = 3
RERANKER, PARTIAL = "reranker", "reranker: partial"
"""The names in `degraded` for a reranker that read nothing, and for a reranker that read fewer
texts than it was given.
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of a reranker. `sent` is how many memories it was sent. `scores` has the
    score of each memory that it read in time, by key.
    """

    scores: Mapping[str, float] = field(default_factory=dict)
    sent: int = 0
    milliseconds: int = 0

    @property
    def degraded(self) -> str | None:
        """The name for `degraded` if not all memories were read, else None."""
        if len(self.scores) == self.sent:
            return None
        return PARTIAL if self.scores else RERANKER


def reading(reranker: Reranker | None, query: Query, memories: Sequence[FoundMemory]) -> Reading:
    """Let the reranker read the memories, best first. This ends in time and raises nothing, even if
    the reranker hangs or fails. The scores that are known by then count.
    """
    begun = monotonic()
    texts = [passage(ranked, query) for ranked in memories]
    scores = read_in_time(reranker, query.first_person, texts) if reranker else ()
    by_key = {memory.candidate.key: score for memory, score in zip(memories, scores, strict=False)}
    return Reading(by_key, len(memories), round((monotonic() - begun) * 1000))


def read_in_time(reranker: Reranker, question: str, texts: Sequence[str]) -> tuple[float, ...]:
    """Return the reranker's scores of the first texts, as many as it read in time. Raises
    nothing.
    """
    scores: list[float] = []
    until = monotonic() + PATIENCE
    if texts:
        read = partial(_read_in_parts, reranker, question, texts, scores, until=until)
        task = parallel.begin(read, until=until + GRACE)
        with suppress(Exception):  # the libraries that run a model have errors of their own
            task.result()
    return tuple(scores)


def _read_in_parts(
    reranker: Reranker, question: str, texts: Sequence[str], scores: list[float], *, until: float
) -> None:
    """Add the scores of the texts to `scores`, part by part, so that a part that is too late loses
    no other. A part is only as large as the processor time that is left allows.
    """
    # On a busy machine 400 ms by the clock pass before the first text is read (docs/adr/0130).
    began = before = thread_time()
    size = FIRST_PART
    while size > 0 and (part := texts[len(scores) : len(scores) + size]):
        read = reranker.scores(question, part, until=until)
        scores.extend(read)
        # The reranker itself stopped at `until`.
        if len(read) < len(part):
            return
        now = thread_time()
        size = part_after(len(part), took=now - before, left=SECONDS - (now - began))
        before = now


def part_after(size: int, *, took: float, left: float) -> int:
    """Return how many texts the next part may have, if the last part had `size` texts and `took`
    seconds, and if `left` seconds are left.
    """
    if left <= 0:
        return 0
    seconds_per_text = took / size
    return 2 * size if seconds_per_text * 2 * size <= left else int(left / seconds_per_text)
