"""What is believed after an end, a correction, or one fact in other words; also of a model's findings."""

from __future__ import annotations

from datetime import datetime

import pytest
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.ports import Extractor
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.meaning.corrections import corrected, correction_of, put_right
from palimpsest.memory.meaning.ends import ends_of
from palimpsest.memory.meaning.slots import means_the_same, slot_of
from palimpsest.memory.meaning.standing import is_order, leans
from palimpsest.memory.versions import Version
from palimpsest.offline.extractor import PatternExtractor

from tests.service import SARAH
from tests.unit.extraction.service import ExtractionService


def told(*said: str, extractor: Extractor | None = None) -> ExtractionService:
    """A service to which these things were said, one after the other."""
    service = ExtractionService()
    service.extractor = extractor or PatternExtractor()
    service.wire_workers()
    for text in said:
        service.say(text)
        service.handle_to_the_end(service.ask())
        service.time.advance(60)
    return service


def versions(service: ExtractionService, *, superseded: bool = False) -> list[Version]:
    manage = service.memories_app.manage_memories
    records, _ = manage.listed(SARAH, where=MemoryFilter(), limit=20, superseded=superseded)
    return [manage.read(SARAH, record.id) for record in records]


def current(service: ExtractionService) -> set[str]:
    return {version.record.content for version in versions(service)}


@pytest.mark.parametrize(
    ("before", "end"),
    [
        ("I live in Hamburg.", "I don't live in Hamburg any more."),
        ("I work at Globex.", "I quit."),
        ("My girlfriend is called Mia.", "We broke up."),
        ("I drive a red Fiat Panda.", "I sold the car."),
        ("I'm vegan.", "I'm no longer vegan."),
        ("I have a gym membership.", "I cancelled the gym."),
        ("I smoke a pack a day.", "Smoking? I gave it up."),
        ("My dog is called Rex.", "Rex died."),
        ("Ich wohne in Mainz.", "Ich wohne nicht mehr in Mainz."),
        ("Ich arbeite bei Bosch.", "Ich habe gekündigt."),
        ("J'habite à Lille.", "Je n'habite plus à Lille."),
        ("Je travaille chez Michelin.", "J'ai démissionné."),
        ("Vivo en Granada.", "Ya no vivo en Granada."),
        ("Tengo una moto Vespa.", "He vendido la Vespa."),
        ("I live in Jena.", "I haven't lived in Jena since March."),
        ("I study at Aston University.", "I haven't studied at Aston since January."),
        ("I have a car.", "I sold the car that I bought in 2019."),
        ("J'ai une Clio grise.", "J'ai vendu la Clio que j'avais."),
        ("Vivo en Soria.", "Desde marzo no vivo en Soria."),
        ("Juego al pádel los jueves.", "No juego al pádel desde mayo."),
        ("the car's a Corsa", "sold the car lol"),
        ("we have an allotment on Cray Road", "gave the allotment back to the council"),
        ("our childminder is Denise", "dont need the childminder any more"),
        ("my son does judo in Montreuil", "my son has stopped judo"),
        ("my daughter is allergic to eggs", "my daughter's egg allergy is gone"),
        ("mon fils fait du judo à Montreuil", "mon fils a arrêté le judo"),
        ("mein Sohn spielt Handball", "mein Sohn hat mit Handball aufgehört"),
        ("mi hija juega al tenis", "mi hija ha dejado el tenis"),
    ],
)
def test_a_statement_of_an_end_ends_what_it_names_and_leaves_its_history(
    before: str, end: str
) -> None:
    service = told(before, end)
    assert current(service) == set()
    (ended,) = versions(service, superseded=True)
    assert (ended.record.content, ended.is_current) == (before, False)
    assert ended.valid_to is not None
    assert ended.valid_to > ended.record.valid_from


@pytest.mark.parametrize(
    ("before", "other"),
    [
        ("I drive a red Fiat Panda.", "I didn't sell the car."),
        ("I work at Globex.", "My brother quit."),
        ("I work at Globex.", "I nearly quit."),
        ("I live in Hamburg.", "I no longer live alone."),
        ("I live in Hamburg.", "I'd sell the flat if I moved out of Hamburg."),
        ("Ich arbeite bei Bosch.", "Meine Kollegin hat gekündigt."),
        ("J'habite à Lille.", "Je n'ai plus de voiture."),
        ("I talk to Tom every day.", "I haven't seen Tom since May."),
        ("I work in Jena.", "I haven't lived in Jena since March."),
        ("my son does judo", "my daughter has stopped judo"),
        ("my daughter is allergic to eggs", "my son's egg allergy is gone"),
    ],
)
def test_an_end_of_something_else_ends_nothing(before: str, other: str) -> None:
    assert before in current(told(before, other))


def test_what_has_ended_may_begin_again() -> None:
    service = told("I live in Hamburg.", "I don't live in Hamburg any more.", "I live in Hamburg.")
    (version,) = versions(service)
    assert (version.record.content, version.number, version.is_current) == (
        "I live in Hamburg.",
        2,
        True,
    )


def test_an_end_beside_the_new_value_is_the_new_value() -> None:
    service = told("I live in Hamburg.", "I don't live in Hamburg, I live in Bremen.")
    assert current(service) == {"I live in Bremen."}


@pytest.mark.parametrize(
    ("before", "new"),
    [
        ("I'm single.", "I've got a boyfriend now, his name is Luca."),
        ("I'm looking for a job.", "I found a job at Bosch!"),
    ],
)
def test_the_state_that_ends_another_is_known(before: str, new: str) -> None:
    assert current(told(before, new)) == {new}


def test_an_end_said_in_the_same_message_ends_it_too() -> None:
    service = told("I work at Acme. I have a dog. I quit my job at Acme.")
    assert current(service) == {"I have a dog."}


@pytest.mark.parametrize(
    ("said", "content"),
    [
        (("My room is called Oak.", "Sorry, not Oak but Maple."), "My room is called Maple."),
        (("Order ten chairs for my shop.", "make it twelve"), "Order twelve chairs for my shop."),
        (("I live in Hambrug.", "*Hamburg"), "I live in Hamburg."),
        (("My cat is called Mimi.", "I meant Momo."), "My cat is called Momo."),
        (("I was born in 1988, sorry, 1989.",), "I was born in 1989."),
        (
            ("My hotel is called Ibis.", "I meant Adler.", "Ibis was right."),
            "My hotel is called Ibis.",
        ),
        (("Mein Hund heißt Bello.", "Quatsch, ich meinte Balu."), "Mein Hund heißt Balu."),
        (("J'habite à Nantes.", "Pardon, je voulais dire Rennes."), "J'habite à Rennes."),
        (("Mi gato se llama Tito.", "No es Tito, es Tino."), "Mi gato se llama Tino."),
        (("the cat is called Bisciut", "*Biscuit"), "the cat is called Biscuit"),
        (("my sister lives in Hull", "no tell a lie, Grimsby"), "my sister lives in Grimsby"),
        (("unser Termin ist im März", "nein, im Juli"), "unser Termin ist im Juli"),
        (("notre médecin est Lemoine", "ah non c'est Lebrun"), "notre médecin est Lebrun"),
        (("mi hija tiene alergia al kiwi", "perdona, al higo"), "mi hija tiene alergia al higo"),
        (("wife's a nurse", "my wife is a nurse"), "wife's a nurse"),
        (("the dog is called Pip", "my dog's name is Pip"), "the dog is called Pip"),
        (("la voiture est une Clio", "ma voiture est une Duster"), "ma voiture est une Duster"),
    ],
)
def test_a_correction_leaves_one_current_memory(said: tuple[str, ...], content: str) -> None:
    assert current(told(*said)) == {content}


def test_a_corrected_month_moves_the_day_of_a_statement() -> None:
    service = told("the car is due its MOT in march", "no, july")
    (version,) = versions(service)
    assert version.record.content == "the car is due its MOT in july"
    assert (version.record.occurs_at or "").endswith("-07-01")


def test_a_bare_correction_is_about_its_own_session() -> None:
    service = ExtractionService()
    service.extractor = PatternExtractor()
    service.wire_workers()
    for session, text in (
        ("s", "The dentist is on Tuesday."),
        ("other", "My yoga class is on Wednesday."),
        ("s", "*Thursday"),
    ):
        service.say(text, session=session)
        service.handle_to_the_end(service.ask(session))
        service.time.advance(60)
    assert current(service) == {"The dentist is on Thursday.", "My yoga class is on Wednesday."}


def test_an_answer_to_a_question_corrects_nothing() -> None:
    service = ExtractionService()
    service.extractor = PatternExtractor()
    service.wire_workers()
    service.put(
        {"role": "user", "content": "My appointment is on Friday."},
        {"role": "assistant", "content": "Which day is the party?"},
        {"role": "user", "content": "No, Monday."},
    )
    service.handle_to_the_end(service.ask())
    assert current(service) == {"My appointment is on Friday."}


def test_a_statement_after_a_refusal_is_no_correction() -> None:
    (content,) = current(told("No steak house please, I'm vegetarian."))
    assert "I'm vegetarian" in content


def test_one_fact_in_five_wordings_is_one_memory() -> None:
    service = told(
        "I live in Kiel.", "My home is Kiel.", "Kiel is where I live.", "I'm based in Kiel.",
        "I'm a resident of Kiel.",
    )  # fmt: skip
    assert current(service) == {"I live in Kiel."}
    said = service.memories.versions(SARAH, "residence")
    assert len({record.source.seqs for record in said}) == len(said) == 5


def test_a_fact_without_a_topic_is_known_in_other_words() -> None:
    assert current(told("I have a dog.", "I own a dog.")) == {"I have a dog."}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I'm in the billing team.", "My department is Search now."),
        ("My flat is in Soho.", "I live in Camden."),
        ("My wife is called Nora.", "My partner's name is Elif."),
        ("Mein Arbeitgeber ist Henkel.", "Ich arbeite jetzt bei Evonik."),
        ("Mi casa está en Toledo.", "Ahora vivo en Cuenca."),
    ],
)
def test_a_topic_is_known_by_its_meaning(one: str, other: str) -> None:
    assert current(told(one, other)) == {other}


def test_where_and_when_somebody_was_born_are_topics_of_their_own() -> None:
    said = ("My birthday is 4 July.", "I was born in Galway.", "I was born in 1988.")
    assert current(told(*said)) == set(said)


@pytest.mark.parametrize(
    "text",
    ["That's our rule.", "I prefer the second one.", "Das ist bei uns so.", "C'est notre règle."],
)
def test_a_sentence_that_needs_its_conversation_leans(text: str) -> None:
    assert leans(text)
    assert current(told(text)) == set()


@pytest.mark.parametrize("text", ["Start with mod_0", "Name it 0042_add_index.sql", "Nenn es A_3."])
def test_an_order_about_what_is_at_hand_is_no_memory(text: str) -> None:
    assert is_order(text)
    assert current(told(text)) == set()


def test_a_sentence_that_stands_alone_does_not_lean() -> None:
    assert not leans("Our rule is that nobody merges on Fridays.")
    assert not leans("I prefer the aisle seat.")


class _Model:
    """A double of a model: it finds what it is told to find in each message."""

    def __init__(self, findings: dict[str, tuple[str, str | None]]) -> None:
        self.findings = findings

    def __call__(self, chunk: object) -> list[Finding]:
        messages = chunk.messages  # type: ignore[attr-defined]
        return [
            Finding(
                "fact", content, (message.seq,), str(message.chat["content"]), topic=topic,
                subject="user", importance=0.8,
            )
            for message in messages
            for content, topic in [self.findings[str(message.chat["content"])]]
        ]  # fmt: skip


def modelled(findings: dict[str, tuple[str, str | None]]) -> ExtractionService:
    """A service with a model's findings, by message."""
    service = ExtractionService()
    for text in findings:
        service.say(text)
        service.extractor.finds = _Model(findings)
        service.ask()
        service.drain()
        service.time.advance(60)
    return service


def test_a_models_findings_end_and_share_topics_by_the_same_rules() -> None:
    service = modelled(
        {
            "home's kiel": ("The user lives in Kiel.", "home_city"),
            "moved": ("The user lives in Bonn.", "place"),
            "left": ("The user no longer lives in Bonn.", "residence"),
            "so it is": ("That's our rule.", None),
        }
    )
    assert current(service) == set()
    assert {version.record.topic_key for version in versions(service, superseded=True)} == {
        "residence"
    }


def test_words_of_ends_values_and_corrections_are_read_from_sentences() -> None:
    assert [end.kind for end in ends_of("We broke up yesterday.")] == ["partner"]
    assert ends_of("If I quit, I'd travel.") == ()
    slot = slot_of("Kiel is where I live.")
    assert slot is not None
    assert (slot.topic, slot.value) == ("residence", ("kiel",))
    assert means_the_same("My home is Kiel.", "I'm based in Kiel.")
    assert not means_the_same("I live in Kiel.", "I live in Bonn.")
    assert means_the_same("I'm a nurse at Acme.", "I am a nurse at Acme.")
    assert not means_the_same("I'm a nurse at Acme.", "I'm a nurse at Globex now.")
    found = correction_of("not Oak but Maple")
    assert found is not None
    assert corrected("My room is Oak.", found) == "My room is Maple."
    assert correction_of("I mean it.") is None
    assert put_right("I like tea.") == "I like tea."


def test_reading_is_fast_whatever_the_text() -> None:
    begun = datetime.now().astimezone()
    for text in ("not " * 75, "a, " * 100, "no " * 100, "I " * 150, "*" * 300, "sorry, " * 42):
        ends_of(text), correction_of(text), slot_of(text), leans(text), put_right(text)
    assert (datetime.now().astimezone() - begun).total_seconds() < 5


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("I live in Ghent, no, in Antwerp, by the river.", "I live in Antwerp, by the river."),
        (
            "I have 15 left in the freezer-no, the cold room, same shelf.",
            "I have 15 left in the cold room, same shelf.",
        ),
        (
            "I've three brothers and, hm, well, actually five if you count Tim.",
            "I've five brothers if you count Tim.",
        ),
        ("Ich ziehe am 3., quatsch, am 5. Mai um.", "Ich ziehe am 5. Mai um."),
        ("Il est né en mars, euh non, en juin 2020.", "Il est né en juin 2020."),
        (
            "I play the oboe, I say oboe but I mean flute, in a band.",
            "I play the flute, in a band.",
        ),
        ("I live in Ghent, no, really, in the middle of it.", None),
        ("I like it here, no, honestly, I do.", None),
    ],
)
def test_a_sentence_that_begins_again_says_what_it_says_last(said: str, meant: str | None) -> None:
    assert put_right(said) == (meant or said)
