"""Makes a statement of a checked finding: with its source, its time, and relative dates made absolute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from palimpsest.clock import milliseconds
from palimpsest.conversations.messages import Message
from palimpsest.extraction.chunk import Finding, said_at
from palimpsest.memory.records import MAX_CONTENT, Method, RecordType, Source
from palimpsest.memory.statements import Statement
from palimpsest.text.dates import dated, relative_dates

MOST_NOTES, LONGEST_NOTE = 16, 256


def statement_of(
    finding: Finding,
    messages: Mapping[int, Message],
    *,
    session: str,
    agent: str | None,
    method: Method,
    prompt_hash: str | None,
) -> Statement:
    """The statement of a finding, dated by the last message that it cites. `messages` are given by sequence number."""
    cited = [messages[seq] for seq in finding.seqs]
    spoken_at = max(map(said_at, cited))
    day = spoken_at.date()
    content = dated(finding.content, at=day)
    labels = [found.label for found in relative_dates(finding.content, at=day)]
    return Statement(
        type=cast(RecordType, finding.type),
        content=content if len(content) <= MAX_CONTENT else finding.content,
        topic=finding.topic,
        subject=finding.subject,
        keywords=tuple(dict.fromkeys((*finding.keywords, *labels))),
        queries=finding.queries,
        importance=finding.importance,
        confidence=finding.confidence,
        source=Source(
            session=session,
            message_ids=tuple(message.id for message in cited),
            seqs=finding.seqs,
            quote=finding.quote.strip(),
        ),
        agent=agent,
        metadata=_metadata(cited),
        valid_from=milliseconds(spoken_at),
        method=method,
        prompt_hash=prompt_hash,
    )


def _metadata(cited: Sequence[Message]) -> dict[str, Any]:
    """The metadata of the cited messages, as far as the values are short and simple; a later message wins."""
    given = {name: value for message in cited for name, value in message.metadata.items()}
    simple = {name: value for name, value in given.items() if isinstance(value, str | int | float | bool)}
    short = [(name, value) for name, value in simple.items() if len(f"{name}={value}") <= LONGEST_NOTE]
    return dict(short[:MOST_NOTES])


def most_important(findings: Sequence[Finding], *, most: int) -> tuple[Finding, ...]:
    """The `most` most important findings, in their given order."""
    best = sorted(range(len(findings)), key=lambda place: (-findings[place].importance, place))[:most]
    return tuple(findings[place] for place in sorted(best))
