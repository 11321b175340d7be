"""A sieve leaves out only patterns that can't match."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st
from palimpsest.offline import phrases
from palimpsest.text import dates
from palimpsest.text.sieve import Sieve, signs

SAID = (
    "I live in Ulm",
    "my name is Ana",
    "ich heiße Jo",
    "我叫李",
    "に住んで",
    "yesterday",
    "gestern",
    "vor drei Wochen",
    "hier",
    "nous",
    "next Monday",
    "上周一",
    "I PREFER tea",
    "remind me",
    "提醒我",
    "in 3 days",
    "3日前",
    "hey, I'm Ana",
    "我很爱茶",
    "Always sIng",
)
KINDS = [phrase for kind in phrases.STATEMENT_KINDS for phrase in kind.phrases]
SIEVES = [
    (Sieve(patterns, flags), [re.compile(each, flags) for each in patterns], change)
    for patterns, flags, change in ((KINDS, re.IGNORECASE, str), (dates.PATTERNS, 0, str.lower))
]
"""Each with its patterns, and what is done to a text before it is looked at."""
WRITTEN = st.lists(st.sampled_from(SAID) | st.text(max_size=6), max_size=6).map(" ".join)


@example("İnever")
@example("I lıve ın Ulm, ſo call me Jo")
@given(WRITTEN)
def test_every_pattern_that_matches_passes_the_sieve(text: str) -> None:
    for sieve, patterns, change in SIEVES:
        given_text = change(text)
        matching = {number for number, each in enumerate(patterns) if each.search(given_text)}
        assert matching <= set(sieve.candidates(given_text))


def test_a_pattern_is_known_by_the_longest_words_that_it_must_have() -> None:
    assert signs(r"\bmy (?:employer|boss) is") == {"\bmy employer is", "\bmy boss is"}
    assert signs(r"my \w+ (?:employer|boss)") == {" employer", " boss"}
    assert signs(r"I(?:['’]m| am)\b(?! not) glad", re.IGNORECASE) == {
        "i'm\b glad",
        "i’m\b glad",
        "i am\b glad",
    }
    assert signs(r"(?:please )?call me\b", re.IGNORECASE) == {"call me\b"}
    assert signs(r"\b(?:decid\w+|must)\b") == {"\bdecid", "\bmust\b"}
    assert signs(r"\w+ed|x") == {"ed", "x"}
    assert signs(r"(?:a|\d)") == frozenset()
    assert signs("我[在住]") == {"我在", "我住"}


def test_a_word_that_must_stand_whole_is_not_looked_for_within_others() -> None:
    sieve = Sieve([r"\b(?:ago|we)\b", r"\bplan\w*"])
    assert [sieve.candidates(text) for text in ("a wagon went", "we", "Planning", "a plot")] == [
        (),
        (0,),
        (1,),
        (),
    ]


def test_a_text_that_was_looked_at_before_a_sieve_was_made_passes_it_all_the_same() -> None:
    assert Sieve([r"\bearlier\b"]).candidates("an earlier text of later words") == (0,)
    assert Sieve([r"\babsent\b", r"\blater\b"]).candidates("an earlier text of later words") == (1,)


def test_most_patterns_are_not_tried_on_a_text_that_lacks_their_words() -> None:
    sieve = Sieve(
        [phrase for kind in phrases.STATEMENT_KINDS for phrase in kind.phrases], re.IGNORECASE
    )
    assert len(sieve.candidates("We discussed the quarterly budget with marketing.")) <= 4
