"""Leave out what says nothing new: what the asking session's window holds, the question again, and texts said twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from palimpsest.conversations.configuration import parsed
from palimpsest.conversations.history import live, no_session
from palimpsest.conversations.messages import text_of
from palimpsest.conversations.ports import Sessions
from palimpsest.memory.records import Source, normalized
from palimpsest.recall.ranking import FoundMemory, words_of
from palimpsest.scope import UserScope
from palimpsest.text.analyser import content_terms, terms
from palimpsest.text.salience import is_question

COVERED = 0.5  # share of a message's text that a record's quote must have to stand for it


@dataclass(frozen=True, slots=True)
class Seen:
    """What whoever asks has before them: the `questions`, and of `session` the messages from number `first` on."""

    questions: tuple[str, ...] = ()
    session: str | None = None
    first: int = 1

    def holds(self, source: Source) -> bool:
        """Whether the window holds every message of a source."""
        is_here = self.session is not None and source.session == self.session and bool(source.seqs)
        return is_here and min(source.seqs) >= self.first

    def asks(self, text: str) -> bool:
        """Whether a user's message with this text says a question again: the same text, or a question in its words."""
        if any(normalized(text) == normalized(question) for question in self.questions):
            return True
        if not (self.questions and is_question(text)):
            return False
        said = set(content_terms(text))
        return any(said == set(content_terms(question)) for question in self.questions)


def seen_by(sessions: Sessions, scope: UserScope, question: str, *, session: str | None, now: datetime) -> Seen:
    """What is seen by whoever asks the question in a session (None: in none). What its user said last is a question
    too.

    Raises `NotFound` if the user has no such session, and `Unavailable`.
    """
    if session is None:
        return Seen((question,))
    where = scope.owner.session(session)
    head, settings = live(sessions.open(where, settings=True), now=now)
    if head.user != scope.user:
        raise no_session()
    first = head.window_start if parsed(dict(settings.memory)).keeps_window else head.last_user_seq
    newest = sessions.messages_at(where, [head.last_user_seq]) if head.last_user_seq else ()
    asked = (text_of(message.chat) for message in newest)
    return Seen((question, *filter(None, asked)), session, first)


def without_echoes(found: Sequence[FoundMemory], *, question: str) -> list[FoundMemory]:
    """Put records in the place of messages that say no more than they, and leave out texts that stand there already.

    `found` is in order, the best first, and so is what is returned.
    """
    records = {one.candidate.key: one for one in found if one.record is not None}
    words = {key: frozenset(terms(words_of(one.record))) for key, one in records.items() if one.record is not None}
    asked = frozenset(terms(question))
    left: dict[str, FoundMemory] = {}
    for one in found:
        same = [] if one.record is not None else _quoting(one, records.values()) or _recited(one, words, asked=asked)
        for better in [replace(records[key], score=one.score) for key in same] or [one]:
            left.setdefault(better.candidate.key, better)
    return without_repeated(left.values())


def without_repeated(found: Iterable[FoundMemory]) -> list[FoundMemory]:
    """Of equal texts one, a record if there is one, in the best place, with the number of them in `times`."""
    left: dict[str, FoundMemory] = {}
    for one in found:
        text = normalized(one.content)
        first = left.setdefault(text, replace(one, times=0))
        if first.record is None and one.record is not None:
            first = replace(one, score=first.score, times=first.times)
        left[text] = replace(first, times=first.times + one.times)
    return list(left.values())


def _quoting(message: FoundMemory, records: Iterable[FoundMemory]) -> list[str]:
    """The key of a record that quotes nearly the whole message; none if that is outdated."""
    place = (message.source.session, message.source.seqs[0])
    least = COVERED * len(message.content)
    return [
        record.candidate.key
        for record in records
        if message.outdated_by is None
        and place in ((record.source.session, seq) for seq in record.source.seqs)
        and (quote := record.source.quote) is not None
        and quote in message.content
        and len(quote) >= least
    ][-1:]


def _recited(message: FoundMemory, records: Mapping[str, frozenset[str]], *, asked: frozenset[str]) -> list[str]:
    """The keys of the records that an answer of the assistant recites: it has no word of its own. `records` are their
    words, `asked` those of the question.
    """
    said = frozenset(content_terms(message.content)) - asked if message.speaker == "assistant" else frozenset()
    if not said or not said.issubset(frozenset().union(*records.values())):
        return []
    return [key for key, words in records.items() if not said.isdisjoint(words)]
