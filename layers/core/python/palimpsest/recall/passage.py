"""Chooses the part of a found memory that is compared with a question."""

from __future__ import annotations

from palimpsest.recall.found import FoundMemory
from palimpsest.recall.question import Query, coverage
from palimpsest.search.documents import shortened_end
from palimpsest.text.analyser import term_set
from palimpsest.text.sentences import is_question, sentences

LONG = 200  # characters. Of a longer text only the best sentences are read.
BEST_SENTENCES = 2


def passage(memory: FoundMemory, query: Query) -> str:
    """Return the text that a reranker reads: the memory's text, after the question that was asked
    right before it, if there is one.
    """
    # "Eight weeks." says nothing without the question that it answers (docs/adr/0030).
    question = shortened_end(memory.before) if is_question(memory.before.rstrip()) else ""
    best = best_sentences(memory.content, query, most=BEST_SENTENCES)
    return " ".join(filter(None, (question, best)))


def is_long(text: str) -> bool:
    return len(text) > LONG


def best_sentences(text: str, query: Query, *, most: int) -> str:
    """Return the whole text if it is short. Otherwise return the `most` sentences with most of the
    question's words, in their order.
    """
    if not is_long(text):
        return text
    every = list(sentences(text))
    shares = [coverage(query.words, words) for words in map(term_set, every)]
    best = sorted(range(len(every)), key=lambda place: (-shares[place], place))[:most]
    return " ".join(every[place] for place in sorted(best))
