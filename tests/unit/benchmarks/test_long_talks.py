"""What ordinary talk leaves as it is stays known."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from palimpsest.extraction.reconciling import weighing
from palimpsest.extraction.relating import Related
from palimpsest.memory.record import Record
from palimpsest.memory.statements import Statement

from benchmarks.truth.long_talks import conversations, counted, right_changes

TALKS = list(conversations(is_odd=True))[::3]
"""Some of the conversations that the learned relation was not trained on."""
MOST_WRONG = 0.01  # changes a message


def test_long_conversations_change_little_that_is_still_so() -> None:
    each = [counted(talk) for talk in TALKS]
    wrong = [change for one in each for change in one.wrong]
    assert len(wrong) <= MOST_WRONG * sum(one.messages for one in each), wrong


def test_right_changes_are_found_and_count_as_right() -> None:
    talk = next(
        conversation for conversation in conversations(is_odd=True) if conversation.id == "fit"
    )
    says = {change.says for change in right_changes()}
    found = counted(talk).right
    assert found
    assert all(any(each in one.statement for each in says) for one in found)


def test_a_relation_that_ends_whatever_is_known_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends_the_newest(_: Statement, known: Sequence[Record], **__: bool) -> Related | None:
        return Related("ends", 0) if known else None

    monkeypatch.setattr(weighing, "related", ends_the_newest)
    found = counted(next(talk for talk in TALKS if talk.id == "trip"))
    assert len(found.wrong) > 20 * MOST_WRONG * found.messages
