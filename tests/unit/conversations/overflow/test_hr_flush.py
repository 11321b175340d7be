"""Sarah asks about remote work until her window is flushed; weeks later a new conversation knows
her.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from palimpsest.conversations.drafts import Draft
from palimpsest.offline.extractor import PatternExtractor

from tests.service import SARAH
from tests.unit.context.service import ContextService
from tests.unit.conversations.overflow.hr import FORMAL
from tests.unit.conversations.validity import problems

POLICY = "Remote work policy: employees may work from home up to 3 days a week, with their manager's approval."
WEEKS = 3 * 7 * 24 * 3600
BUDGET = 800


def after_the_talk(folder: Path) -> ContextService:
    """The conversation, every job of it done; without a model."""
    memory: dict[str, Any] = {
        "strategy": "flush",
        "max_tokens": BUDGET,
        "keep_recent_turns": 2,
        "max_stm_token_ratio": 0.4,
    }
    service = ContextService(folder=folder, **memory)
    service.extract = replace(service.extract, extractor=PatternExtractor())
    service.state_fact("remote-work", POLICY)
    for chat in FORMAL:
        service.put(chat)
        service.drain()
    service.index_all("s")
    return service


def test_after_the_flush_the_context_holds_the_recent_turns_and_memory_what_was_said_before(
    tmp_path: Path,
) -> None:
    service = after_the_talk(tmp_path)
    head = service.head()
    assert head.window_start > 3
    assert {compaction.method for compaction in service.compactions()} == {"flush"}
    context = service.context("So, am I eligible?")
    first, *between, recalled, _ = [str(chat["content"]) for chat in context.fitted.messages]
    said = between
    assert first == context.memory.stable
    assert recalled == context.memory.recalled
    assert "To be eligible you need at least 6 months" in recalled
    assert said == [str(chat["content"]) for chat in FORMAL[head.window_start - 1 :]]
    memory = context.memory.text
    assert memory.startswith(
        f"<memory><static_memory>\n- {POLICY}\n</static_memory><extractive_memory>\n"
    )
    assert "I'm Sarah from Marketing." in memory
    assert "I've been with the company for 2 years." in memory
    assert "To be eligible you need at least 6 months" in memory
    assert context.fitted.tokens <= BUDGET
    assert problems(context.fitted.messages) == []
    assert context.degraded == ()


def test_weeks_later_a_new_session_of_the_same_user_recalls_it(tmp_path: Path) -> None:
    service = after_the_talk(tmp_path)
    service.time.advance(WEEKS)
    service.say("Hello again! Can I still work remotely?", session="weeks-later")
    for message in (None, "Which form was it that I need to apply?"):
        memory = service.context(message, session="weeks-later").memory
        assert "I'm Sarah from Marketing." in memory.text
        assert "I've been with the company for 2 years." in memory.text
        assert POLICY in memory.text
    assert "Fill in form HR-101" in "".join(item.text for item in memory.of("vector"))


def test_another_user_knows_the_policy_and_nothing_of_sarah(tmp_path: Path) -> None:
    service = after_the_talk(tmp_path)
    hello = Draft({"role": "user", "content": "Hello!"})
    service.append(service.session("davids"), [hello], user="david")
    context = service.context("Which form was it that I need to apply?", session="davids")
    assert POLICY in context.memory.text
    assert context.memory.of("extractive") == context.memory.of("vector") == ()


def test_everything_remembered_names_the_message_it_came_from(tmp_path: Path) -> None:
    records = after_the_talk(tmp_path).memories.listed(SARAH, limit=100).records
    assert records
    for record in records:
        (seq,) = record.source.seqs
        assert str(record.source.quote) in str(FORMAL[seq - 1]["content"])
