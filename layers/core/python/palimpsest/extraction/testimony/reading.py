"""Reads the messages of a session in order, and notes whose words they are and which of them a
later message takes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from palimpsest.conversations.message import Message, text_of
from palimpsest.conversations.off_record import name_in
from palimpsest.extraction.testimony.awaited import (
    Awaited,
    asks_for_text,
    awaited_after,
    is_awaited,
)
from palimpsest.extraction.testimony.extents import text_end
from palimpsest.extraction.testimony.frames import (
    only_stops,
    play_begins,
    play_ends,
    takes_back_a_joke,
)
from palimpsest.extraction.testimony.questions import apart
from palimpsest.extraction.testimony.shown import is_mostly
from palimpsest.extraction.testimony.spans import (
    Span,
    SpanClass,
    own_text,
    secret_spans,
    spans,
    withheld,
)
from palimpsest.extraction.testimony.turns import labelled, names_of
from palimpsest.extraction.testimony.words import anywhere
from palimpsest.privacy.asked import asks_for_secret, is_bare_secret
from palimpsest.privacy.wishes import kept_from, wish_of

Withheld = tuple[tuple[SpanClass, str], ...]
"""The words of a message from which no record may be made, each with its class."""

MOST_READ = 32_000
"""How many characters at each end of a message are read. The text between them counts as
material.
"""

LONGEST_NOTICE = 120

REPEATED = frozenset({"request", "mail", "transcript", "fiction", "play", "hypothetical", "chat"})
"""Reasons why words are material. An answer to a message with such material repeats or continues
it.
"""


def _without_middle(text: str) -> str:
    if len(text) <= 2 * MOST_READ:
        return text
    return f"{text[:MOST_READ]}\n\n{text[-MOST_READ:]}"


@dataclass(slots=True)
class Reader:
    """The state of reading a session's messages. They are named by their sequence numbers.

    - `taken_back` has the reasons for messages that their speaker took back later.
    - `last_by` has the last message by each speaker's name.
    - `withheld` has the words that are not their speaker's testimony.
    - `reasons` has the reason for each of these parts.
    - `material` has the messages that are no testimony because of other messages. They belong to a
      role-play, are a text that was announced, or were taken back as a joke.
    - `last_turn` is the last message of a user with the answers to it. It is None before the first.
    """

    user: str | None = None
    plays: bool = False
    answers_material: bool = False
    last_by: dict[str, int] = field(default_factory=dict)
    last_turn: str | None = None
    taken_back: dict[int, str] = field(default_factory=dict)
    withheld: dict[int, Withheld] = field(default_factory=dict)
    reasons: dict[int, tuple[str, ...]] = field(default_factory=dict)
    material: set[int] = field(default_factory=set)
    owns: dict[int, str] = field(default_factory=dict)
    awaits: Awaited | None = None
    speaks_again: bool = False
    secret_requested: bool = False

    def reads(self, message: Message) -> str | None:
        """Read the next message of the session. If nothing in it is testimony, return the reason,
        else None.
        """
        text = _without_middle(text_of(message.chat))
        if message.role != "user":
            self.secret_requested = message.role == "assistant" and asks_for_secret(text)
            if self.last_turn is not None:
                self.last_turn = f"{self.last_turn}\n{text}"[:MOST_READ]
            if message.role == "assistant" and text.strip():
                self.speaks_again = False
                if self.awaits != "announced" and not asks_for_text(text):
                    self.awaits = None
            return self._answered(message, text)
        was_requested, self.secret_requested = self.secret_requested, False
        speaker = name_in(message)
        last = self.last_by.get(speaker)
        if last is not None and wish_of(text).takes_back:
            self.taken_back[last] = "off_record"
        if last is not None and _takes_back(text):
            self.taken_back[last] = "material"
            self.material.add(last)
        self.last_by[speaker] = message.seq
        before, self.last_turn = self.last_turn, text[:MOST_READ]
        if is_off_record(message, text) or (was_requested and is_bare_secret(text)):
            whole = message.is_off_record or was_requested
            start = len(text) if whole else kept_from(text, before=before)
            return self._after_wish(message, text, len(text) if start is None else start)
        return self._testimony(message, text)

    def _after_wish(self, message: Message, text: str, start: int) -> str | None:
        """Withhold the words before `start`, which are off the record, and read the words after it.
        Return the reason if nothing is left, else None.
        """
        self._withhold(message, "off_record", "off_record", text[:start])
        reason = self._testimony(message, text[start:]) if start < len(text) else "off_record"
        self.answers_material = True
        return reason

    def _withhold(self, message: Message, kind: SpanClass, reason: str, text: str) -> None:
        """Note a part of a message from which no record may be made."""
        self.withheld[message.seq] = (*self.withheld.get(message.seq, ()), (kind, text))
        self.reasons[message.seq] = (*self.reasons.get(message.seq, ()), reason)

    def _withhold_spans(self, message: Message, text: str, parts: Sequence[Span]) -> Withheld:
        """Note and return the words of each span that is not the speaker's own."""
        others = [part for part in parts if part.kind != "own"]
        for part in others:
            reason = part.reason if part.kind == "material" else part.kind
            self._withhold(message, part.kind, reason, text[part.start : part.end])
        return withheld(text, others)

    def own(self, message: Message) -> Message:
        """Return the message with only its speaker's own words. Call `reads` with it first."""
        if message.seq not in self.owns:
            return message
        return replace(message, chat={**message.chat, "content": self.owns.pop(message.seq)})

    def heard(self, message: Message) -> Message | None:
        """Return a message before the chunk with only its speaker's testimony; None if it
        has none.
        """
        text = _without_middle(text_of(message.chat))
        if message.is_off_record:
            return None
        if message.role != "user":
            own = own_text(text, secret_spans(text))
            return replace(message, chat={**message.chat, "content": own})
        if is_off_record(message, text):
            return None
        own = self._read_out(own_text(text, spans(text, user=self.user)))
        return replace(message, chat={**message.chat, "content": own}) if own.strip() else None

    def _read_out(self, own: str) -> str:
        """Return own words as an extractor reads them. If a line has a speaker, the speaker's name
        comes before it.
        """
        return apart(labelled(own, is_own=names_of(self.user)))

    def _answered(self, message: Message, text: str) -> str | None:
        """Note the withheld words of a message that is off the record, answers material, continues
        a role-play, or holds secrets. Return the reason if all of it is withheld, else None.
        """
        if message.is_off_record:
            self._withhold(message, "off_record", "off_record", text)
            return "off_record"
        if message.role == "assistant" and text.strip() and (self.plays or self.answers_material):
            self._withhold(message, "material", "play" if self.plays else "answer", text)
            if self.plays:
                self.material.add(message.seq)
            return "material"
        secrets = secret_spans(text)
        if len(secrets) > 1 or any(span.kind == "secret" for span in secrets):
            self._withhold_spans(message, text, secrets)
            self.owns[message.seq] = own_text(text, secrets)
        return None

    def _testimony(self, message: Message, text: str) -> str | None:
        awaited, self.awaits = self.awaits, awaited_after(text)
        is_second, self.speaks_again = self.speaks_again, True
        if self.awaits != "announced" and is_second:
            self.awaits = None
        if awaited and not self.awaits and not self.plays and is_awaited(text, awaited):
            return self._awaited(message, text)
        start = play_ends(text) if self.plays else 0
        if self.plays:
            self._withhold(message, "material", "play", text[:start])
            ending = anywhere("play_ends").search(text)
            # The words that end the play are neither a part of it nor a statement.
            if is_mostly(text[: ending.start() if ending else start], text):
                self.material.add(message.seq)
            # `play_ends` returns the end of the text also if the play ends with the last sentence.
            self.plays = start == len(text) and not (ending or only_stops(text))
        rest = text[start:]
        parts = spans(rest, user=self.user)
        begins = play_begins(rest)
        self.plays |= begins is not None and not anywhere("play_ends").search(rest, begins)
        others = self._withhold_spans(message, rest, parts)
        self.answers_material = self.plays or any(span.reason in REPEATED for span in parts)
        own = self._read_out(own_text(rest, parts))
        if own != text_of(message.chat):
            self.owns[message.seq] = own
        if any(letter.isalnum() for letter in own) or not (others or start):
            return None
        self.owns.pop(message.seq, None)
        return others[0][0] if others else "material"

    def _awaited(self, message: Message, text: str) -> str | None:
        """Withhold the text that the message before announced, and keep the speaker's own words
        after it. Return the reason if there are no such words, else None.
        """
        end = text_end(text, 0, is_long=True)
        self._withhold(message, "material", "announced", text[:end])
        if is_mostly(text[:end], text):
            self.material.add(message.seq)
        self.answers_material = True
        if not any(letter.isalnum() for letter in text[end:]):
            return "material"
        parts = spans(text[end:], user=self.user)
        self.owns[message.seq] = self._read_out(own_text(text[end:], parts))
        return None


def _takes_back(text: str) -> bool:
    """Return whether a message takes back the message before it, such as a joke."""
    return (
        takes_back_a_joke(text)
        or anywhere("not_mine").search_before(text, LONGEST_NOTICE) is not None
    )


def is_off_record(message: Message, text: str) -> bool:
    """Return whether the speaker does not want a message to be remembered."""
    return message.is_off_record or wish_of(text).is_off_record


def reader_after(messages: Iterable[Message], *, user: str | None) -> Reader:
    """Return a reader that has read these messages of a session, in their order."""
    reader = Reader(user)
    for message in messages:
        if message.role in ("user", "assistant"):
            reader.reads(message)
    # Only the state is kept. The messages themselves are not part of the step.
    return Reader(
        user,
        plays=reader.plays,
        answers_material=reader.answers_material,
        last_turn=reader.last_turn,
        awaits=reader.awaits,
        speaks_again=reader.speaks_again,
        secret_requested=reader.secret_requested,
        last_by=reader.last_by,
    )
