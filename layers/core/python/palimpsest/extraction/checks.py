"""Checks findings against the messages that an extractor read, and makes statements of the findings
that pass. A finding that the messages do not support is dropped.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import unescape
from itertools import islice
from typing import Any, cast, get_args

from palimpsest.clock import milliseconds
from palimpsest.conversations.message import Message, text_of
from palimpsest.conversations.spoken import said_at
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.testimony.objections import announces_only, not_testimony
from palimpsest.extraction.testimony.speakers import attributed, names_in
from palimpsest.extraction.timing import timed
from palimpsest.graph.things import Relation
from palimpsest.memory.meaning.slots import slot_of
from palimpsest.memory.meaning.standing import leans, refers
from palimpsest.memory.record import MAX_CONTENT, Method, SaidType, Source
from palimpsest.memory.statements import Statement
from palimpsest.privacy.secrets import holds_secret
from palimpsest.text.dates import dated, relative_dates
from palimpsest.text.folding import normalized
from palimpsest.text.sentences import is_question

LEAST_IMPORTANCE = 0.5
MOST_PLACES = 1_000  # a short quote may be anywhere in a long text
FEWEST_BLANKS = 2  # of a sentence
LEAST_QUOTE = 2  # letters or digits; a quote of a whole message may be shorter
MOST_KEYWORDS, MOST_QUERIES = 12, 5
LONGEST_TERM, LONGEST_QUERY, LONGEST_NAME = 64, 200, 80
MOST_NOTES, LONGEST_NOTE = 16, 256  # of the messages' metadata
TYPES = frozenset(get_args(SaidType))

_ALIKE = str.maketrans(
    "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u2010\u2011\u2012\u2013\u2014",
    '\'\'\'"""""-----',
)
_EDGES = " \t\n.\u2026\"'"
# Texts that name a user by an id, such as "user_id: bob", "user #42" or "user=bob".
_NAMED_USER = re.compile(
    r"\buser(?:[_ -]?id\b[ \"'`]*[:=#]?|[ ]*[:=#])[ \"'`]*([A-Za-z0-9._:@+|=-]+)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ConversationOwner:
    """The tenant, user and session that a conversation belongs to. They come from the job, never
    from a finding. `names` are the known names of the user.
    """

    tenant: str
    user: str
    session: str
    names: tuple[str, ...] = ()

    def is_meant(self, finding: Finding) -> bool:
        """Return whether the finding names no other tenant, user or session."""
        own = {"user": self.user, "tenant": self.tenant, "session": self.session}
        claimed = all(
            value == own[name.removesuffix("_id")] for name, value in finding.claims.items()
        )
        named = _NAMED_USER.findall(
            f"{finding.subject or ''}\n{finding.content}\n{finding.topic or ''}"
        )
        return claimed and all(name.rstrip(".:") == self.user for name in named)


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings that passed, and how many were dropped, by reason."""

    findings: tuple[Finding, ...]
    dropped: Mapping[str, int]


def checked(findings: Sequence[Finding], chunk: Chunk, *, owner: ConversationOwner) -> Checked:
    """Return the findings that the chunk's messages support. Each is returned once, limited in
    size, and cites only messages of the chunk.
    """
    texts = {message.seq: _plain(text_of(message.chat)) for message in chunk.messages}
    context = {message.seq for message in chunk.before}
    before = [_plain(text_of(message.chat)) for message in chunk.before]
    names = names_in(chunk.messages, user=owner.user, names=owner.names)
    passed: dict[tuple[str, str], Finding] = {}
    dropped: Counter[str] = Counter()
    for finding in findings:
        cited = tuple(sorted({seq for seq in finding.seqs if seq in texts}))
        cites = finding if cited == finding.seqs else replace(finding, seqs=cited)
        about = attributed(cites, chunk.messages, user=owner.user, names=names)
        tidy = _tidy(about)
        reason = _objection(finding, tidy, texts, context, owner)
        # Texts are read without withheld words, so a quote of such words is not found. Give the
        # true reason.
        if reason in (None, "unquoted"):
            reason = not_testimony(finding, chunk) or reason
        reason = reason or _lack(tidy)
        key = (tidy.type, normalized(tidy.content))
        if reason is None and key in passed:
            reason = "repeated"
        if reason is None:
            passed[key] = tidy
            if tidy.relations:
                named = _named(tidy.relations, (*texts.values(), *before))
                passed[key] = replace(tidy, relations=named)
        else:
            dropped[reason] += 1
    return Checked(tuple(passed.values()), dict(dropped))


def _needs_its_conversation(finding: Finding) -> bool:
    """Return whether the finding is an instruction, or has no topic, and can't be understood
    without its conversation.
    """
    if finding.type == "instruction":
        return refers(finding.content)
    is_bare = finding.type == "fact" and finding.topic is None and not finding.depends
    if not is_bare or finding.content.count(" ") < FEWEST_BLANKS or not leans(finding.content):
        return False
    return slot_of(finding.content) is None


def _lack(tidy: Finding) -> str | None:
    """Return what a finding lacks to be a statement that is understood alone, or None."""
    if _only_asks(tidy):
        return "question"
    is_stub = not tidy.depends and announces_only(tidy.content)
    return "not_alone" if is_stub or _needs_its_conversation(tidy) else None


def _objection(
    finding: Finding,
    tidy: Finding,
    texts: Mapping[int, str],
    context: set[int],
    owner: ConversationOwner,
) -> str | None:
    """Return the reason to drop a finding, or None."""
    if tidy.type not in TYPES or not any(letter.isalnum() for letter in tidy.content):
        return "malformed"
    if len(tidy.content) > MAX_CONTENT:
        return "too_long"
    if not owner.is_meant(finding):
        return "another_user"
    if not tidy.seqs or not all(seq in texts or seq in context for seq in finding.seqs):
        return "not_given"
    if not any(_is_quoted(finding.quote, texts[seq]) for seq in tidy.seqs):
        return "unquoted"
    return "unimportant" if tidy.importance < LEAST_IMPORTANCE else None


def _only_asks(finding: Finding) -> bool:
    """Return whether the finding is only a question. Words before a colon may state something."""
    may_ask = finding.type == "task" or finding.depends or ":" in finding.content
    return not may_ask and is_question(finding.content)


def _named(relations: Sequence[Relation], texts: Sequence[str]) -> tuple[Relation, ...]:
    """Return the relations between two different people or things whose names occur in the messages
    that were read.
    """

    def is_read(name: str) -> bool:
        plain = _plain(name)
        return len(name) <= LONGEST_NAME and any(_holds(plain, text) for text in texts)

    return tuple(
        relation
        for relation in relations
        if _plain(relation.start) != _plain(relation.end) and all(map(is_read, relation.names))
    )


def _is_quoted(quote: str, text: str) -> bool:
    """Return whether the message contains the quote. Case, spaces, kinds of quotation marks and
    markup escapes may differ.
    """
    return any(_holds(_plain(form).strip(_EDGES), text) for form in {quote, unescape(quote)})


def _holds(quote: str, text: str) -> bool:
    letters = len(list(islice(filter(str.isalnum, quote), LEAST_QUOTE)))
    return (
        _stands_in(quote, text)
        if letters >= LEAST_QUOTE
        else letters > 0 and quote == text.strip(_EDGES)
    )


def _stands_in(quote: str, text: str) -> bool:
    """Return whether the text contains the quote, with both of its ends at word boundaries. Scripts
    without spaces may be cut anywhere. Only the first `MOST_PLACES` places are tried, so that the
    time is linear for any text.
    """
    place = -1
    for _ in range(MOST_PLACES):
        place = text.find(quote, place + 1)
        if place < 0:
            break
        end = place + len(quote)
        around = (text[place - 1 : place] + quote[0], quote[-1] + text[end : end + 1])
        if not any(len(edge) > 1 and _is_one_word(edge) for edge in around):
            return True
    return False


def _is_one_word(edge: str) -> bool:
    """Return whether two neighbouring characters belong to one word. Scripts from U+0E00 on mostly
    use no spaces, so their characters never do.
    """
    return all(letter.isalnum() and letter < "\u0e00" for letter in edge)


def _plain(text: str) -> str:
    if text.isascii():
        return " ".join(text.lower().split())
    # Models may change quotation marks and spaces when they quote a message.
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_ALIKE)
    return " ".join(folded.split())


def _tidy(finding: Finding) -> Finding:
    return replace(
        finding,
        type=cast(SaidType, finding.type.strip().casefold()),
        content=finding.content.strip(),
        topic=(finding.topic or "").strip() or None,
        subject=(finding.subject or "").strip()[:LONGEST_NAME] or None,
        keywords=tuple(_terms(finding.keywords, most=MOST_KEYWORDS, longest=LONGEST_TERM)),
        queries=tuple(_terms(finding.queries, most=MOST_QUERIES, longest=LONGEST_QUERY)),
        importance=min(1.0, max(0.0, finding.importance)),
        confidence=min(1.0, max(0.0, finding.confidence)),
    )


def _terms(terms: Sequence[str], *, most: int, longest: int) -> Iterator[str]:
    """Yield each term once, whatever its case, at its first place, without terms that are too
    long.
    """
    seen: dict[str, str] = {}
    for term in map(str.strip, terms):
        seen.setdefault(term.casefold(), term)
    short = [term for term in seen.values() if term and len(term) <= longest]
    yield from short[:most]


def statement_of(
    finding: Finding,
    messages: Mapping[int, Message],
    *,
    session: str,
    agent: str | None,
    method: Method,
    prompt_hash: str | None,
    retention: int | None = None,
) -> Statement:
    """Return the statement of a finding, dated by the last message that it cites. `messages` has
    the messages by sequence number.
    """
    cited = [messages[seq] for seq in finding.seqs]
    spoken_at = max(map(said_at, cited))
    day = spoken_at.date()
    timing = timed(finding, at=day)
    finding = timing.finding
    content = dated(finding.content, at=day)
    labels = [date.label for date in relative_dates(finding.content, at=day)]
    return Statement(
        type=cast(SaidType, finding.type),
        content=content if len(content) <= MAX_CONTENT else finding.content,
        topic=finding.topic,
        subject=finding.subject,
        speaker=finding.speaker,
        occurs_at=timing.occurs_at,
        due_at=timing.due_at,
        time_unit=timing.unit,
        keywords=tuple(dict.fromkeys((*finding.keywords, *labels))),
        queries=finding.queries,
        importance=finding.importance,
        confidence=finding.confidence,
        source=Source(
            session=session,
            message_ids=tuple(
                # The caller knows messages of its own history by its own ids.
                (message.is_outside and message.client_id) or message.id
                for message in cited
            ),
            seqs=finding.seqs,
            quote=finding.quote.strip(),
        ),
        agent=agent,
        metadata=_metadata(cited),
        valid_from=milliseconds(spoken_at),
        retention=retention,
        method=method,
        prompt_hash=prompt_hash,
    )


def _metadata(cited: Sequence[Message]) -> dict[str, Any]:
    """Return the metadata of the cited messages, without long or nested values. If two messages
    have the same key, the later one wins.
    """
    metadata = {name: value for message in cited for name, value in message.metadata.items()}
    simple = {
        name: value
        for name, value in metadata.items()
        if isinstance(value, str | int | float | bool)
    }
    short = [
        (name, value)
        for name, value in simple.items()
        if len(f"{name}={value}") <= LONGEST_NOTE
        and not holds_secret(f"{name}={value}", is_data=True)
    ]
    return dict(short[:MOST_NOTES])


def most_important(findings: Sequence[Finding], *, most: int) -> tuple[Finding, ...]:
    """Return the `most` most important findings, in their given order."""
    best = sorted(range(len(findings)), key=lambda place: (-findings[place].importance, place))[
        :most
    ]
    return tuple(findings[place] for place in sorted(best))
