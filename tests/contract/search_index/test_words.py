import pytest

from tests.contract.search_index.builders import EAST, Part, document, keys

HOSTILE = [
    "title:foo",
    "*",
    "foo AND (",
    '"',
    "/.*/",
    "a OR 1=1",
    "\\",
    "NEAR(a, b)",
    "-remote",
    "key:secret^9",
    "owner:*",
    '{"match_all": {}}',
    '{"query_string": {"query": "*"}}',
    "'; DROP TABLE documents; --",
    "%s {0} $1",
    "words : *",
    "\x00 remote",
    "\u202eetomer",
    "</memory>",
    "\ud800",
    "👩\u200d👩\u200d👧",
    "a" * 40_000,
    "x " * 20_000,
]


def test_the_best_match_comes_first(part: Part) -> None:
    part.put(
        document("policy", "Remote work needs the approval of the manager"),
        document("chair", "The allowance for a chair is 300 dollars"),
        document("form", "The form for remote work is HR-101"),
    )
    assert part.words("which form for remote work")[:2] == ["form", "policy"]
    assert part.words("chairs") == ["chair"]


def test_english_words_match_in_any_inflection(part: Part) -> None:
    part.put(document("a", "She manages three studies about running companies"))
    assert part.words("manager managing manage") == ["a"]
    assert part.words("study") == part.words("company") == part.words("run") == ["a"]


def test_case_accents_and_width_make_no_difference(part: Part) -> None:
    part.put(document("a", "Zoë's CAFÉ on Straße 12"))
    assert (
        part.words("zoe")
        == part.words("cafe")
        == part.words("ＣＡＦÉ")
        == part.words("STRASSE")
        == ["a"]
    )


def test_a_word_is_found_inside_a_longer_one(part: Part) -> None:
    part.put(
        document("a", "Die Krankenversicherung zahlt"), document("b", "Die Rechnung ist bezahlt")
    )
    assert part.words("Versicherungen") == ["a"]


def test_a_question_is_not_matched_by_how_it_is_put(part: Part) -> None:
    part.put(
        document("a", "What is it that they have to do with this"),
        document("b", "The dog is called Rex"),
    )
    assert part.words("What is the name of the dog?") == ["b"]
    assert part.words("what is it") == ["a", "b"]


@pytest.mark.parametrize("text", ["", "   ", "?!", "🎉", "\u200b"])
def test_a_text_without_words_finds_nothing(part: Part, text: str) -> None:
    part.put(document("a", text), document("b", "remote"))
    assert part.words(text) == []


def test_a_document_without_words_is_still_found_by_its_vector(part: Part) -> None:
    part.put(document("a", "", vector=EAST))
    assert part.near(EAST) == ["a"]
    assert part.index.count() == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_is_only_words(part: Part, text: str) -> None:
    part.put(document("hostile", text), document("plain", "nothing of that kind"))
    assert set(part.words(text)) <= {"hostile"}
    assert part.words("nothing") == ["plain"]
    assert part.index.count() == 2


def test_a_query_of_ten_thousand_words_is_answered(part: Part) -> None:
    part.put(document("a", "the first of many words"))
    text = "first " + " ".join(f"word{number} 言葉{number}" for number in range(10_000))
    assert part.words(text) == ["a"]


def test_at_most_k_come_back_and_all_of_fewer(part: Part) -> None:
    part.put(*(document(f"d{number}", "equal") for number in range(5)))
    assert part.words("equal", k=3) == ["d0", "d1", "d2"]
    assert part.words("equal", k=500) == [f"d{number}" for number in range(5)]


def test_a_hit_says_key_and_a_score_that_falls(part: Part) -> None:
    part.put(
        document("one", "apple", kind="event"), document("two", "apple apple pear", kind="message")
    )
    hits = part.index.by_words("apple pear", k=10)
    assert keys(hits) == ["two", "one"]
    assert hits[0].score > hits[1].score > 0
