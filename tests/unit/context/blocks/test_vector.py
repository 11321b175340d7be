"""The vector block: past interactions that resemble a message, where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from palimpsest.context.blocks.ports import Item, Shows
from palimpsest.context.blocks.vectors import VectorMemory, without_like_questions
from palimpsest.errors import ReadOnlyBlock, Unavailable
from palimpsest.scope import UserScope

from tests.unit.context.blocks.remembered import SARAH, conversation


@dataclass
class Resembles:
    scores: Sequence[float] = (0.9, 0.5, 0.1)
    failure: Exception | None = None
    asked: list[tuple[UserScope, str, int, float | None]] = field(default_factory=list)

    def __call__(
        self, owner: UserScope, text: str, *, k: int, least: float | None, shows: Shows | None
    ) -> list[Item]:
        self.asked.append((owner, text, k, least))
        if self.failure:
            raise self.failure
        near = [score for score in self.scores if score >= (0.15 if least is None else least)]
        return [Item(id=f"m{score}", kind="message", text="said", score=score) for score in near]


def with_block(**fields: object) -> dict[str, Any]:
    return {"blocks": [{"type": "vector", **fields}]}


def test_what_resembles_the_message_is_found_for_its_user() -> None:
    resembles = Resembles()
    found = VectorMemory(resembles).get(conversation(**with_block(k=2)), "Where did I park?")
    assert [item.id for item in found.items] == ["m0.9", "m0.5"]  # 0.1 is not near enough
    assert found.max_items == 2
    ((owner, text, k, least),) = resembles.asked
    assert (owner, text, least) == (SARAH, "Where did I park?", None)
    assert k > 2  # the window's own messages are among the nearest, and are not repeated


@pytest.mark.parametrize("message", [None, "", " \n"])
def test_without_a_message_nobody_is_asked(message: str | None) -> None:
    resembles = Resembles()
    assert VectorMemory(resembles).get(conversation(), message).items == ()
    assert resembles.asked == []


def test_what_is_not_near_enough_is_left_out() -> None:
    found = VectorMemory(Resembles()).get(conversation(**with_block(min_score=0.6)), "Hello")
    assert [item.score for item in found.items] == [0.9]
    everything = VectorMemory(Resembles()).get(conversation(**with_block(min_score=-1)), "Hello")
    assert [item.score for item in everything.items] == [0.9, 0.5, 0.1]


def test_a_search_that_fails_is_not_a_user_who_said_nothing() -> None:
    with pytest.raises(Unavailable):
        VectorMemory(Resembles(failure=Unavailable("down"))).get(conversation(), "Hello")


def test_without_more_a_conversation_changes_nothing_from_here() -> None:
    memory = VectorMemory(Resembles())
    with pytest.raises(ReadOnlyBlock):
        memory.update(conversation(), "Hello")
    with pytest.raises(ReadOnlyBlock):
        memory.delete(conversation())


def questions(*texts: str) -> list[Item]:
    return [
        Item(id=f"m{number}", kind="message", text=text, score=0.9, speaker="user")
        for number, text in enumerate(texts)
    ]


def test_of_the_users_questions_of_one_kind_the_nearest_is_shown() -> None:
    said = questions(
        "Would a table help the tender, or is prose better for insurance?",
        "Would a table help the roster, or is prose better for signage?",
        "A table helps the roster.",
        "Who prints the brochure?",
    )
    assert without_like_questions(said) == [said[0], *said[2:]]
    answers = [replace(item, speaker="assistant") for item in said]
    assert without_like_questions(answers) == answers


def test_other_messages_do_not_take_the_place_of_a_question_of_the_same_kind() -> None:
    like = questions("Does the train to Bonn stop?", "Does the train to Rome stop?", "It stops.")
    block = VectorMemory(lambda *_, **__: like)
    found = block.get(conversation(**with_block(k=2)), "Does the train to Oslo stop?")
    assert [item.text for item in found.items] == [like[0].text, like[2].text]
    assert found.max_items == 1
