"""Summaries without a model: sentences of the conversation itself, chosen by rules and never
rewritten.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import attrgetter

from palimpsest.conversations.message import UNSHOWN_ROLES, Message
from palimpsest.conversations.own_tools import called
from palimpsest.conversations.ports import Summary, SummaryRequest
from palimpsest.conversations.window.days import dating_day
from palimpsest.conversations.window.render import plain
from palimpsest.models.ports import TokenCounter
from palimpsest.text import salience
from palimpsest.text.cutting import ELLIPSIS, Count, shortened
from palimpsest.text.dates import dated
from palimpsest.text.sentences import (
    clauses,
    is_filler,
    is_question,
    is_terminated,
    leans_on_a_question,
    sentences_at_the_ends,
    words,
)

METHOD = "extractive"
CAPACITY = 400_000  # tokens: some seconds of work
MOST_READ = 64_000  # characters of one message, without its middle if it is longer
NOTHING_SAID = "[no text]"
LABELS = {"User": salience.USER, "Assistant": salience.ASSISTANT, "Tool": salience.TOOL}
GIVEN = " gave a text: "
"""The end of the label of material, such as a letter, a text to work on, or a part of a role-play.
A summary does not say that the user states it.
"""
_LABELLED = re.compile(rf"(User|Assistant|Tool)(?: \([^)\n]{{1,64}}\))?(?:: |{GIVEN})")
_LETTERS = re.compile(r"[^\W_]+")
_DROPPED = f" {ELLIPSIS}"

LABEL_TOKENS = 3
JOIN_TOKENS = 2  # between a sentence without its full stop and the next
WHO_SHARE = 0.4  # of the room: for sentences that tell who the user is, which are chosen first
OLD_SHARE = 0.65  # of the room: for the earlier summary, before new sentences compete with it
WHO_PRIORITY = 2.0  # of the earlier summary over later words of others about themselves
RECENT_PRIORITY = 0.2  # of the last sentence over the first: among equals the newest is chosen
NEW_PRIORITY = 0.3  # of a sentence over an equal one of the earlier summary
ONE_WORD = 2.0  # subtracted from a single word that answers nothing
ANSWER_PRIORITY = 0.6
ANSWER_SENTENCES = 2
COVERED = 0.8  # a sentence repeats chosen ones if they hold this share of its words
LONG_SHARE = 3  # a sentence longer than this part of the room is taken apart
LEAST_KEY = 8
LIKELY = 3  # times the room
MOST_LINES, LINE_BYTES = 5_000, 32
"""If a text has more sentences than `MOST_LINES`, and more than one for each `LINE_BYTES` bytes,
its shortest sentences are not rated. Ordinary conversations never have so many. Without the limit,
a megabyte of them would take several seconds.
"""


@dataclass(slots=True)
class _Line:
    """A sentence with its position, its message (`part`), its speaker, its tokens and its worth.
    Tokens and worth are set later on the same object, because a new object for each sentence would
    take a fifth of the whole time.
    """

    place: int
    part: int
    label: str
    speaker: str
    text: str
    message: Message | None  # None for a sentence of the earlier summary
    old: bool
    tokens: int = 0
    bag: frozenset[str] = frozenset()
    facts: frozenset[str] = frozenset()
    score: float = 0.0
    asks: bool = False
    who: bool = False
    is_data: bool = False  # output of a tool, a text that the user gave, or a line of a log
    density: float = 0.0  # worth divided by tokens
    needs: int | None = None  # the place of the question without which it says little


class ExtractiveSummarizer:
    """Implements `Summarizer` without a model, in linear time: the same input always gives the same
    summary.
    """

    def __init__(self, tokens: TokenCounter) -> None:
        self._tokens = tokens

    def capacity(self, wanted: SummaryRequest) -> int:
        del wanted
        return CAPACITY

    def summarize(
        self, messages: Sequence[Message], wanted: SummaryRequest, *, previous: str | None
    ) -> Summary:
        encoding = messages[-1].encoding if messages else self._tokens.encoding_for(wanted.model)
        count = partial(self._tokens.count, encoding=encoding)
        every = list(_lines(previous or "", messages))
        lines = _rated(every, room=wanted.max_tokens, count=count, user=wanted.user)
        return Summary(text=_written(lines, limit=wanted.max_tokens, count=count), method=METHOD)


def _lines(previous: str, messages: Sequence[Message]) -> Iterator[_Line]:
    """Yield the sentences of the earlier summary, then the sentences of the messages, in order."""
    place = 0
    for part, (label, text, message) in enumerate(_parts(previous, messages)):
        role = "" if label.endswith(GIVEN) else label.split(" ", 1)[0].rstrip(":")
        speaker = LABELS.get(role, salience.NOBODY)
        for sentence in sentences_at_the_ends(text, most=MOST_READ):
            stated = sentence.removesuffix(_DROPPED)
            if _LETTERS.search(stated):
                yield _Line(place, part, label, speaker, stated, message, message is None)
                place += 1


def _parts(previous: str, messages: Sequence[Message]) -> Iterator[tuple[str, str, Message | None]]:
    """Yield label and text of each line of the earlier summary, then of each message, together with
    the message.
    """
    for line in previous.splitlines():
        labelled = _LABELLED.match(line)
        end = labelled.end() if labelled else 0
        yield line[:end], line[end:], None
    for message in messages:
        if message.role in UNSHOWN_ROLES:
            continue
        name = " ".join(str(message.chat.get("name") or "").replace(")", " ").split())[:64]
        label = message.role.capitalize() + (f" ({name}): " if name else ": ")
        yield label, plain(message.chat.get("content")), message
        for call in message.chat.get("tool_calls") or ():
            yield label, " ".join(called(call)), message


def _rated(lines: list[_Line], *, room: int, count: Count, user: str | None) -> list[_Line]:
    """Return the lines with their tokens and worth. Of repeated lines only the last one is kept.
    The longest lines are divided. `user` is the name with which the user signs.
    """
    lines = [
        part for line in _longest(_distinct(lines)) for part in _apart(line, room=room, count=count)
    ]
    topic = salience.topic_words(line.bag for line in lines)
    for place, line in enumerate(lines):
        line.place = place
        _rate(line, lines, topic)
    material = cache(partial(_material, user=user))
    for line in _likely(lines, room=room):
        if line.message is not None and _is_given(line, material):
            _give(line)
            _rate(line, lines, topic)
        day = dating_day(line.message) if line.message else None
        if day is not None and (text := dated(line.text, at=day)) != line.text:
            line.text, line.tokens = text, _weight(text, count)
            line.bag, line.facts = words(text), salience.facts(text)
            _rate(line, lines, topic)
    return lines


def _is_given(line: _Line, material: Callable[[str], Sequence[str]]) -> bool:
    """Return whether most of a line of a user's message is material, which is not the user's own
    statement. Lines that say nothing of their speaker are not tested, because that takes long.
    """
    from palimpsest.extraction.testimony.words import anywhere  # not at import: many words

    message = line.message
    if message is None or message.role != "user":
        return False
    if message.is_material or anywhere("first_person").search(line.text) is None:
        return message.is_material
    letters = _letters(line.text)
    return any(
        letters in part or (part in letters and 2 * len(part) > len(letters))
        for part in material(plain(message.chat.get("content")))
    )


def _material(text: str, *, user: str | None) -> Sequence[str]:
    """Return the letters of each part of a user's text that is material."""
    from palimpsest.extraction.testimony.spans import spans  # not at import: it loads many words

    half = MOST_READ // 2
    read = text if len(text) <= MOST_READ else f"{text[:half]}\n\n{text[-half:]}"
    parts = (
        read[part.start : part.end] for part in spans(read, user=user) if part.kind == "material"
    )
    return [letters for part in parts if (letters := _letters(part))]


def _give(line: _Line) -> None:
    """Make the line one of a text that the user gave."""
    line.label = line.label.removesuffix(": ") + GIVEN
    line.speaker, line.is_data = salience.NOBODY, True


def _letters(text: str) -> str:
    return "".join(_LETTERS.findall(text.casefold()))


def _likely(lines: Sequence[_Line], *, room: int) -> Iterator[_Line]:
    """Yield the lines that may be chosen: the best ones, up to several times the room. Only these
    are searched for dates, because that search takes as long as everything else together.
    """
    left = room * LIKELY
    for line in sorted(lines, key=attrgetter("density"), reverse=True):
        if left < 0:
            return
        left -= line.tokens
        yield line


def _distinct(lines: list[_Line]) -> list[_Line]:
    last = {_key(line): line for line in lines}
    return sorted(last.values(), key=attrgetter("place"))


def _longest(lines: list[_Line]) -> list[_Line]:
    """Return the lines, without the shortest ones if there are far too many. Lines of the earlier
    summary are always kept.
    """
    if len(lines) <= MOST_LINES:
        return lines
    sizes = [len(line.text.encode(errors="replace")) for line in lines]
    most = max(MOST_LINES, sum(sizes) // LINE_BYTES)
    if len(lines) <= most:
        return lines
    longest = sorted(range(len(lines)), key=lambda at: (lines[at].old, sizes[at], at))[-most:]
    return [lines[at] for at in sorted(longest)]


def _key(line: _Line) -> tuple[str, str, int]:
    """Return a key that is equal for repetitions of a line. A short line ("Yes.") has a different
    key in every message.
    """
    return line.label, _letters(line.text), line.part if len(line.text) < LEAST_KEY else 0


def _apart(line: _Line, *, room: int, count: Count) -> Sequence[_Line]:
    is_given = line.label.endswith(GIVEN) or line.speaker == salience.TOOL
    line.is_data = is_given or salience.is_log_line(line.text)
    line.tokens = _weight(line.text, count)
    most = max(1, room // LONG_SHARE)
    parts = [line]
    if line.tokens > most:
        longest = max(20, len(line.text) * most // line.tokens)
        texts = list(clauses(line.text, longest=longest))
        parts = (
            [replace(line, text=text, tokens=_weight(text, count)) for text in texts]
            if len(texts) > 1
            else parts
        )
    for part in parts:
        part.bag, part.facts = words(part.text), salience.facts(part.text)
    return parts


def _weight(text: str, count: Count) -> int:
    return count(text) + (0 if is_terminated(text) else JOIN_TOKENS)


def _rate(line: _Line, lines: Sequence[_Line], topic: frozenset[str]) -> None:
    line.asks = is_question(line.text)
    is_own = not line.asks and not line.label.endswith(GIVEN)
    line.who = is_own and salience.tells_who(line.text, speaker=line.speaker)
    question = _question_before(lines, line.place)
    worth = salience.worth(
        line.text, speaker=line.speaker, bag=line.bag, topic=topic, who=line.who, asks=line.asks
    )
    line.score = worth + RECENT_PRIORITY * line.place / len(lines)
    if not line.old:
        line.score += NEW_PRIORITY
    elif line.who:
        line.score += WHO_PRIORITY
    tokens = line.tokens
    if question and is_filler(question.text, question.bag):
        line.score -= ANSWER_PRIORITY
    elif question:
        line.score += ANSWER_PRIORITY if line.speaker == salience.ASSISTANT else 0.0
        if question.place == line.place - 1 and leans_on_a_question(line.text):
            tokens, line.needs = tokens + question.tokens, question.place
    if len(line.bag) <= 1 and not line.facts and line.needs is None:
        line.score -= ONE_WORD
    line.density = line.score / (tokens + 8) ** 0.5


def _question_before(lines: Sequence[_Line], at: int) -> _Line | None:
    """Return the question that another speaker asked just before this message, if the line is one
    of the message's first lines. The lines before must have been rated.
    """
    if at >= ANSWER_SENTENCES and lines[at - ANSWER_SENTENCES].part == lines[at].part:
        return None
    for before in range(at - 1, max(-1, at - 1 - ANSWER_SENTENCES), -1):
        if lines[before].part != lines[at].part:
            return (
                lines[before]
                if lines[before].asks and lines[before].label != lines[at].label
                else None
            )
    return None


class _Choice:
    """The lines chosen so far. `tokens` is an estimate of the tokens of the written lines."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        self._lines = lines
        self._order: list[int] = []
        self._words: set[str] = set()
        self._facts: set[str] = set()
        self.places: set[int] = set()
        self.tokens = 0

    def take(self, ranked: Sequence[_Line], *, room: float, also_covered: bool = False) -> None:
        """Choose lines in the given order while they fit the room. Each line brings the question
        that it needs.
        """
        for line in ranked:
            if self.tokens + line.tokens > room or line.place in self.places:
                continue
            if not (also_covered or self._is_new(line)):
                continue
            wanted = [line] if line.needs is None else [self._lines[line.needs], line]
            cost = sum(self._cost(sentence) for sentence in wanted)
            if self.tokens + cost <= room:
                self._add(wanted, cost)

    def written(self) -> str:
        """Return the text of the chosen lines in order. Successive lines of a speaker are joined.
        An ellipsis marks lines that were left out.
        """
        rows: list[str] = []
        label = ""
        for line in (self._lines[place] for place in sorted(self.places)):
            if rows and not _starts(label, line.label):
                rows[-1] += (" " if is_terminated(rows[-1]) else f"{_DROPPED} ") + line.text
            else:
                rows.append(line.label + line.text)
            label = line.label
        return "\n".join(rows)

    def drop(self) -> None:
        """Drop the chosen line with the least worth for its tokens."""
        self.places.remove(min(self.places, key=lambda place: (self._lines[place].density, -place)))

    def _cost(self, line: _Line) -> int:
        if line.place in self.places:
            return 0
        at = bisect_left(self._order, line.place)
        before = self._lines[self._order[at - 1]].label if at else None
        after = self._lines[self._order[at]].label if at < len(self._order) else None
        rows = _starts(before, line.label) + _starts(line.label, after) - _starts(before, after)
        return line.tokens + LABEL_TOKENS * rows

    def _is_new(self, line: _Line) -> bool:
        if line.facts:
            return not line.facts <= self._facts
        return not line.bag or len(line.bag & self._words) < COVERED * len(line.bag)

    def _add(self, wanted: Sequence[_Line], cost: int) -> None:
        self.tokens += cost
        for line in wanted:
            if line.place not in self.places:
                self.places.add(line.place)
                insort(self._order, line.place)
            self._words |= line.bag
            self._facts |= line.facts


def _starts(before: str | None, label: str | None) -> bool:
    """Return whether a line with that label begins a new row. A line without a speaker
    always does.
    """
    return label is not None and (label == "" or label != before)


def _written(lines: Sequence[_Line], *, limit: int, count: Count) -> str:
    """Return a summary within the limit. Lines that say who the user is come first, then the
    earlier summary, then the lines of the greatest worth. Log lines and the output of tools come
    after everything that people and models said.
    """
    ranked = sorted(lines, key=attrgetter("density"), reverse=True)  # equal lines keep their order
    good = [line for line in ranked if line.score > 0] or ranked[:1]
    prose = [line for line in good if not line.is_data]
    choice = _Choice(lines)
    choice.take([line for line in good if line.who], room=limit * WHO_SHARE)
    choice.take([line for line in prose if line.old], room=limit * OLD_SHARE)
    for _ in range(2):  # the second time with the room that the estimate left unused
        wasted = choice.tokens - count(choice.written())
        choice.take(prose, room=limit + wasted)
        choice.take(good, room=limit + wasted)
    choice.take(good, room=limit + choice.tokens - count(choice.written()), also_covered=True)
    while choice.places:
        text = choice.written()
        if count(text) <= limit:
            return text
        choice.drop()
    if ranked:
        return _beginning(ranked[0], limit=limit, count=count)
    return shortened(NOTHING_SAID, limit=limit, count=count)[0]


def _beginning(line: _Line, *, limit: int, count: Count) -> str:
    """Return the beginning of a line that does not fit whole. Return an ellipsis if nothing of the
    line fits.
    """
    text, _ = shortened(line.text, limit=max(0, limit - count(line.label) - 1), count=count)
    return line.label + text if text.strip(ELLIPSIS) else ELLIPSIS
