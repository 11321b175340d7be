"""Findings of an extractor, before they are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from palimpsest.graph.things import Relation


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that messages say, as an extractor wrote it; it has not been checked.

    `quote` is the text that it rests on, `seqs` are the sequence numbers of the messages that it
    cites. `claims` holds any `user_id`, `tenant` or `session` that the extractor named without
    being asked. `relations` are what it says of people and things, for the graph. One that
    `depends` on other memories counts only for what it ends or corrects.
    """

    type: str
    content: str
    seqs: tuple[int, ...]
    quote: str
    topic: str | None = None
    subject: str | None = None
    keywords: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 1.0
    claims: Mapping[str, str] = field(default_factory=dict)
    relations: tuple[Relation, ...] = ()
    depends: bool = False


def fitting(findings: Sequence[Finding], *, most: int, last: int) -> int:
    """The last message up to which there are at most `most` findings; at least the first message
    that has any.
    """
    ends = sorted(max(finding.seqs) for finding in findings)
    if len(ends) <= most:
        return last
    through = max((end for end in ends if end < ends[most]), default=0)
    return through or ends[0]
