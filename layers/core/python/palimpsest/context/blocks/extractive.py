"""The extractive block: the user's records, ranked without a model unless the block has a retrieval
prompt.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import Self

from cachetools import LRUCache

from palimpsest import parallel
from palimpsest.clock import Clock, milliseconds
from palimpsest.context.blocks.outdated import OutdatedMessages, topics_with_history
from palimpsest.context.blocks.ports import (
    BlockContent,
    Conversation,
    Delete,
    Item,
    StableItems,
    Update,
    read_only,
)
from palimpsest.context.blocks.ranking import RecordRanking
from palimpsest.context.stable import changes_room
from palimpsest.conversations.blocks import ExtractiveBlock
from palimpsest.errors import ModelFailed, ModelOutputInvalid, ModelUnavailable
from palimpsest.memory.ports import Memories, Pointer
from palimpsest.memory.preferences import newest as newest_preferences
from palimpsest.memory.record import Record, UserState
from palimpsest.memory.resting import changed_grounds
from palimpsest.models.ports import ChatModel
from palimpsest.prompts import files as prompts
from palimpsest.scope import UserScope, paid_by
from palimpsest.text.cutting import escaped, harmless

DEGRADED = "retrieval_model"

DEFAULT = ExtractiveBlock(type="extractive")

NEWEST, OLDEST = 400, 100
"""How many of a user's records are read: the newest ones, and the very first ones, because the
first ones say who the user is. Recall searches all records.
"""

PREFERENCES = 100  # the newest ones, in addition to the other records

POINTERS = 100  # in one read

LAG = timedelta(seconds=2)
"""How long a list of records may lag after a change. A list that was read earlier than this is read
again.
"""

MAX_CACHED = 20_000  # records in a process

PATIENCE = 2.0  # seconds that a model may take

MAX_READ = 100  # facts that a model reads

MAX_ANSWER = 400  # tokens

MAX_FACT = 300  # characters of a fact that a model reads

MAX_MESSAGE = 4_000  # characters

_ANSWER = re.compile(r"[\s\d,;.\[\]]*")

_NOTHING = "none"


class ExtractiveMemory:
    """Implements `MemoryBlock`. Make one for all sessions, because it caches the records of each
    user. `chat` selects the facts of a block that has a `retrieval_prompt`. A conversation changes
    memories by `update` and `delete`. Without these functions it can't change any.
    """

    def __init__(
        self,
        memories: Memories,
        clock: Clock,
        *,
        chat: ChatModel | None = None,
        update: Update = read_only,
        delete: Delete = read_only,
    ) -> None:
        self._records = CurrentRecords(memories, clock)
        self._memories = memories
        self._clock = clock
        self._selection = ModelSelection(chat)
        self._update = update
        self._delete = delete

    def changing(self, *, update: Update, delete: Delete) -> Self:
        """Return a copy of the block in which conversations change memories by these functions. The
        copy shares the cached records.
        """
        made = copy(self)
        made._update, made._delete = update, delete  # noqa: SLF001 - its own
        return made

    def get(self, session: Conversation, message: str | None = None) -> BlockContent:
        return self.chosen(session, self.read(session), message, asks=message is not None)

    def read(self, session: Conversation) -> RecordRanking:
        """Return the user's records, from which the context chooses. Raises `Unavailable`."""
        return self._records.of(session.owner, user=session.memory)

    def chosen(
        self,
        session: Conversation,
        records: RecordRanking,
        message: str | None,
        *,
        asks: bool = False,
    ) -> BlockContent:
        """Return the facts for a message, the most relevant first. If `asks` is true, the model of
        a block with a `retrieval_prompt` selects them. If the model fails, they are ordered by
        rank, and `degraded` names the failure.
        """
        block = session.config.block(ExtractiveBlock) or DEFAULT
        now = milliseconds(self._clock.now())
        items = records.ranked(message, user=session.user, session=session.scope.session, now=now)
        shown = partial(
            BlockContent,
            "extractive",
            max_tokens=block.max_tokens,
            max_items=session.config.max_records,
        )
        if block.retrieval_prompt is None or not asks or not items:
            return shown(items)
        try:
            with paid_by(session.owner):
                selected = self._selection(items, message or "", prompt=block.retrieval_prompt)
        except ModelFailed:
            return shown(items, degraded=(DEGRADED,))
        return shown(selected)

    def stable(self, session: Conversation, records: RecordRanking) -> StableItems:
        """Return the facts that every context of the session shows in the same place. A block with
        a `retrieval_prompt` has none, because a model chooses its facts.
        """
        block = session.config.block(ExtractiveBlock) or DEFAULT
        if block.retrieval_prompt is not None:
            return StableItems()
        now = milliseconds(self._clock.now())
        most = changes_room(session.config.max_tokens)
        return records.stable(since=session.frozen_at, user=session.user, now=now, most=most)

    def update(self, session: Conversation, message: str) -> None:
        self._update(session, message)

    def delete(self, session: Conversation) -> None:
        self._delete(session)


@dataclass(frozen=True, slots=True)
class _Cached:
    """The current records of a user at a version of the user's memory. `is_settled` is true if the
    lists had caught up with the tables when they were read.
    """

    user: UserState
    ranking: RecordRanking
    read_at: datetime
    is_settled: bool
    outdated: OutdatedMessages | None = None


class CurrentRecords:
    """The current records of users, cached for as long as nothing about the user changes. Safe to
    use from many threads.
    """

    def __init__(self, memories: Memories, clock: Clock) -> None:
        self._memories = memories
        self._clock = clock
        self._cache: LRUCache[UserScope, _Cached] = LRUCache(
            MAX_CACHED, getsizeof=lambda cached: 1 + len(cached.ranking.records)
        )
        self._lock = threading.Lock()

    def of(self, scope: UserScope, *, user: UserState | None = None) -> RecordRanking:
        """Return the user's current records. `user` is the user's state if it was just read;
        without it, one small read gets it. The records are read again only if this state has
        changed. Raises `Unavailable`.
        """
        now = self._clock.now()
        if user is None:
            user = self._memories.user(scope)
        with self._lock:
            cached = self._cache.get(scope)
        is_same = cached is not None and cached.user == user
        if cached is not None and is_same and (cached.is_settled or now < cached.read_at + LAG):
            return cached.ranking
        # At version 0 nothing was ever stored for the user.
        ranking = self._read(scope) if user.version else RecordRanking((), is_whole=True)
        changed = changed_grounds(self._memories, scope, ranking.records)
        outdated = self._outdated(scope, ranking, cached)
        ranking = replace(ranking, changed=changed, outdated=outdated)
        # The lists follow the table a moment later. If a second reading finds the same version,
        # they have caught up.
        with self._lock:
            self._cache[scope] = _Cached(user, ranking, now, is_settled=is_same, outdated=outdated)
        return ranking

    def _outdated(
        self, scope: UserScope, ranking: RecordRanking, cached: _Cached | None
    ) -> OutdatedMessages | None:
        """Return the user's outdated messages, or None if not all records were read."""
        if not ranking.is_whole:
            return None
        ended = [record for record, _ in ranking.ended]
        topics = topics_with_history(ranking.records, ranking.earlier, ended)
        before = None if cached is None else cached.outdated
        return OutdatedMessages(self._memories, scope, topics, before=before)

    def _read(self, scope: UserScope) -> RecordRanking:
        preferences, newest = parallel.run_both(
            lambda: newest_preferences(self._memories, scope, limit=PREFERENCES),
            lambda: self._memories.listed(scope, limit=NEWEST),
        )
        records = {record.id: record for record in newest.records}
        if newest.after is not None:
            oldest = self._memories.listed(scope, limit=OLDEST, newest_first=False)
            records |= {record.id: record for record in oldest.records}
        others = [record for record in records.values() if record.type != "preference"]
        pointers = self._pointers(scope, others)
        named = {pointer.record for pointer in pointers}
        current = (
            *preferences,
            *(record for record in others if record.topic_key is None or record.id in named),
        )
        holding = {record.id for record in current}
        earlier = (record for name, record in records.items() if name not in holding)
        ended = (
            (records[pointer.ended], pointer.end)
            for pointer in pointers
            if pointer.end is not None and pointer.ended in records
        )
        is_whole = newest.after is None
        return RecordRanking(current, tuple(earlier), ended=tuple(ended), is_whole=is_whole)

    def _pointers(self, scope: UserScope, records: Sequence[Record]) -> list[Pointer]:
        """Return the pointers of the records' topics."""
        topics = sorted({record.topic_key for record in records if record.topic_key is not None})
        parts = [topics[start : start + POINTERS] for start in range(0, len(topics), POINTERS)]
        read = parallel.run_each(lambda part: self._memories.pointers(scope, part), parts)
        return [pointer for pointers in read for pointer in pointers.values()]


class ModelSelection:
    """Lets a model select remembered facts. The model only names their numbers, so it can't add
    anything.
    """

    def __init__(self, chat: ChatModel | None) -> None:
        self._chat = chat

    def __call__(self, items: Sequence[Item], message: str, *, prompt: str) -> tuple[Item, ...]:
        """Return the items that the model names, in its order. Raises `ModelFailed`, also without a
        model or if it takes too long.
        """
        chat = self._chat
        if chat is None:
            raise ModelUnavailable("There is no model to ask.")
        read = items[:MAX_READ]
        task = prompts.with_own(prompts.load("retrieval"), prompt)
        instructions = f"{task}\n\n{prompts.load('retrieval_rules')}"
        text = f"{_numbered(read)}\n<message>{escaped(harmless(message)[:MAX_MESSAGE])}</message>"
        ask = partial(chat.complete, instructions=instructions, text=text, max_tokens=MAX_ANSWER)
        try:
            completion = parallel.begin(ask, until=monotonic() + PATIENCE).result()
        except TimeoutError as late:
            raise ModelUnavailable("The model took too long.") from late
        return tuple(read[number - 1] for number in _numbers(completion.text, most=len(read)))


def _numbered(items: Sequence[Item]) -> str:
    statements = (f"{item.who}: {item.text}" if item.who else item.text for item in items)
    lines = (
        f"{number}. {escaped(harmless(text)[:MAX_FACT])}"
        for number, text in enumerate(statements, 1)
    )
    return "<memories>\n" + "\n".join(lines) + "\n</memories>"


def _numbers(answer: str, *, most: int) -> list[int]:
    """Return the numbers in an answer, each once. Raises `ModelOutputInvalid` if the answer
    contains anything else.
    """
    if answer.strip().strip(".").casefold() == _NOTHING:
        return []
    numbers = [int(digits) for digits in re.findall(r"\d{1,9}", answer)]
    if (
        not _ANSWER.fullmatch(answer)
        or not numbers
        or not all(1 <= number <= most for number in numbers)
    ):
        raise ModelOutputInvalid("The model named no memories.")
    return list(dict.fromkeys(numbers))
