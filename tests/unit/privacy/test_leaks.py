"""Secrets and words off the record are looked for in every place that could hold them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palimpsest.errors import Unprocessable
from palimpsest.scope import SessionScope

from tests.service import TENANT
from tests.unit.privacy.hunt import Hunt

BOTH = pytest.mark.parametrize("model", [False, True])
SECRETS = [
    ("My wifi password is Xylophone77, and I live in Bonn.", "Xylophone77", "wifi password Bonn"),
    ("Mein Passwort lautet Zebrafink!42.", "Zebrafink", "Wie lautet mein Passwort?"),
    ("Mon mot de passe est Quokka2031.", "Quokka2031", "Quel est mon mot de passe ?"),
    ("Mi contraseña es Ocelote909.", "Ocelote909", "¿Cuál es mi contraseña?"),
    ("My card is 4111 1111 1111 1111.", "4111 1111", "What is my card number?"),
    ("Use ghp_" + "a1B2" * 9 + " for the repo.", "ghp_a1B2", "Which token for the repo?"),
    ("DATABASE_URL=postgres://app:Wombat5511@db/x", "Wombat5511", "What is the database url?"),
]


@BOTH
@pytest.mark.parametrize(("text", "secret", "question"), SECRETS)
def test_no_place_holds_a_secret(text: str, secret: str, question: str, *, model: bool) -> None:
    hunt = Hunt(model=model)
    hunt.send(
        "s",
        [
            {"role": "user", "content": text},
            {"role": "assistant", "content": f"Got it: {text}"},
            {"role": "user", "content": "My dog is called Rex."},
        ],
    )
    hunt.fold("s")
    assert any("Rex" in text for place, text in hunt.places(question) if place == "summaries")
    assert hunt.leaks(secret, question=question) == []
    assert any("Rex" in content for content in hunt.known())


def test_the_session_itself_sees_its_secret() -> None:
    hunt = Hunt()
    hunt.say("s", "My wifi password is Xylophone77.")
    window = hunt.service.context(TENANT.session("s"))
    assert "Xylophone77" in str(window.messages)


@pytest.mark.parametrize("rule", ["mask", "refuse"])
def test_a_tenant_keeps_secrets_out_of_messages_too(rule: str) -> None:
    hunt = Hunt(settings={"secrets": rule})
    text = "My wifi password is Xylophone77."
    if rule == "refuse":
        with pytest.raises(Unprocessable) as refused:
            hunt.say("s", "Hello.", text)
        assert refused.value.code == "secret_refused"
        assert refused.value.errors[0].field == "messages.1.content"
        with pytest.raises(Unprocessable):
            hunt.ingest([{"role": "user", "content": text}], session="t")
        assert hunt.service.stores.sessions.open(TENANT.session("s")).head is None
        assert hunt.service.stores.sessions.open(TENANT.session("t")).head is None
        return
    hunt.say("s", text)
    hunt.ingest([{"role": "user", "content": text}], session="t")
    hunt.ingest([{"role": "user", "content": text}], session="t")  # the same transcript again
    for session in ("s", "t"):
        assert stored(hunt, session) == ["My wifi password is [secret]."]


def stored(hunt: Hunt, session: str) -> list[str]:
    scope: SessionScope = TENANT.session(session)
    found = hunt.service.stores.sessions.messages(scope, first=1, last=100)
    return [str(message.chat["content"]) for message in found]


OFF_RECORD = [
    ("Off the record, my cousin Quillon owes me money.", "Quillon"),
    ("I'm seeing Doctor Quillon. Please don't remember this.", "Quillon"),
    ("Das bleibt unter uns: Ich treffe Quillon heimlich.", "Quillon"),
    ("Ne retiens pas ça : je fréquente Quillon.", "Quillon"),
    ("No lo recuerdes: salgo con Quillon.", "Quillon"),
]


@BOTH
@pytest.mark.parametrize(
    "wish",
    ["Forget that please. I live in Bonn.", "I owe Quillon money. Forget that. I live in Bonn."],
)
def test_statements_after_a_wish_to_forget_are_known_and_nothing_else_of_it(
    wish: str, *, model: bool
) -> None:
    hunt = Hunt(model=model)
    hunt.send("s", [
        {"role": "user", "content": "I owe Quillon 300 euros."},
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": wish},
        {"role": "assistant", "content": "I forget what you owe Quillon."},
    ])  # fmt: skip
    hunt.fold("s")
    assert hunt.leaks("Quillon", question="Whom do I owe money?") == []
    assert any("Bonn" in content for content in hunt.known())


def test_a_message_that_its_caller_marked_is_not_read_after_a_wish_either() -> None:
    hunt = Hunt()
    hunt.say("s", "I have a cat.")
    hunt.say("s", "Forget that. I live in Bonn.", off_record=True)
    assert hunt.known() == []


@BOTH
@pytest.mark.parametrize(("text", "word"), OFF_RECORD)
def test_no_place_holds_words_off_the_record(text: str, word: str, *, model: bool) -> None:
    hunt = Hunt(model=model)
    hunt.send(
        "s",
        [
            {"role": "user", "content": "My dog is called Rex."},
            {"role": "user", "content": text},
            {"role": "assistant", "content": f"I won't tell anybody about {word}."},
            {"role": "user", "content": "I live in Bonn."},
        ],
    )
    assert word in str(hunt.service.context(TENANT.session("s")).messages)
    hunt.fold("s")
    assert hunt.leaks(word, question="Whom do I see, and who owes me money?") == []
    assert any("Rex" in content for content in hunt.known())
    assert any("Bonn" in content for content in hunt.known())
    assert "Rex" in hunt.summary("s")
    assert "Bonn" in hunt.summary("s")


@BOTH
def test_no_place_holds_a_message_that_is_marked_off_the_record(*, model: bool) -> None:
    hunt = Hunt(model=model)
    hunt.say("s", "I met Quillon in Rome.", off_record=True)
    hunt.say("s", "I live in Bonn.")
    hunt.fold("s")
    assert hunt.leaks("Quillon", question="Whom did I meet in Rome?") == []
    assert any("Bonn" in content for content in hunt.known())
    assert "Bonn" in hunt.summary("s")


@BOTH
def test_a_window_that_is_off_the_record_leaves_no_summary(*, model: bool) -> None:
    hunt = Hunt(model=model)
    hunt.say("s", *[f"Quillon takes hiking route {number}." for number in range(12)],
             off_record=True)  # fmt: skip
    hunt.summarize("s")
    assert hunt.summary("s") == ""
    assert hunt.leaks("Quillon", question="Who takes which route?") == []
    hunt.say("s", "I live in Bonn.", "I like it there.")
    hunt.summarize("s")
    hunt.say("s", "Quillon lives in Rome.", off_record=True)
    hunt.summarize("s")
    before = hunt.summary("s")
    assert "Bonn" in before
    hunt.say("s", "Quillon likes it there.", off_record=True)
    hunt.summarize("s")
    assert hunt.summary("s") == before
    # The context says that neither its window nor its summary has these messages.
    assert hunt.service.context(TENANT.session("s")).omitted is not None
    assert hunt.leaks("Quillon", question="Who takes which route?") == []


@pytest.mark.parametrize("strategy", ["trim", "delete", "flush", "semantic"])
def test_no_other_strategy_passes_on_words_off_the_record(strategy: str) -> None:
    hunt = Hunt(model=True)
    memory = {"max_tokens": 300, **({} if strategy == "semantic" else {"strategy": strategy})}
    settings = hunt.service.stores.tenants.settings(TENANT)
    hunt.service.stores.tenants.replace_settings(TENANT, replace(settings, memory=memory))
    for number in range(5):
        hunt.say("s", f"Quillon takes hiking route {number}. " * 4, off_record=True)
        hunt.say("s", f"I take hiking route {number}. " * 4)
    hunt.say("s", "Quillon waits for me.", off_record=True)
    if strategy == "semantic":
        hunt.service.prune(TENANT.session("s"), strategy="semantic", max_tokens=100)
        hunt.work()
    assert hunt.head("s").window_start > 1
    assert hunt.leaks("Quillon", question="Who takes which route?") == []


@BOTH
@pytest.mark.parametrize(
    "wish",
    ["Forget what I just said.", "Please don't remember that.", "Vergiss, was ich gerade gesagt habe.",
     "Oublie ce que je viens de dire.", "Olvida lo que acabo de decir."],
)  # fmt: skip
def test_what_was_made_of_words_is_taken_back_with_them(wish: str, *, model: bool) -> None:
    hunt = Hunt(model=model)
    hunt.say("s", "My dog is called Rex.")
    hunt.say("s", "I work with Quillon at Acme.")
    hunt.say("s", "Quillon sounds nice.", role="assistant")
    assert any("Quillon" in content for content in hunt.known())
    assert "quillon" in dict(hunt.places("Quillon"))["index"]
    hunt.say("s", wish)
    hunt.embedder.asked.clear()
    hunt.chat.read.clear()
    hunt.reranker.read.clear()
    assert "Quillon" in str(hunt.service.context(TENANT.session("s")).messages)
    hunt.fold("s")
    assert hunt.leaks("Quillon", question="Whom do I work with?") == []
    assert any("Rex" in content for content in hunt.known())
    assert "Rex" in hunt.summary("s")


@BOTH
def test_a_summary_of_words_that_are_taken_back_goes_with_them(*, model: bool) -> None:
    hunt = Hunt(model=model)
    hunt.say("s", "My dog is called Rex.")
    hunt.summarize("s")
    hunt.say("s", "I work with Quillon at Acme.")
    hunt.say("s", "Ok.")
    hunt.summarize("s")
    assert "Quillon" in hunt.summary("s")
    hunt.say("s", "Forget what I just said.")
    assert "Quillon" not in hunt.summary("s")
    hunt.embedder.asked.clear()
    hunt.chat.read.clear()
    hunt.reranker.read.clear()
    assert hunt.leaks("Quillon", question="Whom do I work with?") == []
    assert "Rex" in str(hunt.service.context(TENANT.session("s")).messages)
    assert "Quillon" in str(hunt.service.context(TENANT.session("s")).messages)


def test_a_wish_that_only_sounds_alike_takes_nothing_back() -> None:
    hunt = Hunt()
    hunt.say("s", "I live in Bonn.")
    hunt.say("s", "Don't forget that my dog is called Rex.")
    hunt.say("s", "Forget it, let's go on with the trip.")
    hunt.say("s", "I bought an off the record player at the fair.")
    assert any("Bonn" in content for content in hunt.known())
    assert any("Rex" in content for content in hunt.known())


def test_what_a_statement_displaced_is_known_again_when_it_is_taken_back() -> None:
    hunt = Hunt()
    hunt.say("s", "I live in Bonn.")
    hunt.later()
    hunt.say("s", "I live in Trondheim.")
    assert hunt.known() == ["I live in Trondheim."]
    hunt.say("s", "Forget what I just said.")
    assert hunt.known() == ["I live in Bonn."]
    assert hunt.leaks("Trondheim", question="Where do I live?", besides=("embedded texts",)) == []
    assert "Bonn" in dict(hunt.places("Where do I live?"))["recall"]
