"""Answers a question without a model. The answer is the one sentence of the found memories that
answers best, with its speaker and its day.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log

from palimpsest.models.ports import Reranker
from palimpsest.offline.clauses import asks_for_something, is_in_jest
from palimpsest.recall.answer import Grounded, Passage, line_of_passage
from palimpsest.recall.as_text import passage_of
from palimpsest.recall.found import FoundMemory
from palimpsest.recall.question import Query, coverage
from palimpsest.recall.rerank import read_in_time
from palimpsest.recall.signals import read_signals
from palimpsest.text.analyser import term_set
from palimpsest.text.cutting import shortened
from palimpsest.text.salience import is_log_line, is_noisy
from palimpsest.text.sentences import asks, is_filler, sentences, words

MOST_CHARACTERS = 400
MEMORIES = 5  # the best, in which a sentence is looked for
COMPARED = 16  # sentences, which a reranker reads in about a quarter of a second
SENTENCE = 2.0  # how much the sentence counts beside the log-odds that its memory answers
LEAST, MOST = 1e-6, 1 - 1e-6  # scores whose log-odds are compared
LEAST_WORDS = 3  # fewer say nothing by themselves


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a memory. `odds` is the logarithm of the odds that the memory answers, `share`
    the share (0..1) of the question's words in the sentence.
    """

    text: str
    passage: Passage
    odds: float
    share: float


def quoted(
    query: Query, memories: Sequence[FoundMemory], *, user: str, reranker: Reranker | None = None
) -> Grounded:
    """Answer with one sentence of the memories (best first), in at most 400 characters with its
    speaker and day. The answer is empty if no sentence can be quoted. Questions, greetings, output
    of tools, material and outdated memories can't be quoted.

    Without a reranker, or if it has no time, the words of the question decide between sentences.
    """
    every = [
        sentence for memory in memories[:MEMORIES] for sentence in _sentences(memory, query, user)
    ]
    # A reranker has no time for all sentences, so the words choose which it reads.
    every.sort(key=lambda sentence: -(sentence.odds + SENTENCE * sentence.share))
    likely = every[:COMPARED]
    if not likely:
        return Grounded("")
    read = _readings(reranker, query, likely)
    best = max(
        range(len(likely)),
        key=lambda place: likely[place].odds + SENTENCE * read.get(place, likely[place].share),
    )
    return Grounded(_line(likely[best]), (likely[best].passage.id,))


def _sentences(memory: FoundMemory, query: Query, user: str) -> Iterator[_Sentence]:
    """Yield the sentences of a memory that can be quoted."""
    if memory.outdated_by or memory.speaker == "tool":
        return
    passage = passage_of(memory, user=user)
    if passage.is_material:
        return
    score = min(MOST, max(LEAST, memory.score))
    for text in sentences(passage.content):
        if _states_something(text):
            share = coverage(query.terms, term_set(text))
            yield _Sentence(text, passage, log(score / (1 - score)), share)


def _states_something(sentence: str) -> bool:
    bag = words(sentence)
    if len(bag) < LEAST_WORDS or asks(sentence) or is_filler(sentence, bag):
        return False
    if asks_for_something(sentence) or is_in_jest(sentence):
        return False
    return not is_noisy(sentence) and not is_log_line(sentence)


def _readings(
    reranker: Reranker | None, query: Query, likely: Sequence[_Sentence]
) -> Mapping[int, float]:
    """Return the reranker's scores of the sentences that it read, by place, scaled to 0..1 among
    these sentences.
    """
    texts = [sentence.text for sentence in likely]
    scores = read_in_time(reranker, query.first_person, texts) if reranker else ()
    signals = read_signals({str(place): score for place, score in enumerate(scores)})
    return {int(place): signal["read"] for place, signal in signals.items()}


def _line(sentence: _Sentence) -> str:
    frame = len(line_of_passage(replace(sentence.passage, content="")))
    room = max(1, MOST_CHARACTERS - frame)
    text = shortened(sentence.text, limit=room, count=len)[0]
    return line_of_passage(replace(sentence.passage, content=text))[:MOST_CHARACTERS]
