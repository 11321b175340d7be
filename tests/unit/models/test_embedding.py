"""Equal texts are embedded once, and nothing but their vectors is kept."""

import pytest
from palimpsest.errors import ModelUnavailable
from palimpsest.models.cached import CachingEmbedder

from tests.doubles.meanings import Meanings


def test_equal_texts_are_embedded_once_in_a_call_and_over_calls() -> None:
    inner = Meanings()
    embedder = CachingEmbedder(inner)
    one, other, again = embedder.embed(["tea", "cake", "tea"])
    assert one == again != other
    assert embedder.embed(["cake", "rum"])[0] == other
    assert inner.asked == [["tea", "cake"], ["rum"]]
    assert embedder.space == inner.space


def test_what_was_not_used_for_longest_goes_first() -> None:
    inner = Meanings()
    embedder = CachingEmbedder(inner, kept=2)
    for text in ("tea", "cake", "tea", "rum", "tea", "cake"):
        embedder.embed([text])
    assert inner.asked == [["tea"], ["cake"], ["rum"], ["cake"]]


def test_more_texts_than_there_is_room_for_get_their_vectors_all_the_same() -> None:
    inner = Meanings()
    texts = [f"word{number}" for number in range(9)]
    assert CachingEmbedder(inner, kept=2).embed(texts) == inner.embed(texts)


def test_a_failure_is_passed_on_and_not_kept() -> None:
    inner = Meanings()
    embedder = CachingEmbedder(inner)
    inner.failure = ModelUnavailable("busy")
    with pytest.raises(ModelUnavailable):
        embedder.embed(["tea"])
    inner.failure = None
    assert embedder.embed(["tea"]) == inner.embed(["tea"])


def test_no_text_is_kept() -> None:
    embedder = CachingEmbedder(Meanings())
    embedder.embed(["a secret", "half \ud800 a pair"])
    assert "secret" not in repr(vars(embedder))
