"""What a user has deleted stays deleted, wherever its words come from; said again, it is new."""

from __future__ import annotations

from typing import Any

import pytest
from palimpsest.clock import stamp
from palimpsest.memory.removal.sources import MOST_SESSIONS
from palimpsest.models.ports import Completion

from tests.service import SARAH, TENANT
from tests.unit.privacy.hunt import Hunt

BOTH = pytest.mark.parametrize("model", [False, True])
HOMES = [
    ("I live in Kiel.", "Kiel", "Where do I live?", "I live in Kiel with two cats."),
    ("Ich wohne in Kiel.", "Kiel", "Wo wohne ich?", "Mein Wohnort ist Kiel."),
    ("J'habite à Brest.", "Brest", "Où est-ce que j'habite ?", "J'habite maintenant à Brest."),
    ("Vivo en Cádiz.", "Cádiz", "¿Dónde vivo?", "Ahora vivo en Cádiz."),
    ("I'm allergic to walnuts.", "walnut", "What am I allergic to?", "I am allergic to walnuts!"),
    ("My locker number is 7741.", "7741", "What is my locker number?", "My locker number is 7741"),
]


def told(text: str, *, answer: str | None = None, **more: Any) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "Hi! My dog is called Rex.", **more},
        {"role": "assistant", "content": "What a nice name.", **more},
        {"role": "user", "content": text, **more},
        {"role": "assistant", "content": answer or f"Noted: {text}", **more},
    ]


def forget_heard(hunt: Hunt) -> None:
    """What was sent to models before the deletion is no leak."""
    hunt.embedder.asked.clear()
    hunt.chat.read.clear()
    hunt.reranker.read.clear()


def deleted(text: str, word: str, *, model: bool = False) -> Hunt:
    hunt = Hunt(model=model)
    hunt.send("s", told(text))
    hunt.later()
    assert any(word in content for content in hunt.known()), hunt.known()
    hunt.receipt = hunt.service.manage_memories.delete(SARAH, hunt.id_of(word))
    hunt.work()
    forget_heard(hunt)
    return hunt


@BOTH
@pytest.mark.parametrize(("text", "word", "question", "other"), HOMES)
def test_a_deleted_memory_is_in_no_place(
    text: str, word: str, question: str, other: str, *, model: bool
) -> None:
    del other
    hunt = deleted(text, word, model=model)
    assert word in str(hunt.service.context(TENANT.session("s")).messages)
    hunt.fold("s")
    assert hunt.leaks(word, question=question) == []
    assert any("Rex" in content for content in hunt.known())
    assert "Rex" in str(list(hunt.places("What is my dog called?")))
    assert "Rex" in hunt.summary("s")
    assert [stored.seq for stored in messages(hunt, "s") if stored.hidden] == [3, 4]
    assert len(hunt.receipt.message_ids) == 2


@BOTH
@pytest.mark.parametrize(("text", "word", "question", "other"), HOMES)
def test_a_summary_with_the_words_of_a_deleted_memory_goes_with_it(
    text: str, word: str, question: str, other: str, *, model: bool
) -> None:
    del other
    hunt = Hunt(model=model)
    hunt.send("s", told(text))
    hunt.fold("s")
    hunt.fold("s")
    assert word in hunt.summary("s")
    hunt.service.manage_memories.delete(SARAH, hunt.id_of(word))
    hunt.work()
    forget_heard(hunt)
    assert word not in hunt.summary("s")
    assert word in str(hunt.service.context(TENANT.session("s")).messages)
    hunt.summarize("s")
    assert hunt.leaks(word, question=question) == []
    assert "Rex" in hunt.summary("s")


def test_a_summary_that_is_made_during_a_deletion_goes_with_the_memory() -> None:
    hunt = Hunt(model=True)
    hunt.send("s", told("I live in Kiel."))
    complete, home = hunt.chat.complete, [hunt.id_of("Kiel")]

    def meanwhile(**asked: Any) -> Completion:
        for memory in home:
            home.clear()
            hunt.service.manage_memories.delete(SARAH, memory)
        return complete(**asked)

    hunt.chat.complete = meanwhile  # type: ignore[method-assign]
    hunt.say("s", "We talk about hiking routes.")
    hunt.summarize("s")
    assert home == []
    assert "Kiel" in "".join(hunt.chat.read)
    forget_heard(hunt)
    hunt.summarize("s")
    assert "Rex" in hunt.summary("s")
    assert hunt.leaks("Kiel", question="Where do I live?") == []


def messages(hunt: Hunt, session: str) -> Any:
    return hunt.service.stores.sessions.messages(TENANT.session(session), first=1, last=100)


@BOTH
@pytest.mark.parametrize(("text", "word", "question", "other"), HOMES)
def test_old_transcripts_do_not_bring_it_back(
    text: str, word: str, question: str, other: str, *, model: bool
) -> None:
    hunt = Hunt(model=model)
    said = stamp(hunt.clock.now())
    hunt.ingest(told(text, timestamp=said), session="s")
    hunt.later()
    hunt.service.manage_memories.delete(SARAH, hunt.id_of(word))
    hunt.work()
    forget_heard(hunt)
    hunt.later()
    hunt.ingest(told(text, timestamp=said), session="t")  # under another id
    hunt.ingest(told(text, timestamp=said))  # under none
    hunt.ingest(told(text), session="u")  # nobody knows when it was said
    hunt.send("v", told(other, timestamp=said, answer="I see."))  # in other words
    assert hunt.service.extract is not None
    hunt.service.extract(TENANT.session("s"))
    hunt.work()
    assert [content for content in hunt.known() if word.casefold() in content.casefold()] == []
    assert hunt.leaks(word, question=question) == []


@BOTH
@pytest.mark.parametrize(("text", "word", "question", "other"), HOMES)
def test_said_again_it_is_a_new_memory(
    text: str, word: str, question: str, other: str, *, model: bool
) -> None:
    hunt = deleted(text, word, model=model)
    hunt.later()
    hunt.say("t", text)
    assert any(word in content for content in hunt.known())
    found = dict(hunt.places(question))
    assert word.casefold() in found["recall"].casefold()
    hunt.later()
    again = deleted(text, word, model=model)
    again.later()
    now = stamp(again.clock.now())
    again.ingest(told(other, timestamp=now), session="t")
    assert any(word.casefold() in content.casefold() for content in again.known())


def test_another_fact_with_the_same_words_stays() -> None:
    hunt = Hunt()
    hunt.say("s", "I live in Kiel.")
    hunt.say("s", "My sister lives in Kiel.")
    hunt.say("s", "I study medicine in Kiel.")
    hunt.later()
    mine = next(one for one in hunt.known() if one.startswith("I live"))
    hunt.service.manage_memories.delete(SARAH, hunt.id_of(mine))
    hunt.work()
    hunt.ingest([{"role": "user", "content": "My sister lives in Kiel.",
                  "timestamp": "2026-01-05T09:00:00Z"}], session="t")  # fmt: skip
    known = " ".join(hunt.known())
    assert "sister" in known
    assert "medicine" in known
    assert "I live in Kiel" not in known


def test_forgetting_by_a_filter_hides_the_words_as_well() -> None:
    from palimpsest.memory.filters import MemoryFilter

    hunt = Hunt()
    hunt.send("s", told("I live in Kiel."))
    hunt.later()
    hunt.service.forget(SARAH, MemoryFilter(topic="residence"))
    hunt.work()
    forget_heard(hunt)
    hunt.ingest(told("I live in Kiel.", timestamp="2026-01-05T09:00:00Z"), session="t")
    assert hunt.leaks("Kiel", question="Where do I live?") == []
    assert any("Rex" in content for content in hunt.known())


def test_an_erased_user_leaves_no_traces_of_deletions() -> None:
    hunt = deleted("I live in Kiel.", "Kiel")
    assert hunt.service.stores.memories.burials(SARAH)
    hunt.service.erase(SARAH)
    hunt.work()
    assert hunt.service.stores.memories.burials(SARAH) == ()


def test_the_trace_of_a_deletion_has_no_words() -> None:
    hunt = deleted("I live in Kiel.", "Kiel")
    (burial,) = hunt.service.stores.memories.burials(SARAH)
    assert "kiel" not in str(burial).casefold()
    assert "live" not in str(burial).casefold()


def test_an_import_from_another_product_leaves_out_what_was_deleted_since() -> None:
    hunt = deleted("I live in Kiel.", "Kiel")
    rows = [
        {"memory": "Lives in Kiel", "created_at": "2026-01-04T09:00:00Z"},
        {"memory": "I live in Kiel.", "created_at": "2026-01-04T09:00:00Z"},
        {"memory": "Plays the oboe", "created_at": "2026-01-04T09:00:00Z"},
    ]
    assert hunt.service.import_foreign.mem0(SARAH, rows)["deleted"] == 2
    assert any("oboe" in content for content in hunt.known())
    assert not any("Kiel" in content for content in hunt.known())


def test_an_earlier_wording_of_a_deleted_memory_goes_with_it() -> None:
    hunt = Hunt()
    hunt.say("s", "I live in Kiel.")
    hunt.say("s", "I live in Kiel, as I said.")
    hunt.later()
    hunt.service.manage_memories.delete(SARAH, hunt.id_of("Kiel"))
    hunt.work()
    forget_heard(hunt)
    assert hunt.leaks("Kiel", question="Where do I live?") == []


def test_an_earlier_value_stays_in_the_history_of_a_deleted_memory() -> None:
    hunt = Hunt()
    hunt.say("s", "I live in Kiel.")
    hunt.later()
    hunt.say("s", "I live in Bonn.")
    hunt.service.manage_memories.delete(SARAH, hunt.id_of("Bonn"))
    found = hunt.service.stores.memories.versions(SARAH, "residence")
    assert [each.content for each in found] == ["I live in Kiel."]


@pytest.mark.parametrize(
    ("said", "again", "word"),
    [
        ("My dog is called Rufus.", "btw my dog is called Rufus and he's a beagle", "Rufus"),
        ("Ich habe Asthma.", "Übrigens habe ich Asthma seit der Kindheit.", "Asthma"),
        ("Trabajo en Zara.", "Hola, trabajo en Zara desde 2019.", "Zara"),
    ],
)
def test_an_old_statement_that_contains_a_deleted_one_stays_deleted(
    said: str, again: str, word: str
) -> None:
    hunt = Hunt(model=False)
    hunt.send("s", [{"role": "user", "content": said}])
    hunt.later()
    assert any(word in content for content in hunt.known())
    hunt.service.manage_memories.delete(SARAH, hunt.id_of(word))
    hunt.work()
    hunt.send("t", [{"role": "user", "content": again, "timestamp": "2020-01-01T00:00:00Z"}])
    hunt.later()
    assert not any(word in content for content in hunt.known())


PARAPHRASES = [
    ("My daughter's name is Mia.", "Mia", "Mia starts school in August."),
    ("I take sertraline for anxiety.", "sertraline", "My sertraline dose went up to 100 mg."),
    ("My salary is 74,000 euros.", "74,000", "They pay me 74000 euros a year, I told you."),
    ("My husband Tom has cancer.", "cancer", "My husband is in chemo for his cancer."),
    ("Mein Chef heißt Bernd.", "Bernd", "Bernd ist mein Chef."),
    ("J'ai un fils qui s'appelle Léo.", "Léo", "Mon fils Léo a six ans."),
    ("Tengo diabetes.", "diabetes", "Mi diabetes es de tipo 1."),
]
WITHOUT_A_SHARED_WORD = [
    ("I'm a vegetarian.", "vegetarian", "I don't eat meat."),
    ("I'm vegan.", "vegan", "I never eat animal products."),
    ("I'm a vegetarian.", "vegetarian", "Ich esse kein Fleisch."),
    ("I don't drink alcohol.", "alcohol", "I've been sober for two years."),
    ("I have diabetes.", "diabetes", "I inject insulin every evening."),
    ("Ich bin arbeitslos.", "arbeitslos", "Ich habe meinen Job verloren."),
    ("J'ai un cancer.", "cancer", "Je commence ma chimio lundi."),
    ("Estoy embarazada.", "embarazada", "Esperamos un bebé para mayo."),
]
OUTDATED = [
    ("I live in Kiel.", "Kiel", "I live in Bonn."),
    ("Ich arbeite bei Siemens.", "Siemens", "Ich arbeite bei Bosch."),
]
OTHERS = [
    ("I have diabetes.", "diabetes", "I have asthma.", "asthma"),
    ("I'm a vegetarian.", "vegetarian", "My brother doesn't eat meat.", "brother"),
    ("I live in Kiel.", "Kiel", "My sister lives in Bonn.", "Bonn"),
    ("I live in Kiel.", "Kiel", "I work in Kiel.", "work in Kiel"),
    ("I'm allergic to peanuts.", "peanut", "I'm allergic to pollen.", "pollen"),
    ("My boss is called Ruth.", "Ruth", "My boss is strict.", "strict"),
    ("Meine Tochter heißt Frieda.", "Frieda", "Meine Tochter spielt Geige.", "Geige"),
    ("Je prends du lithium.", "lithium", "Je prends le bus.", "bus"),
]


def known_after_an_old_message(said: str, word: str, old: str) -> list[str]:
    """What is known after a memory was deleted and an older message came in."""
    hunt = Hunt(model=False)
    hunt.send("s", [{"role": "user", "content": said}])
    hunt.later()
    hunt.service.manage_memories.delete(SARAH, hunt.id_of(word))
    hunt.work()
    hunt.send("t", [{"role": "user", "content": old, "timestamp": "2020-01-01T00:00:00Z"}])
    hunt.later()
    return list(hunt.known())


@pytest.mark.parametrize(("said", "word", "old"), [*PARAPHRASES, *WITHOUT_A_SHARED_WORD])
def test_an_old_statement_in_other_words_stays_deleted(said: str, word: str, old: str) -> None:
    assert known_after_an_old_message(said, word, old) == []


@pytest.mark.parametrize(("said", "word", "old", "known"), OTHERS)
def test_an_old_statement_of_something_else_is_known(
    said: str, word: str, old: str, known: str
) -> None:
    assert known in " ".join(known_after_an_old_message(said, word, old))


@pytest.mark.parametrize(("said", "word", "old"), OUTDATED)
def test_an_earlier_value_of_a_deleted_topic_is_not_learned_anew(
    said: str, word: str, old: str
) -> None:
    assert known_after_an_old_message(said, word, old) == []


def test_a_value_between_the_deleted_statement_and_its_deletion_is_known() -> None:
    hunt = Hunt(model=False)
    hunt.send("s", [{"role": "user", "content": "I live in Kiel."}])
    hunt.later()
    between = stamp(hunt.clock.now())
    hunt.later()
    hunt.service.manage_memories.delete(SARAH, hunt.id_of("Kiel"))
    hunt.work()
    hunt.send("t", [{"role": "user", "content": "I live in Bonn.", "timestamp": between}])
    hunt.later()
    assert list(hunt.known()) == ["I live in Bonn."]


def test_said_later_in_other_words_it_is_a_new_memory() -> None:
    hunt = Hunt(model=False)
    hunt.send("s", [{"role": "user", "content": "I'm a vegetarian."}])
    hunt.later()
    hunt.service.manage_memories.delete(SARAH, hunt.id_of("vegetarian"))
    hunt.work()
    hunt.later()
    hunt.send("t", [{"role": "user", "content": "I don't eat meat."}])
    hunt.later()
    assert list(hunt.known()) == ["I don't eat meat."]


ELSEWHERE = [
    (HOMES[0], "Any good cafes?", "Since you live in Kiel, try Colonna. It opens at nine."),
    (HOMES[0], "Any good cafes?", "As you're based in Kiel, try Colonna. It opens at nine."),
    (HOMES[1], "Wo gibt es Kaffee?", "Da du in Kiel wohnst, probier Colonna. Es öffnet um neun."),
    (HOMES[2], "Un bon café ?", "Comme vous habitez à Brest, allez chez Colonna. C'est bon."),
    (HOMES[3], "¿Un buen café?", "Como vives en Cádiz, prueba Colonna. Abre a las nueve."),
]


@pytest.mark.parametrize(("home", "asked", "answer"), ELSEWHERE)
def test_an_answer_of_another_session_that_repeats_a_deleted_memory_is_hidden(
    home: tuple[str, str, str, str], asked: str, answer: str
) -> None:
    text, word, question, _ = home
    hunt = Hunt()
    hunt.send("s", told(text))
    hunt.later()
    hunt.send("t", [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}])
    hunt.later()
    receipt = hunt.service.manage_memories.delete(SARAH, hunt.id_of(word))
    hunt.work()
    forget_heard(hunt)
    assert [(session, seq) for session, seq, _ in receipt.messages if session == "t"] == [("t", 2)]
    assert word in str(hunt.service.context(TENANT.session("t")).messages)
    assert not hunt.leaks(word, question=question)


def test_an_answer_that_only_names_the_same_place_stays() -> None:
    hunt = Hunt()
    hunt.send("s", told("I live in Kiel."))
    hunt.later()
    talk = "Kiel is a city on the Baltic Sea."
    hunt.send(
        "t",
        [{"role": "user", "content": "Which city is it?"}, {"role": "assistant", "content": talk}],
    )
    receipt = hunt.service.manage_memories.delete(SARAH, hunt.id_of("Kiel"))
    assert not [seq for session, seq, _ in receipt.messages if session == "t"]


def test_a_deletion_reads_a_bounded_number_of_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    hunt = Hunt()
    hunt.send("s", told("I live in Kiel."))
    for number in range(MOST_SESSIONS + 5):
        hunt.send(f"t{number}", [{"role": "user", "content": "Hello."}])
    sessions = hunt.service.manage_memories.hides.sessions  # type: ignore[attr-defined]
    read: list[str] = []
    messages = type(sessions).messages

    def counted(store: Any, scope: Any, **options: Any) -> Any:
        read.append(scope.session)
        return messages(store, scope, **options)

    monkeypatch.setattr(type(sessions), "messages", counted)
    hunt.service.manage_memories.delete(SARAH, hunt.id_of("Kiel"))
    assert len(read) == len(set(read)) == MOST_SESSIONS
