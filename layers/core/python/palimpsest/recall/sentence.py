"""Answers a question without a model. The answer is the one sentence of the found memories that
answers best, with its speaker and its day.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import log
from typing import Final

from palimpsest.models.ports import Reranker
from palimpsest.offline.clauses import asks_for_something, is_in_jest
from palimpsest.recall.about import is_only_of_the_user
from palimpsest.recall.answer import Grounded, Passage, line_of_passage
from palimpsest.recall.as_text import passage_of
from palimpsest.recall.found import FoundMemory
from palimpsest.recall.question import Query, coverage
from palimpsest.recall.replacing import (
    StatementInMemory,
    asks_of_the_present,
    may_replace,
    statement,
    values_asked_for,
)
from palimpsest.recall.rerank import read_in_time
from palimpsest.recall.signals import read_signals
from palimpsest.text.analyser import own_words, term_set
from palimpsest.text.cutting import shortened
from palimpsest.text.folding import folded
from palimpsest.text.matching import either, patterns_by_writing
from palimpsest.text.salience import is_copied, is_log_line, is_noisy
from palimpsest.text.sentences import asks, is_filler, sentences, words
from palimpsest.text.word_files import entries

WORDS: Final = "palimpsest.text"
MOST_CHARACTERS = 400
MEMORIES = 5  # the best, in which a sentence is looked for
COMPARED = 16  # sentences, which a reranker reads in about a quarter of a second
SENTENCE = 2.0  # how much the sentence counts beside the log-odds that its memory answers
ASSISTANT = 1.0  # by which the odds of its sentences are lower, unless they are asked for
AS_GOOD = 2.0  # A later sentence may be this much worse than the one that it replaces.
LEAST, MOST = 1e-6, 1 - 1e-6  # scores whose log-odds are compared
LEAST_WORDS = 3  # fewer say nothing by themselves


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a memory. `odds` is the logarithm of the odds that it comes from the answer,
    `share` the share (0..1) of the question's words in the sentence.
    """

    statement: StatementInMemory
    passage: Passage
    odds: float
    share: float

    def worth(self, fit: float) -> float:
        """Return how good an answer it is. `fit` (0..1) is how well the sentence itself fits."""
        return self.odds + SENTENCE * fit


@cache
def _asking_words() -> frozenset[str]:
    """Return the folded words with which people ask, or say that they don't know."""
    return frozenset(map(folded, entries(WORDS, "asking_words")))


@cache
def _date_words() -> frozenset[str]:
    return frozenset(map(folded, entries(WORDS, "date_words")))


@cache
def _asks_the_assistant() -> re.Pattern[str]:
    """Return a pattern of the questions for what the assistant said."""
    return either(*patterns_by_writing("asks_the_assistant"), flags=re.IGNORECASE)


def quoted(
    query: Query, memories: Sequence[FoundMemory], *, user: str, reranker: Reranker | None = None
) -> Grounded:
    """Answer with one sentence of the memories (best first), in at most 400 characters with its
    speaker and day. The answer is empty if no sentence can be quoted. Questions, greetings, output
    of tools, material and outdated memories can't be quoted, and neither can sentences that only
    repeat the question. A sentence that a later one replaces gives way to it.

    Without a reranker, or if it has no time, the words of the question decide between sentences.
    """
    every = [
        sentence for memory in memories[:MEMORIES] for sentence in _sentences(memory, query, user)
    ]
    # A reranker has no time for all sentences, so the words choose which it reads.
    every.sort(key=lambda sentence: -sentence.worth(sentence.share))
    likely = every[:COMPARED]
    if not likely:
        return Grounded("")
    read = _readings(reranker, query, likely)
    worths = [
        sentence.worth(read.get(place, sentence.share)) for place, sentence in enumerate(likely)
    ]
    places = sorted(range(len(likely)), key=lambda place: -worths[place])
    good = [likely[place] for place in places if worths[place] >= worths[places[0]] - AS_GOOD]
    answer = _latest(good, query)
    return Grounded(_line(answer), (answer.passage.id,))


def _latest(best_first: Sequence[_Sentence], query: Query) -> _Sentence:
    """Return the first sentence, or the one that replaces it. The two share a word, because the
    odds are those of whole memories, which say little of a sentence.
    """
    latest = best_first[0]
    if not asks_of_the_present(query):
        return latest
    for _ in best_first:
        old = latest.statement
        newer = (
            other
            for other in best_first
            if not other.statement.words.isdisjoint(old.words)
            and may_replace(other.statement, old, query)
        )
        latest = next(newer, latest)
    return latest


def _sentences(memory: FoundMemory, query: Query, user: str) -> Iterator[_Sentence]:
    """Yield the sentences of a memory that can be quoted."""
    if memory.outdated_by or memory.speaker == "tool":
        return
    passage = passage_of(memory, user=user)
    if passage.is_material:
        return
    score = min(MOST, max(LEAST, memory.score))
    odds = log(score / (1 - score))
    is_assistants = memory.speaker == "assistant"
    if is_assistants and _asks_the_assistant().search(query.text) is None:
        odds -= ASSISTANT
    for text in map(_without_request, sentences(passage.content)):
        if not _states_something(text) or not _adds_something(text, query):
            continue
        if is_assistants and is_copied(text):
            continue
        if query.person and is_only_of_the_user(text, memory, query.person, user=user):
            continue
        share = coverage(query.words, term_set(text))
        yield _Sentence(statement(memory, text), passage, odds, share)


def _without_request(sentence: str) -> str:
    """Return what a sentence states after a request and a colon, as "it's 465 now" in "Update it:
    it's 465 now".
    """
    request, colon, rest = sentence.partition(": ")
    return rest if colon and asks_for_something(request) else sentence


def _states_something(sentence: str) -> bool:
    bag = words(sentence)
    if len(bag) < LEAST_WORDS or asks(sentence) or is_filler(sentence, bag):
        return False
    if asks_for_something(sentence) or is_in_jest(sentence):
        return False
    return not is_noisy(sentence) and not is_log_line(sentence)


_CONFIRMED = re.compile(
    r"\W*(?:who|wer|qui|qui[eé]n|am|are|is|do|does|did|have|has|can|bin|ist|sind|hab\w*|hat|mag|kann"
    r"|suis|est|ai|tengo|soy|estoy)\b",
    re.IGNORECASE,
)
"""The beginnings of questions that a statement in their own words answers: who, and yes or no."""


def _adds_something(sentence: str, query: Query) -> bool:
    """Return whether the sentence has a word that neither the question has nor people ask with. If
    "Who is allergic to walnuts?" is asked, the speaker is what it adds.
    """
    if _CONFIRMED.match(query.text) and _asking_words().isdisjoint(words(sentence)):
        return True
    left_out = _asking_words()
    if "day" not in values_asked_for(query.text):
        left_out = left_out | _date_words()
    words_ = own_words(sentence, besides=left_out)
    return any(set(query.terms).isdisjoint(word) for word in words_)


def _readings(
    reranker: Reranker | None, query: Query, likely: Sequence[_Sentence]
) -> Mapping[int, float]:
    """Return the reranker's scores of the sentences that it read, by place, scaled to 0..1 among
    these sentences.
    """
    texts = [sentence.statement.text for sentence in likely]
    scores = read_in_time(reranker, query.first_person, texts) if reranker else ()
    signals = read_signals({str(place): score for place, score in enumerate(scores)})
    return {int(place): signal["read"] for place, signal in signals.items()}


def _line(sentence: _Sentence) -> str:
    frame = len(line_of_passage(replace(sentence.passage, content="")))
    room = max(1, MOST_CHARACTERS - frame)
    text = shortened(sentence.statement.text, limit=room, count=len)[0]
    return line_of_passage(replace(sentence.passage, content=text))[:MOST_CHARACTERS]
