import pytest
from palimpsest.conversations.message import Chat
from palimpsest.conversations.weight import MESSAGE_OVERHEAD, REPLY_PRIMING, weigh
from palimpsest.conversations.window.fit import Fitted, Material, fit
from palimpsest.conversations.window.turns import NO_RESULT
from palimpsest.errors import BudgetTooSmall

from tests.unit.conversations.window.transcripts import (
    assistant,
    calling,
    conversation,
    quarter,
    result,
    system,
    user,
)

LONG = "word " * 800  # 1,000 tokens
SYSTEM = system("You are the HR assistant.")


def fitted(
    *spoken: Chat,
    budget: int = 1_000,
    given: Chat | None = None,
    summary: str | None = None,
    system: Chat | None = SYSTEM,
) -> Fitted:
    messages = conversation(*spoken)
    return fit(
        Material(
            system=system,
            summary=summary,
            messages=messages,
            given=given,
            budget=budget,
            count=quarter,
        )
    )


def test_a_context_that_fits_is_what_was_said() -> None:
    spoken = (user(), calling("a"), result("a"), assistant(), user("thanks"))
    context = fitted(*spoken, summary="Sarah asked.")
    assert context.messages == (SYSTEM, user("CONVERSATION SUMMARY: Sarah asked."), *spoken)
    assert context.seqs == (1, 2, 3, 4, 5)
    assert context.cuts == ()


def test_a_context_tells_what_it_weighs() -> None:
    context = fitted(user(), assistant(), summary="Sarah asked.")
    weights = [weigh(chat, quarter) for chat in context.messages]
    assert (context.system_tokens, context.summary_tokens, context.window_tokens) == (
        *weights[:2],
        sum(weights[2:]),
    )
    assert context.tokens == REPLY_PRIMING + sum(weights)


def test_weights_counted_at_append_are_not_counted_again() -> None:
    def fail(text: str) -> int:
        raise AssertionError(text)

    messages = conversation(*[user(), calling("a"), result("a"), assistant()] * 5)
    context = fit(
        Material(system=SYSTEM, system_tokens=20, messages=messages, budget=10_000, count=fail)
    )
    assert context.tokens == REPLY_PRIMING + 20 + sum(message.tokens for message in messages)


def test_the_newest_turns_that_fit_are_there_whole() -> None:
    context = fitted(
        user("old"), assistant(LONG), user("a"), assistant("b"), user("c"), assistant("d")
    )
    assert context.seqs == (3, 4, 5, 6)


def test_turns_are_contiguous_a_small_old_one_does_not_jump_the_gap() -> None:
    context = fitted(user("tiny"), user("old"), assistant(LONG), user("new"))
    assert context.seqs == (4,)


def test_a_system_message_in_the_window_is_not_repeated() -> None:
    context = fitted(
        system("old rules"), user(), {"role": "developer", "content": "x"}, assistant()
    )
    assert context.messages == (SYSTEM, user(), assistant())


def test_a_given_message_comes_last_and_is_not_stored() -> None:
    context = fitted(user("a"), assistant("b"), given=user("c"))
    assert context.messages[-1] == user("c")
    assert context.seqs == (1, 2)
    assert context.window_tokens == sum(weigh(chat, quarter) for chat in context.messages[1:])


def test_a_given_message_is_the_current_chain_by_itself() -> None:
    context = fitted(user("old"), assistant(LONG), given=user(LONG), budget=500)
    assert context.seqs == ()
    assert "tokens of this message left out" in context.messages[-1]["content"]
    assert context.cuts[0].seq is None


def test_an_unanswered_call_gets_a_result_in_the_context() -> None:
    context = fitted(user(), calling("a"), user("never mind"))
    assert context.messages[2:4] == (calling("a"), result("a", NO_RESULT))


def test_the_newest_call_stays_open_and_is_answered_only_before_the_next_message() -> None:
    assert fitted(user(), calling("a"), system=None).messages == (user(), calling("a"))
    assert fitted(user(), calling("a"), given=user("And?")).messages[-2:] == (
        result("a", NO_RESULT),
        user("And?"),
    )


def test_a_window_may_begin_inside_a_turn() -> None:
    spoken = (calling("b"), result("b"), assistant("done"), user("and?"))
    context = fitted(*spoken, summary="Sarah asked.")
    assert context.messages[2:] == spoken


def test_a_gap_between_the_question_and_the_rest_of_its_chain_is_no_harm() -> None:
    messages = conversation(
        user("start"), *[calling("a"), result("a", "x"), result("b", "orphan")] * 3
    )
    gap = [messages[0], *messages[5:]]
    context = fit(Material(messages=gap, budget=1_000, count=quarter))
    assert context.messages == (user("start"), calling("a"), result("a", "x"))


def test_without_any_message_there_is_the_system_message() -> None:
    assert fitted().messages == (SYSTEM,)


def test_where_no_user_speaks_the_newest_message_stays() -> None:
    context = fitted(assistant(LONG), assistant(LONG * 2), budget=200)
    assert context.seqs == (2,)
    assert "of message 2 left out" in context.messages[-1]["content"]


@pytest.mark.parametrize("missing", [1, 50, 1_000])
def test_a_budget_that_does_not_hold_the_system_message_and_100_tokens_is_refused(
    missing: int,
) -> None:
    rules = system(LONG)
    minimum = weigh(rules, quarter) + 100
    with pytest.raises(BudgetTooSmall) as refused:
        fitted(user(), system=rules, budget=minimum - missing)
    assert refused.value.minimum == minimum
    assert fitted(user(), system=rules, budget=minimum).messages == (rules, user())


def test_a_summary_takes_at_most_a_quarter_and_ends_with_a_sentence() -> None:
    context = fitted(user(), summary="Sarah works in Marketing. " * 100, budget=400)
    assert 70 < context.summary_tokens <= 100
    assert context.messages[1]["content"].endswith("Marketing.")
    assert context.is_summary_cut


def test_a_summary_stays_while_outputs_can_give_way() -> None:
    context = fitted(
        user(), calling("a"), result("a", LONG), summary="Sarah works in Marketing.", budget=200
    )
    assert not context.is_summary_cut
    assert context.summary_tokens > 0
    assert [(cut.seq, cut.part) for cut in context.cuts] == [(3, "content")]


def test_a_summary_gives_way_before_the_newest_user_message_does() -> None:
    question = user("word " * 280)
    context = fitted(question, summary="Sarah works in Marketing. " * 100, budget=450)
    assert context.messages[-1] == question
    assert 0 < context.summary_tokens < 100
    assert context.is_summary_cut


def test_no_summary_at_all_is_better_than_a_word_of_one() -> None:
    question = user("word " * 316)
    context = fitted(question, summary="Sarah works in Marketing. " * 100, budget=420)
    assert context.messages == (SYSTEM, question)
    assert context.is_summary_cut


def test_the_room_that_a_summary_left_is_used() -> None:
    context = fitted(
        user("old"),
        given=user("word " * 316),
        summary="Sarah works in Marketing. " * 100,
        budget=425,
    )
    assert context.messages == (SYSTEM, user("old"), user("word " * 316))


def test_a_message_larger_than_the_budget_is_there_in_parts() -> None:
    context = fitted(user("BEGIN" + LONG * 50 + "END"), budget=150)
    assert context.messages[-1]["content"].startswith("BEGIN")
    assert context.messages[-1]["content"].endswith("END")
    assert 120 < context.tokens <= 150


def test_a_summary_as_tool_call_is_followed_by_the_window() -> None:
    window = conversation(user())
    context = fit(
        Material(
            messages=window,
            summary="Sarah asked.",
            summary_as="tool_call",
            budget=500,
            count=quarter,
        )
    )
    assert [chat["role"] for chat in context.messages] == ["assistant", "tool", "user"]
    assert context.summary_tokens > 2 * MESSAGE_OVERHEAD
