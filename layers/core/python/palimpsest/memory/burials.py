"""Keeps digests of deleted memories, so that old messages do not bring a deleted memory back. It
keeps no text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from palimpsest.memory.distinct import (
    BEGINNING,
    areas,
    distinct_words,
    named_terms,
    numbers,
    speaks_of_its_reader,
)
from palimpsest.memory.record import KEYED, Record
from palimpsest.memory.states import meanings, topics_of_one_value
from palimpsest.memory.traces import Burial as Burial  # noqa: PLC0414 - given on
from palimpsest.memory.traces import ComparedWords, OldStatement, says_the_same, tells_of
from palimpsest.scope import UserScope
from palimpsest.text.analyser import content_terms, topic_key
from palimpsest.text.folding import normalized

MOST_SAID = 40
"""The most texts of one memory for which digests are kept."""

WHOLE = 10**9
"""A position that lies after the end of every text."""

Ranges = tuple[tuple[int, int], ...]
_EDGES = "\"'“”„«»‘’`*-–—•> \t"  # noqa: RUF001 - marks of many scripts


@dataclass(frozen=True, slots=True)
class Stated:
    """A statement in a sentence: its subject, topic and words."""

    content: str
    topic: str | None = None
    subject: str | None = None


States = Callable[[str], Sequence[Stated]]
"""Reads the statements of a sentence, as an extractor without a model does."""


def states_nothing(_: str) -> Sequence[Stated]:
    return ()


@dataclass(frozen=True, slots=True)
class Buried:
    """The burials of one user. `states` reads the sentences of messages."""

    scope: UserScope
    burials: Sequence[Burial]
    states: States = states_nothing

    def __bool__(self) -> bool:
        return bool(self.burials)

    @property
    def words_alone(self) -> Buried:
        """Return the same burials with a stricter comparison. A statement then counts as deleted
        only if its words are equal, not if it says the same in other words.
        """
        exact = [Burial(burial.id, burial.at, said=burial.said) for burial in self.burials]
        return Buried(self.scope, exact)

    def holds(
        self,
        content: str,
        *,
        topic: str | None = None,
        subject: str | None = None,
        quote: str | None = None,
        at: int | None = None,
    ) -> bool:
        """Return whether a statement says what a deleted memory said. `at` is when the statement
        was made (None: before every deletion). For a statement that was made after the deletion,
        the result is False.
        """
        later = [burial for burial in self.burials if at is None or at < burial.at]
        if not later:
            return False
        spoken = {self._text(text) for text in (content, quote) if text}
        if any(spoken & {*burial.said} for burial in later):
            return True
        # Burials without words (`words_alone`) are compared as whole texts only.
        later = [burial for burial in later if burial.words]
        about = _subject(subject, self.scope)
        topics = self._topics(content, topic, about)
        said_now = ComparedWords(
            self._words(content),
            {_digest(self.scope, term) for term in content_terms(content)},
            {_digest(self.scope, term[:BEGINNING]) for term in named_terms(content)},
        )
        mine = self._digests((about, *self._abouts(content)))
        user = _digest(self.scope, "")
        meant, subjects = self._digests(meanings(content)), self._subjects(content, about)
        if any(meant & {*burial.meanings} and burial.subject in subjects for burial in later):
            return True
        # A sentence may call a deleted dog "it", so the subjects need not be equal unless the
        # memory is about the user.
        is_same = any(
            (burial.subject in mine or burial.subject != user)
            and says_the_same(burial, topics, said_now)
            for burial in later
        )
        return is_same or (at is not None and self._tells_of(later, content, about, said_now))

    def is_outdated(
        self, content: str, *, topic: str | None = None, subject: str | None = None, at: int
    ) -> bool:
        """Return whether a statement gives a value to the topic of a deleted memory, and was made
        before that memory was last said. A topic of several values never makes it outdated.
        """
        later = [burial for burial in self.burials if at < min(burial.at, burial.stated)]
        if not later:
            return False
        about = _subject(subject, self.scope)
        mine = self._subjects(content, about)
        topics = self._topics(content, topic, about) & self._digests(topics_of_one_value())
        return any(topics & {*burial.topics} and burial.subject in mine for burial in later)

    def _subjects(self, content: str, about: str) -> set[str]:
        """Return digests of the subjects of a statement: `about`, or else the subjects that its own
        words name.
        """
        return self._digests({about} if about else {*self._abouts(content)} or {""})

    def _tells_of(
        self, burials: Sequence[Burial], content: str, about: str, compared: ComparedWords
    ) -> bool:
        """Return whether an old statement has the words that distinguish a deleted memory from
        other memories, and is about the same person and area of life.
        """
        statement = OldStatement(
            self._subjects(content, about),
            {*compared.whole, *self._digests(numbers(content))},
            compared.begun,
            self._digests(areas(content)),
        )
        return any(tells_of(burial, statement, user=_digest(self.scope, "")) for burial in burials)

    def _digests(self, terms: Iterable[str]) -> set[str]:
        return {_digest(self.scope, term) for term in terms}

    def _abouts(self, content: str) -> Iterator[str]:
        """Yield the subjects that the statement's own words name."""
        return (_subject(state.subject, self.scope) for state in self.states(content))

    def _topics(self, content: str, topic: str | None, about: str) -> set[str]:
        """Return the topics of a statement: the given topic, and topics that its words name."""
        stated = (
            state for state in self.states(content) if _subject(state.subject, self.scope) == about
        )
        topics = [topic, *(state.topic for state in stated)]
        keys = {topic_key(named) for named in topics if named}
        return {_digest(self.scope, key) for key in keys if key}

    def ranges(self, text: str, *, quotes: Iterable[str] = (), at: int | None = None) -> Ranges:
        """Return the ranges of the sentences in `text` that repeat what a deleted memory said, or
        that overlap one of `quotes`. Return none if nothing was deleted.
        """
        if not self.burials:
            return ()
        wanted = [normalized(quote) for quote in quotes if quote.strip()]

        def is_of_it(sentence: str) -> bool:
            is_quoted = any(_overlap(quote, normalized(sentence)) for quote in wanted)
            return is_quoted or self._says(sentence, at=at)

        return tuple((start, end) for start, end, sentence in located(text) if is_of_it(sentence))

    def echoes(self, text: str) -> Ranges:
        """Return the ranges of the sentences in an answer that repeat names or numbers of deleted
        memories. If a memory has neither, its other words count.
        """
        terms = {word for burial in self.burials for word in burial.values or burial.words}
        return tuple(
            (start, end)
            for start, end, sentence in located(text)
            if terms & self._repeated(sentence)
        )

    def said_to_the_user(self, text: str, *, at: int) -> Ranges:
        """Return the ranges of the sentences in an assistant's message of the time `at` that say
        what a deleted memory said: in its words, or in other words to the user. A sentence that
        only names the same place or thing says something else.
        """
        if not self.echoes(text):
            return ()

        def is_of_it(sentence: str) -> bool:
            is_to_user = speaks_of_its_reader(sentence)
            return self._says(sentence, at=at if is_to_user else None)

        return tuple((start, end) for start, end, sentence in located(text) if is_of_it(sentence))

    def _repeated(self, sentence: str) -> set[str]:
        """Return digests of a sentence's words: of each whole word, and of its beginning."""
        return self._words(sentence) | self._digests(content_terms(sentence))

    def _says(self, sentence: str, *, at: int | None) -> bool:
        if self.holds(sentence, at=at):
            return True
        return any(
            self.holds(state.content, topic=state.topic, subject=state.subject, at=at)
            for state in self.states(sentence)
        )

    def _text(self, text: str) -> str:
        return _digest(self.scope, normalized(text.strip(_EDGES)))

    def _words(self, text: str) -> set[str]:
        return {_digest(self.scope, term[:BEGINNING]) for term in content_terms(text)}

    def _values(self, text: str) -> set[str]:
        return self._digests(named_terms(text))


def burial_of(
    scope: UserScope, records: Sequence[Record], *, at: int, states: States = states_nothing
) -> Burial:
    """Return the burial of one record. `records` has it once for each message that states it."""
    record, mine = records[0], Buried(scope, (), states)
    texts = [record.content, *(place.source.quote or "" for place in records)]
    about = _subject(record.subject, scope)
    digests = dict.fromkeys(mine._text(text) for text in texts if text.strip())  # noqa: SLF001
    stated = (about, *mine._abouts(record.content))  # noqa: SLF001
    distinct = distinct_words(record.content, subject=next(filter(None, stated), ""))
    where = tuple(sorted(mine._digests(areas(record.content))))  # noqa: SLF001
    return Burial(
        id=record.id,
        at=at,
        topics=tuple(sorted(mine._topics(record.content, record.topic_key, about))),  # noqa: SLF001
        subject=_digest(scope, about),
        said=tuple(digests)[:MOST_SAID],
        words=tuple(sorted(mine._words(record.content))),  # noqa: SLF001
        values=tuple(sorted(mine._values(record.content))),  # noqa: SLF001
        names=tuple(sorted(mine._digests(distinct.names))),  # noqa: SLF001
        distinct=tuple(sorted(mine._digests(distinct.words))),  # noqa: SLF001
        abouts=tuple(sorted(mine._digests(distinct.subject))),  # noqa: SLF001
        areas=where,
        is_somebody=distinct.is_somebody,
        meanings=tuple(sorted(mine._digests(meanings(record.content)))),  # noqa: SLF001
        stated=max(place.valid_from for place in records),
    )


def burials_of(
    scope: UserScope, removed: Iterable[Record], *, at: int, states: States = states_nothing
) -> tuple[Burial, ...]:
    """Return the burials of removed records, one for each record. A record that was said several
    times is in `removed` that many times, because the quote of each place adds a digest. A record
    with an exact key, such as a preference, was not said and gets no burial.
    """
    by_id: dict[str, list[Record]] = {}
    for record in removed:
        if record.type not in KEYED:
            by_id.setdefault(record.id, []).append(record)
    return tuple(burial_of(scope, places, at=at, states=states) for places in by_id.values())


def located(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the sentences of a text, each with its position."""
    # not at import, because a plain turn does not need it
    from palimpsest.text.sentences import sentences

    place = 0
    for sentence in sentences(text):
        # A sentence has single blanks where the text may have others, or line breaks.
        pattern = r"\s+".join(map(re.escape, sentence.split()))
        match = re.compile(pattern).search(text, place)
        if match is not None:
            yield match.start(), match.end(), sentence
            place = match.end()


def _overlap(quote: str, sentence: str) -> bool:
    """Return whether a sentence contains the quote, or the quote contains the sentence."""
    return quote in sentence or (len(sentence) > len(quote) // 8 and sentence in quote)


def _subject(subject: str | None, scope: UserScope) -> str:
    """Return the subject in the form in which subjects are compared. All names of the user have the
    same form.
    """
    folded = normalized(subject or "")
    return "" if folded in ("", "user", "the user", normalized(scope.user)) else folded


def _digest(scope: UserScope, text: str) -> str:
    # No id contains this separator, so different owners never have the same text here.
    owned = f"{scope.tenant}\x1f{scope.user}\x1f{text}"
    return hashlib.sha256(owned.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def merged(*ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return all ranges in order. Ranges that touch are joined."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(span for part in ranges for span in part):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)
