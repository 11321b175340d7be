"""A pattern is skipped only for texts in which it finds nothing."""

from __future__ import annotations

import gc
import re
from functools import cache

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from palimpsest.extraction.chunk import chunk_of
from palimpsest.extraction.testimony.reading import Reader
from palimpsest.memory.times import moment_of, must_be_done
from palimpsest.offline.extractor import PatternExtractor
from palimpsest.privacy.secrets import masked
from palimpsest.privacy.wishes import wish_of
from palimpsest.text.dates import relative_dates
from palimpsest.text.pieces import forms_of, is_of_beginning, pieces_of
from palimpsest.text.sought import ASKED_BEFORE, Sought, Stems

from tests.unit.labelled_texts import DAY, chunk_messages, labelled_texts


@cache
def every_sought() -> tuple[Sought, ...]:
    """All that the library makes when it reads the labelled texts."""
    texts = labelled_texts()
    chunk = chunk_of(
        chunk_messages(texts), first=1, last=len(texts), room=None, reader=Reader("sarah")
    )
    PatternExtractor().extract(chunk, prompt=None)
    for text in texts:
        wish_of(text), masked(text), moment_of(text, at=DAY), must_be_done(text)
        relative_dates(text, at=DAY)
    return tuple(each for each in gc.get_objects() if isinstance(each, Sought))


PIECES = st.sampled_from([word for text in labelled_texts() for word in re.split(r"\b", text)])
ODD = st.sampled_from(
    ["ſ", "ı", "İ", "K", "ẞ", "ß", "’", "\n", ": ", "```", "> ", "1. ", "am 3.", "密码", "前天"]
)
TEXTS = st.lists(PIECES | ODD | st.text(max_size=4), max_size=30).map("".join)


def test_the_library_has_many_such_patterns_and_most_are_skipped_for_a_plain_sentence() -> None:
    each = every_sought()
    skipped = [sought for sought in each if not sought.has_pieces("Anna paints birds.")]
    assert len(each) > 30
    assert len(skipped) > 0.8 * len(each)


def test_no_match_in_the_labelled_texts_is_skipped() -> None:
    for text in labelled_texts():
        for sought in every_sought():
            assert sought.has_pieces(text) or sought.compiled.search(text) is None, text


@settings(max_examples=150, deadline=None)
@given(TEXTS | TEXTS.map(str.upper))
def test_no_match_in_any_mixture_of_words_is_skipped(text: str) -> None:
    for sought in every_sought():
        assert sought.has_pieces(text) or sought.compiled.search(text) is None


LETTER = st.sampled_from("abskiſıİKßẞéÉ -'密")
ATOM = LETTER.map(re.escape) | st.sampled_from(
    [
        *(
            r"\w",
            ".",
            r"\b",
            "[ab]",
            "[^k]",
            "(?=s)",
            "(?!ab)",
            "(?<=a)",
            "(?<!b)",
            "^",
            "$",
            r"\Z",
        ),
        *("[a-k]", r"[\]a]", "[]a]", r"[\ws]", r"\t", "{", "}", "{}", r"\x61", r"\u0061", "(?i:K)"),
        *(r"\.", r"\(", "[(|)]", "[a]", "s{0,}", "k{1}", "(b)", "(?(1)s|a)"),
    ]
)
OFTEN = st.sampled_from(["{1,2}", "{0,2}", "{,2}", "{2}", "{0}", "*", "+", "+?", "??", "*+", "++"])
PATTERN = st.recursive(
    ATOM,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=4).map("".join)
        | st.lists(inner, min_size=1, max_size=4).map(lambda each: f"(?:{'|'.join(each)})")
        | inner.map(lambda each: f"(?:{each})?")
        | inner.map(lambda each: f"({each})")
        | st.tuples(inner, OFTEN).map(lambda pair: f"(?:{pair[0]}){pair[1]}")
    ),
    max_leaves=8,
)


def is_valid(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


@settings(max_examples=400, deadline=None)
@given(PATTERN, st.sampled_from([0, re.IGNORECASE]), st.lists(LETTER, max_size=12).map("".join))
def test_a_text_that_any_pattern_matches_has_its_pieces(
    pattern: str, flags: int, text: str
) -> None:
    assume(is_valid(pattern))
    sought = Sought(pattern, flags)
    found = re.search(pattern, text, flags)
    assert sought.has_pieces(text) or found is None
    for _ in range(ASKED_BEFORE):
        assert sought.may_match("")
    assert (sought.search(text) is None) == (found is None)
    assert sought.sub("_", text) == re.sub(pattern, "_", text, flags=flags)


@settings(max_examples=200, deadline=None)
@given(st.lists(LETTER, min_size=1, max_size=4).map("".join), st.lists(LETTER).map("".join))
def test_a_stem_is_found_as_a_pattern_finds_it(stem: str, text: str) -> None:
    stems = Stems(rf"{re.escape(stem)}|ab[sk]|ki\b")
    found = re.search(rf"{re.escape(stem)}|ab[sk]|ki\b", text, re.IGNORECASE)
    assert stems.are_in(text) == (found is not None)


@pytest.mark.parametrize(
    ("pattern", "needed"),
    [
        ("i(?:['’]m| am) (?:kidding|joking)", [{"'", "’", " am"}, {"kidding", "joking"}]),
        ("a?b*", []),
        ("(?:end|start) of(?: the)? week", [{" week"}, {" of"}, {"end", "start"}]),
        ("[^x]y", []),
        ("(?x)end | start", []),
        ("(?P<sign>[:=])(?-i:END) (?P=sign)", [{"end "}, {":", "="}]),
        ("昨天|gestern", [{"昨天", "gestern"}]),
    ],
)
def test_the_pieces_of_a_pattern_are_its_words(pattern: str, needed: list[set[str]]) -> None:
    assert sorted(map(sorted, pieces_of(pattern))) == sorted(map(sorted, needed))


def test_an_alternative_needs_all_its_pieces() -> None:
    assert Sought("(?:off the record|keep .* secret)").has_pieces("I keep a secret")
    assert not Sought("(?:off the record|keep .* secret)").has_pieces("I keep a diary")
    both = frozenset({"ef"})
    forms = [[both, frozenset({"ab"})], [both, frozenset({"cd"})]]
    assert list(map(list, forms_of("(?:ab|cd)ef"))) == forms


def test_a_pattern_of_a_beginning_is_told_from_one_with_another_alternative() -> None:
    assert is_of_beginning("^that(?:'s| is)")
    assert not is_of_beginning("^that|this")
    assert not is_of_beginning("that")
