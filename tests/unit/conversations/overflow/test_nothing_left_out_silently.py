"""Room that is made, or why it is not, and what a context leaves out."""

from __future__ import annotations

from palimpsest.conversations.manage import SessionRequest
from palimpsest.conversations.overflow.arm import ArmResult

from tests.unit.conversations.service import ConversationService


def test_a_request_to_make_room_acts_or_says_why_not() -> None:
    service = ConversationService(fold_at_least=1_000, keep_recent_turns=3)
    session, prune = service.session(), service.app.prune
    service.say(3)
    assert prune.compact(session, wait=0) == "below_trigger"
    assert prune(session, strategy="summarize") == ArmResult(why_not="only_recent_turns")
    assert prune(session, strategy="fifo") == ArmResult(why_not="fits_already")
    assert prune(session, strategy="fifo", max_tokens=1) == ArmResult()
    assert prune(session, strategy="fifo", max_tokens=1) == ArmResult(why_not="only_recent_turns")
    service.say(3)
    assert prune(session, strategy="summarize").job is not None


def test_compacting_before_a_call_acts_on_a_window_that_had_nothing_to_fold_or_says_why_not() -> (
    None
):
    service = ConversationService(max_tokens=200, trigger_ratio=0.5, fold_at_least=1_000)
    session, prune = service.session(), service.app.prune
    service.say(5)
    assert service.head().raised > 0
    assert prune.compact(session, wait=0) == "only_recent_turns"
    service.app.manage.patch(session, wanted=SessionRequest(memory={"fold_at_least": 1}))
    assert prune.compact(session, wait=0) is None
    service.fail(service.job(service.head().job))
    assert prune.compact(session, wait=0) == "paused_after_failure"


def test_what_a_context_leaves_out_and_no_summary_stands_for_is_named() -> None:
    service = ConversationService(max_tokens=2_000, trigger_ratio=0.5)
    service.say(10)
    read, session = service.app.context, service.session()
    assert read(session).omitted is None
    small = read(session, max_tokens=120)
    assert small.omitted == (1, small.fitted.seqs[0] - 1)
    earlier = read(session, max_tokens=120, at=18)
    assert earlier.omitted == (1, earlier.fitted.seqs[0] - 1)
    assert read(session, at=18).omitted is None
    service.app.prune(session, strategy="summarize")
    service.drain()
    folded = read(session)
    assert folded.summary is not None
    assert (folded.fitted.seqs[0], folded.omitted) == (folded.summary.last + 1, None)
    small = read(session, max_tokens=160)
    assert small.fitted.summary_tokens
    assert small.omitted == (folded.summary.last + 1, small.fitted.seqs[0] - 1)
    service.app.prune(session, strategy="fifo", max_tokens=100)
    dropped = read(session)
    assert dropped.omitted == (folded.summary.last + 1, dropped.fitted.seqs[0] - 1)


def test_over_its_budget_a_window_is_folded_however_few_messages_that_is_and_nothing_is_left_out_silently() -> (
    None
):
    service = ConversationService(max_tokens=300, keep_recent_turns=1_000, fold_at_least=1_000)
    for _ in range(30):
        service.say(1)
        context = service.app.context(service.session())
        summarized = context.summary.last if context.summary else 0
        left_out = [seq for seq in service.history() if summarized < seq < context.fitted.seqs[0]]
        assert context.omitted == ((left_out[0], left_out[-1]) if left_out else None)
        service.drain()
        assert service.app.context(service.session()).omitted is None
    assert service.app.context(service.session()).summary is not None
