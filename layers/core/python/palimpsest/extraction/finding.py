"""Findings of an extractor, before they are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from palimpsest.graph.things import Relation


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement of messages, as an extractor wrote it, before any check. `quote` is the text that
    supports it. `seqs` are the sequence numbers of the messages that it cites. `claims` holds any
    `user_id`, `tenant` or `session` that the extractor named without being asked. `relations` are
    its statements about people and things, for the graph. `speaker` is the name of its speaker
    (None: the user). `occurs_at` and `due_at` are days as a model gives them. `rests_on` are the
    topics of the facts that it rests on. A finding that `depends` on other memories is used only to
    end or correct them.
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
    speaker: str | None = None
    occurs_at: str | None = None
    due_at: str | None = None
    rests_on: tuple[str, ...] = ()


def fitting(findings: Sequence[Finding], *, most: int, last: int) -> int:
    """Return how far a step may go: the sequence number of the last message such that all messages
    up to it have at most `most` findings. If the first message with a finding already has more,
    return that message.
    """
    ends = sorted(max(finding.seqs) for finding in findings)
    if len(ends) <= most:
        return last
    through = max((end for end in ends if end < ends[most]), default=0)
    return through or ends[0]
