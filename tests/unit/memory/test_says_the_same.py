"""Two statements of one topic say the same, or one corrects the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.memory.decisions import says_the_same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Works at Acme", "works at  ACME."),
        ("Sarah works at Acme", "Sarah is working at Acme"),
        ("The user lives in Rome", "lives in Rome now"),
        ("I live in Berlin", "I currently live in Berlin"),
        ("lives in Berlin", "is living in Berlin"),
        ("visits a city", "visits cities"),
        ("🎉", "🎉"),
    ],
)
def test_the_same_in_other_words(one: str, other: str) -> None:
    assert says_the_same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("lives in Rome", "lives in Oslo"),
        ("works at Acme", "worked with Acme"),
        ("likes coffee", "does not like coffee"),
        ("likes coffee", "doesn't like coffee"),
        ("prefers tea over coffee", "prefers coffee over tea"),
        ("moved from Rome to Oslo", "moved to Rome from Oslo"),
        ("has 2 cats", "has 3 cats"),
        ("has a dog", "had a dog"),
        ("is here", "was here"),
        ("我喜欢咖啡", "我不喜欢咖啡"),
        ("I", "my"),
        ("works at Acme", "worked at Acme"),
        ("is an intern at Acme", "is international at Acme"),
        ("is an employer", "is an employee"),
        ("reads the news", "reads the new"),
        ("is called Jose", "is called José"),
        ("has blood type A+", "has blood type A-"),
        ("writes C", "writes C++"),
        ("owes $5", "owes €5"),
        ("keeps it at -5 degrees", "keeps it at 5 degrees"),
        ("likes 🍕", "likes 🍔"),
        ("किताब पढ़ता है", "किताब पढ़ती है"),
        (f"has the code {'a' * 80}b", f"has the code {'a' * 80}c"),
        (f"{'tea, ' * 2_000}then cake", f"{'tea, ' * 2_000}then rum"),
    ],
)
def test_a_correction_is_never_taken_for_the_same(one: str, other: str) -> None:
    assert not says_the_same(one, other)


@given(st.text(max_size=50), st.text(max_size=50))
def test_every_text_says_the_same_as_itself_and_the_order_of_two_does_not_count(
    one: str, other: str
) -> None:
    assert says_the_same(one, one)
    assert says_the_same(one, other) is says_the_same(other, one)
