"""The vector block. It holds past messages of the user, from any session, that are similar in
meaning to a given message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from palimpsest.context.blocks.ports import (
    BlockContent,
    Conversation,
    Delete,
    Item,
    Shows,
    SimilarMessages,
    Update,
    read_only,
)
from palimpsest.conversations.blocks import VectorBlock
from palimpsest.conversations.spoken import name_of
from palimpsest.memory.stated_in import Place
from palimpsest.scope import UserScope

if TYPE_CHECKING:
    from palimpsest.recall.found import FoundMemory
    from palimpsest.recall.search import SearchMemories

DEFAULT = VectorBlock(type="vector")
SPARE = 20  # items beyond k, because items that the window still shows are left out
SPARE_BESIDE_KNOWN = 5  # items beyond k where the search itself leaves those out
ASKING = 0.6  # the share of its score that a message keeps that only asks
ALIKE = 0.5  # the share of the shorter question's words that two questions of one kind share
QUESTION_MARKS = "?\uff1f\u061f"  # of Latin, East Asian and Arabic scripts
RECORDS_BESIDE = 2  # times k hits are searched, because records show which messages are outdated


@dataclass(frozen=True, slots=True)
class Skipped:
    """The messages that a search skips before it reads them: the messages that the context `shows`
    anyway, and the `outdated` ones, if they are known.
    """

    shows: Shows | None
    outdated: Callable[[], frozenset[Place] | None]

    def __call__(self, session: str, seq: int) -> bool:
        is_shown = self.shows is not None and self.shows(session, seq)
        return is_shown or (session, seq) in (self.outdated() or ())


class VectorMemory:
    """Implements `MemoryBlock`. Without a message to compare with, the block is empty."""

    def __init__(
        self,
        similar_messages: SimilarMessages,
        *,
        update: Update = read_only,
        delete: Delete = read_only,
    ) -> None:
        self._similar_messages = similar_messages
        self._update = update
        self._delete = delete

    def get(
        self,
        session: Conversation,
        message: str | None = None,
        *,
        outdated: Callable[[], frozenset[Place] | None] | None = None,
    ) -> BlockContent:
        """Return the block's content, as `MemoryBlock.get` does. `outdated` returns the messages
        that state an outdated value, or None if they are not known. If they are known, the search
        reads no records.
        """
        if message is None or not message.strip():
            return BlockContent("vector")
        block = session.config.block(VectorBlock) or DEFAULT
        spare = SPARE if session.shows is None else SPARE_BESIDE_KNOWN
        shows = session.shows if outdated is None else Skipped(session.shows, outdated)
        items = self._similar_messages(
            session.owner, message, k=block.k + spare, least=block.min_score, shows=shows
        )
        most = min(block.k, session.config.max_records or block.k)
        first = without_like_questions(items[:most])
        # The places of questions that are left out stay empty, which saves tokens that no cache
        # serves (docs/adr/0125).
        left = most - (min(most, len(items)) - len(first))
        return BlockContent("vector", (*first, *items[most:]), max_items=left)

    def update(self, session: Conversation, message: str) -> None:
        self._update(session, message)

    def delete(self, session: Conversation) -> None:
        self._delete(session)


def without_like_questions(items: Sequence[Item]) -> list[Item]:
    """Return the items without repeated questions of the user: questions that share most of their
    words with an earlier one. A model learns as much from one such question as from five.
    """
    from palimpsest.text.sentences import words  # not at import, because no plain turn needs it

    left: list[Item] = []
    questions: list[frozenset[str]] = []
    for item in items:
        if item.speaker == "user" and any(mark in item.text for mark in QUESTION_MARKS):
            bag = words(item.text)
            if any(
                len(bag & question) >= ALIKE * min(len(bag), len(question))
                for question in questions
            ):
                continue
            questions.append(bag)
        left.append(item)
    return left


def similar_messages(search: Callable[[], SearchMemories]) -> SimilarMessages:
    """Return a function that finds similar messages with one search by meaning. It calls `search()`
    anew for each question, because models may be added or removed.

    The result leaves out messages with an outdated value of a topic, messages with the same text as
    the question, and repeated texts. Records are searched and read only if it is not known which
    messages are outdated. A question ranks below statements that are nearly as similar.
    """

    def find(
        owner: UserScope, text: str, *, k: int, least: float | None, shows: Shows | None = None
    ) -> Sequence[Item]:
        from palimpsest.recall.refine import Seen, without_repeated
        from palimpsest.recall.search import MESSAGES

        ask = search()
        near = ask.thresholds.resembles if least is None else least
        vector = ask.vector_of(owner, text)
        alone = partial(ask, where=MESSAGES, k=k)
        beside_records = partial(ask, k=k * RECORDS_BESIDE)
        knows = isinstance(shows, Skipped) and shows.outdated() is not None
        memories = (alone if knows else beside_records)(
            owner, text, mode="vector", vector=vector, shows=shows, least=near, for_messages=True
        )
        seen = Seen((text,))
        messages = [
            hit
            for hit in memories
            if hit.record is None
            and hit.outdated_by is None
            and hit.candidate.says != "nothing"
            and not (hit.speaker == "user" and seen.asks(hit.content))
        ]
        messages.sort(
            key=lambda message: (
                message.score * (ASKING if message.candidate.says == "question" else 1)
            ),
            reverse=True,
        )
        return [_item(memory, owner) for memory in without_repeated(messages)][:k]

    return find


def _item(memory: FoundMemory, owner: UserScope) -> Item:
    from palimpsest.recall.as_text import quotes_material  # not at import: no plain turn needs it

    return Item(
        id=memory.id,
        kind="message",
        text=memory.content,
        score=round(memory.score, 4),
        said_at=memory.valid_from,
        source=memory.source,
        speaker=memory.speaker,
        said_by=memory.said_by,
        who=memory.name or name_of(memory.speaker or "", user=owner.user),
        is_material=quotes_material(memory, user=owner.user),
    )
