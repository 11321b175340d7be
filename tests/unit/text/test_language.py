"""A text is read by the rules of its language: its stems and its function words."""

import pytest
from palimpsest.text.analyser import (
    content_terms,
    content_words,
    document_terms,
    own_words,
    query_terms,
    term_set,
    words,
)
from palimpsest.text.language import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wo wohne ich?", "de"),
        ("Mein Hund heißt Rex", "de"),
        ("J'habite à Lyon avec mes enfants", "fr"),
        ("Vivo en Sevilla con mi hermana", "es"),
        ("¿Dónde vivo ahora?", "es"),
        ("Which hat did I buy in the war?", "en"),
        ("Hannah lives in Hamburg", "en"),
        ("Rex", "en"),
        ("Was habe ich am 1. März gemacht?", "de"),
        ("Was I in Rome?", "en"),
        ("私の犬", "en"),
    ],
)
def test_a_text_has_the_language_of_its_common_words(text: str, language: str) -> None:
    assert language_of(words(text)) == language


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Welche Wohnung haben wir gesehen?", "Wir haben die Wohnungen in Altona gesehen."),
        ("Quel cheval est-ce que j'aime ?", "J'aime les chevaux de ma sœur."),
        ("¿Qué canción me gusta?", "Me gustan las canciones de mi abuela."),
    ],
)
def test_a_word_is_found_in_another_form(question: str, text: str) -> None:
    shared = set(content_terms(question)) & term_set(text)
    assert shared.difference(words(text)), "a stem that is not the word itself"
    assert set(query_terms(question).words) & set(document_terms(text).words) >= shared


def test_an_english_question_finds_the_names_of_a_text_in_another_language() -> None:
    text = "Ich habe Wohnungen bei Marie in Altona gesehen, und sie war sehr nett."
    assert set(content_terms("Where does Marie live in Altona?")) & term_set(text) == {
        "mari",
        "altona",
    }


def test_only_function_words_of_its_own_language_are_left_out() -> None:
    assert content_terms("Which hat did I buy in the war?") == ("hat", "buy", "war")
    assert "hat" not in content_terms("Wo hat er die Wohnung gesehen?")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Que ne doit pas manger son épouse ?", ["mang", "epous"]),
        ("¿De qué equipo de fútbol es?", ["equip", "futbol"]),
        ("Wohin geht es diesen Sommer in die Ferien?", ["somm", "feri"]),
        ("Wie soll man ihr antworten?", ["antwort"]),
    ],
)
def test_a_question_in_another_language_has_each_of_its_words_once(
    question: str, said: list[str]
) -> None:
    assert [stems[-1] for stems in content_words(question)] == said


def test_a_text_of_stop_words_alone_has_no_words_of_its_own() -> None:
    assert own_words("Wo war ich denn da?") == ()
    assert content_words("Wo war ich denn da?") != ()
    assert own_words("My dog again", besides={"again"}) == (("dog",),)
