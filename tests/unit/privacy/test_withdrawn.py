"""What a user said in messages that were withdrawn is known no longer, and may be said again."""

from __future__ import annotations

import pytest
from palimpsest.api.resources.messages.shapes import AppendRequest

from tests.service import SARAH, TENANT
from tests.unit.privacy.hunt import Hunt

BOTH = pytest.mark.parametrize("model", [False, True])


def withdraw(hunt: Hunt, first: int) -> None:
    hunt.service.history.withdraw(TENANT.session("s"), first=first)
    hunt.work()
    hunt.embedder.asked.clear()
    hunt.chat.read.clear()
    hunt.reranker.read.clear()


@BOTH
def test_nothing_is_left_of_withdrawn_messages(*, model: bool) -> None:
    hunt = Hunt(model=model)
    hunt.say("s", "My dog is called Rex.")
    hunt.say("s", "I work with Quillon at Acme.")
    hunt.say("s", "Quillon sounds nice.", role="assistant")
    hunt.summarize("s")
    assert any("Quillon" in content for content in hunt.known())
    withdraw(hunt, 2)
    assert hunt.leaks("Quillon", question="Whom do I work with?") == []
    assert "Quillon" not in str(hunt.service.context(TENANT.session("s")).messages)
    assert hunt.known()[-1] == "My dog is called Rex."


def test_what_a_withdrawn_statement_displaced_is_known_again() -> None:
    hunt = Hunt()
    hunt.say("s", "I live in Bonn.")
    hunt.later()
    hunt.say("s", "I live in Kiel.")
    hunt.later()
    hunt.say("s", "I live in Trondheim.")
    assert hunt.known() == ["I live in Trondheim."]
    withdraw(hunt, 2)
    assert hunt.known() == ["I live in Bonn."]


def test_what_was_also_said_in_a_message_that_stays_is_still_known() -> None:
    hunt = Hunt()
    hunt.say("s", "I live in Bonn.", "I play the cello.")
    hunt.say("t", "I like tea.")
    hunt.say("s", "I live in Bonn.", "I play the cello.", "I like tea.")
    withdraw(hunt, 3)
    assert sorted(hunt.known()) == ["I like tea.", "I live in Bonn.", "I play the cello."]


def test_withdrawn_messages_that_are_appended_again_are_known_again() -> None:
    hunt = Hunt()
    said = "2026-01-02T09:00:00Z"
    hunt.say("s", "I play the cello.", "I live in Bonn.", timestamp=said)
    withdraw(hunt, 1)
    assert hunt.known() == []
    hunt.later()
    hunt.say("s", "I play the cello.", "I live in Kiel.", timestamp=said)
    assert sorted(hunt.known()) == ["I live in Kiel.", "I play the cello."]


def test_messages_before_the_withdrawn_ones_are_extracted_later() -> None:
    hunt = Hunt()
    body = AppendRequest.model_validate(
        {"messages": [{"role": "user", "content": text} for text in ("I play the cello.", "Bonn.")]}
    )
    hunt.service.append(TENANT.session("s"), body.messages, user=SARAH.user)
    withdraw(hunt, 2)
    hunt.say("s", "Good night.")
    assert "I play the cello." in hunt.known()
