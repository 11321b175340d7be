"""What is extracted is the same whether or not patterns are skipped that cannot match."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from palimpsest.extraction.checks import ConversationOwner, checked, statement_of
from palimpsest.extraction.chunk import chunk_of
from palimpsest.extraction.testimony.reading import Reader
from palimpsest.extraction.testimony.words import anywhere
from palimpsest.memory.meaning import corrections, ends
from palimpsest.offline import extractor
from palimpsest.offline.extractor import PatternExtractor
from palimpsest.text.sought import Sought, SoughtTogether
from palimpsest.text.triggers import Triggers

from tests.unit.labelled_texts import chunk_messages, labelled_texts

OWNER = ConversationOwner("acme", "sarah", "s")
OF_ONE_CHUNK = 40


def extracted(texts: Sequence[str]) -> str:
    """All that a step makes of messages: what is read, found, dropped and stated."""
    made = []
    for start in range(0, len(texts), OF_ONE_CHUNK):
        messages = chunk_messages(texts[start : start + OF_ONE_CHUNK])
        chunk = chunk_of(
            messages, first=1, last=len(messages), room=None, reader=Reader(OWNER.user)
        )
        extraction = PatternExtractor().extract(chunk, prompt=None)
        found = checked(extraction.findings, chunk, owner=OWNER)
        by_seq = {message.seq: message for message in chunk.messages}
        stated = [
            statement_of(
                finding, by_seq, session="s", agent=None, method="pattern", prompt_hash=None
            )
            for finding in found.findings
        ]
        made.append((chunk.messages, chunk.skipped, chunk.withheld, extraction, found, stated))
    return repr(made)


def difference(one: str, other: str) -> str:
    """Where two long texts differ first; empty if they are equal."""
    if one == other:
        return ""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    start = max(0, sum(1 for _ in alike) - 100)
    return f"{one[start : start + 200]} <> {other[start : start + 200]}"


@contextmanager
def nothing_skipped() -> Iterator[None]:
    """Every pattern is tried on every text."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sought, "may_match", lambda *_: True)
        patch.setattr(SoughtTogether, "likely", lambda self, _: frozenset(self._several))
        patch.setattr(extractor, "may_end", lambda _: True)
        patch.setattr(ends, "_has_needed", lambda *_: True)
        forget()
        yield
    forget()


def forget() -> None:
    """Forget what was remembered of texts."""
    for name, module in list(sys.modules.items()):
        if name.startswith("palimpsest."):
            for member in vars(module).values():
                if hasattr(member, "cache_parameters") and member.cache_parameters()["maxsize"]:
                    member.cache_clear()


def test_of_all_labelled_texts_the_same_is_extracted() -> None:
    texts = labelled_texts()
    extracted(texts[:OF_ONE_CHUNK])
    quick = extracted(texts)
    with nothing_skipped():
        slow = extracted(texts)
    assert len(texts) > 1_000
    assert difference(quick, slow) == ""


def test_each_reader_is_asked_about_a_sentence_that_has_no_word_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = "My sister Anna paints birds."
    asked = list[str]()

    def noting(name: str, read: Callable[[str], object]) -> Callable[[str], object]:
        def noted(text: str) -> object:
            asked.append(name)
            return read(text)

        return noted

    for name in ("correction_of", "is_signal", "put_right"):
        monkeypatch.setattr(extractor, name, noting(name, getattr(extractor, name)))
    extracted([plain])
    assert not corrections.may_correct(plain)
    assert asked == ["correction_of", "is_signal", "put_right"]


SENTENCES = st.sampled_from([part for text in labelled_texts() for part in text.split(". ")])
WORDS = st.sampled_from([word for text in labelled_texts() for word in text.split()])
SIGNS = st.sampled_from([". ", ", ", "\n", "\n\n", " – ", "? ", ": ", " *", "'", "’", " (", "> "])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.lists(SENTENCES | WORDS | SIGNS | st.text(max_size=3), max_size=12).map(" ".join),
        min_size=1,
        max_size=6,
    )
)
def test_of_any_mixture_of_them_the_same_is_extracted(texts: list[str]) -> None:
    quick = extracted(texts)
    with nothing_skipped():
        slow = extracted(texts)
    assert difference(quick, slow) == ""


@settings(max_examples=150, deadline=None)
@given(st.lists(SENTENCES | WORDS | SIGNS, max_size=6).map(" ".join))
def test_a_sentence_that_may_be_a_signal_without_its_ends_may_be_one_with_them(text: str) -> None:
    with_ends = f'"{text}… -- '
    if corrections.may_correct(text):
        assert corrections.may_correct(with_ends) or "s/" in with_ends


@settings(max_examples=150, deadline=None)
@given(
    st.lists(SENTENCES | WORDS | SIGNS, max_size=20).map(" ".join),
    st.sampled_from(["jest", "not_mine", "play", "work"]),
    st.integers(0, 130),
)
def test_a_text_that_is_cut_at_a_place_is_searched_as_that_part_alone(
    text: str, name: str, end: int
) -> None:
    found, alone = anywhere(name).search_before(text, end), anywhere(name).search(text[:end])
    assert (found and found.span()) == (alone and alone.span())
    if found:
        assert anywhere(name).may_begin(text[:end], found.start())


@settings(max_examples=150, deadline=None)
@given(st.lists(SENTENCES | WORDS | SIGNS | st.text(max_size=3), max_size=12).map(" ".join))
def test_triggers_that_are_asked_together_tell_what_each_tells_alone(text: str) -> None:
    words = [("live*", "home"), (), ("не", "我"), ("i",)]
    first, second = WORDS_TOGETHER
    assert first.candidates(text) == Triggers(words).candidates(text)
    assert second.candidates(text) == Triggers(words[::-1]).candidates(text)


WORDS_TOGETHER = tuple(
    Triggers(words, asked_together=True)
    for words in (
        [("live*", "home"), (), ("не", "我"), ("i",)],
        [("i",), ("не", "我"), (), ("live*", "home")],
    )
)
