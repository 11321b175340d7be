"""The words of each language are data that a speaker of the language can add to."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Len
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from palimpsest.offline import phrases
from palimpsest.text import salience
from palimpsest.text.matching import pattern_of, triggers_in
from palimpsest.text.triggers import Triggers, lowered
from palimpsest.text.word_files import SHARED, filled, filled_words, word_files
from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError

TEXT, OFFLINE = "palimpsest.text", "palimpsest.offline"


def distinct(words: list[Any]) -> list[Any]:
    twice = [word for number, word in enumerate(words) if word in words[:number]]
    assert not twice, f"listed twice: {twice}"
    return words


Word = Annotated[str, StringConstraints(pattern=r"^\S(.*\S)?$")]


def in_lower_case(word: str) -> str:
    assert word == word.lower(), "a text is in lower case where the word is looked for"
    return word


Lower = Annotated[Word, AfterValidator(in_lower_case)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


Trigger = Annotated[
    str,
    StringConstraints(pattern=r"^(?:\{[a-z_]+\}|[^\W_]+|[^\W_]{3,}\*)$"),
    AfterValidator(in_lower_case),
]


class Phrase(Strict):
    pattern: str
    words: Annotated[list[Trigger], AfterValidator(distinct)] = []


Entries = Annotated[list[Lower | Phrase], AfterValidator(distinct)]
Words = Annotated[list[Lower], AfterValidator(distinct)]


Directed = dict[Literal["-1", "1"], Annotated[list[str], AfterValidator(distinct)]]
Distances = dict[Literal["-2", "-1", "0", "1", "2"], Annotated[list[str], AfterValidator(distinct)]]
Unit = Literal["day", "week", "month", "year"]


class DateWords(Strict):
    fixed: dict[Unit, Distances]
    units: dict[Unit, list[str]]
    numbers: dict[Annotated[str, StringConstraints(pattern=r"^\d+$")], Words] = {}
    counted: Directed = {}
    weekdays: Annotated[list[Words], Len(7, 7)]
    on_weekday: Directed = {}
    in_weeks: Directed = {}
    months: Annotated[list[Words], Len(12, 12)] | None = None


class TextWords(Strict):
    joins_words: bool = False
    who_the_user_is: Annotated[list[Phrase], AfterValidator(distinct)] = []
    filler: Entries = []
    short_answer: Entries = []
    first_person: Entries = []
    number_words: Entries = []
    settled: Entries = []
    the_past: Entries = []
    asks_again: Entries = []
    asks_the_assistant: Entries = []
    asking_words: Words = []
    asks_for: dict[Literal["number", "day", "name"], Entries] = {}
    date_words: Words = []
    question_words: Entries = []
    question_leads: Entries = []
    function_words: Words = []
    stop_words: Words = []
    common_words: Words = []
    empty_words: Words = []
    what_happened: Words = []
    inflections: Annotated[list[tuple[str, str]], AfterValidator(distinct)] = []
    topics: dict[str, Words] = {}
    spelling: dict[Lower, Lower] = {}
    dates: DateWords | None = None


class Answer(Strict):
    question: str
    answer: str
    statement: str


class OfflineWords(Strict):
    answers: Annotated[list[Answer], AfterValidator(distinct)] = []
    lists: dict[str, Annotated[list[Word], AfterValidator(distinct)]] = {}
    parts: dict[str, str] = {}
    phrases: dict[str, Annotated[list[Phrase], AfterValidator(distinct)]] = {}
    not_what: Words = []


SCHEMAS: dict[str, type[BaseModel]] = {TEXT: TextWords, OFFLINE: OfflineWords}
FILES = [(package, name) for package in SCHEMAS for name in word_files(package)]


@pytest.mark.parametrize(("package", "language"), FILES)
def test_a_word_file_has_only_known_fields_and_each_word_once(package: str, language: str) -> None:
    text = resources.files(package).joinpath("words", f"{language}.json").read_text()
    SCHEMAS[package].model_validate_json(text)


@pytest.mark.parametrize(
    "trigger", ["two words", "do*", "Live", "don't", "*ing"], ids=lambda trigger: f"<{trigger}>"
)
def test_a_trigger_that_would_never_be_found_is_refused(trigger: str) -> None:
    with pytest.raises(ValidationError):
        Phrase(pattern="x", words=[trigger])


def test_a_kind_of_statement_in_a_word_file_is_one_of_the_known_kinds() -> None:
    known = {kind.name for kind in phrases.STATEMENT_KINDS}
    for file in word_files(OFFLINE).values():
        assert known.issuperset(file.get("phrases", {}))


def test_a_part_of_patterns_has_its_name_once_and_no_lists_name() -> None:
    files = word_files(OFFLINE).values()
    parts = distinct([name for file in files for name in file.get("parts", {})])
    lists = {name for file in files for name in file.get("lists", {})}
    assert lists.isdisjoint(parts)


def test_a_language_is_named_by_its_code() -> None:
    languages = {language for _, language in FILES} - {SHARED}
    assert all(re.fullmatch("[a-z]{2,3}", language) for language in languages)


@cache
def triggered() -> list[tuple[str, tuple[str, ...]]]:
    """Each pattern with its triggers, without what says that whole words are meant."""
    entries = [
        entry
        for file in word_files(TEXT).values()
        for field in ("who_the_user_is", *salience.FIELDS)
        for entry in file.get(field, ())
    ]
    of_text = [(pattern_of(entry), tuple(triggers_in(entry))) for entry in entries]
    return [*of_text, *((phrase.pattern, phrase.words) for phrase in phrases.phrases())]


@settings(max_examples=1_500, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_every_text_that_a_pattern_matches_has_one_of_its_triggers(data: st.DataObject) -> None:
    pattern, words = data.draw(st.sampled_from(triggered()))
    compiled = re.compile(pattern, re.IGNORECASE)
    text = f"- {data.draw(st.from_regex(compiled, fullmatch=True))} -"
    if compiled.search(text):
        assert not words or list(Triggers([words]).candidates(text)) == [0], (words, text)


def test_a_trigger_is_a_whole_word_or_the_beginning_of_one() -> None:
    triggers = Triggers([("we", "ago"), ("plan*",), ("我", "אני"), ()])
    told = {text: triggers.candidates(text) for text in ("a wagon", "WE", "Planning", "他和我")}
    assert told == {"a wagon": (3,), "WE": (0, 3), "Planning": (1, 3), "他和我": (2, 3)}


def test_letters_that_are_equal_when_case_is_ignored_trigger_alike() -> None:
    assert Triggers([("live",), ("so",)]).candidates("I lıve, ſo İ") == (0, 1)
    assert lowered("LıVE, ſO") == "live, so"


def test_most_phrases_are_not_tried_on_a_text_that_lacks_their_words() -> None:
    triggers = Triggers([phrase.words for phrase in phrases.phrases()])
    assert len(triggers.candidates("We discussed the quarterly budget with marketing.")) <= 4


def test_a_pattern_is_filled_with_lists_and_parts_by_their_names() -> None:
    assert "{" not in re.sub(r"\{\d*,?\d*\}", "", filled(OFFLINE, "{i}like {what} {language}"))
    assert "english" in filled_words(OFFLINE, ["{languages}"])
    assert filled(OFFLINE, r"\w{1,3}") == r"\w{1,3}"
