"""How much a sentence of a conversation is worth remembering, by marks that need no model: who, when, how much."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from palimpsest.text.salient_words import FILLER, FIRST_PERSON, NUMBER_WORD, SETTLED, SHORT_ANSWER, WHO

USER, ASSISTANT, TOOL, NOBODY = "user", "assistant", "tool", ""
BASE = {USER: 1.0, ASSISTANT: 0.8, TOOL: 0.1, NOBODY: 1.2}  # nobody: a line of an earlier summary without a speaker
NOISY = 0.2  # share of characters that are neither letters, digits nor blanks: code, tables, data
OFTEN = 0.2  # of all sentences: a word in more of them says nothing about the topic
FILLER_WORDS = 12  # a longer sentence says more than hello
SHORT_WORDS, SHORT_LETTERS = 3, 4

_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_IDENTIFIER = re.compile(r"[^\W\d_]+[-_/]?\d|\S@\S+\.\w|https?://")
_FACT = re.compile(r"[^\W\d_]+[-_/]?\d[\w-]*|\S+@\S+|\d+(?:[.,:/]\d+)*\s?[^\W\d_]*")
_NAME = re.compile(r"(?<=[\w,;:] )[A-ZÀ-ÞА-ЯΑ-Ω][\w'’-]+")  # noqa: RUF001
_QUESTION = re.compile(r"[?？؟][\"'”’»)」』]*$")  # noqa: RUF001
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"  # Thai to Chinese
)
_OPENING = re.compile(r"\W*")


@dataclass(frozen=True, slots=True)
class Worth:
    """`who`: it says who the user is."""

    score: float
    who: bool


def facts(sentence: str) -> frozenset[str]:
    """The numbers of a sentence, each with the word behind it, and its identifiers: what another may say already."""
    return frozenset(match.group().casefold() for match in _FACT.finditer(sentence))


def is_question(sentence: str) -> bool:
    return bool(_QUESTION.search(sentence[-8:]))


def is_filler(sentence: str, bag: frozenset[str]) -> bool:
    """Greetings, thanks and offers of help."""
    if len(bag) > FILLER_WORDS or _NUMBER.search(sentence):
        return False
    return _begins(FILLER, sentence) or len(sentence) < SHORT_LETTERS


def leans_on_a_question(sentence: str) -> bool:
    """Whether it says little without the question before it."""
    return _begins(SHORT_ANSWER, sentence) or len(words(sentence)) <= SHORT_WORDS


def words(sentence: str) -> frozenset[str]:
    """The sentence's words in lower case; where a script writes no blanks, its pairs of characters."""
    found: set[str] = set()
    for word in _WORD.findall(sentence.casefold()):
        if _UNSPACED.search(word):
            found.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        else:
            found.add(word)
    return frozenset(found)


def topic_words(bags: Iterable[frozenset[str]]) -> frozenset[str]:
    """What the conversation is about: words that come back, but not everywhere."""
    counts: Counter[str] = Counter()
    total = 0
    for bag in bags:
        counts.update(bag)
        total += 1
    return frozenset(word for word, count in counts.items() if 1 < count <= max(2, OFTEN * total))


def worth(sentence: str, *, speaker: str, bag: frozenset[str], topic: frozenset[str]) -> Worth:
    """Rate a sentence by itself; its surroundings are the caller's."""
    asks = is_question(sentence)
    own = speaker in (USER, NOBODY)
    who = own and not asks and bool(WHO.search(sentence))
    score = BASE.get(speaker, 0.0) + _facts(sentence, speaker) + min(1.0, 0.12 * len(bag & topic))
    score += 0.3 * min(3, len(_NAME.findall(sentence))) + 0.7 * min(2, len(SETTLED.findall(sentence)))
    if who:
        score += 4.0
    if own and not asks and FIRST_PERSON.search(sentence):
        score += 1.5
    if asks:
        score -= 1.2 if own else 2.0
    if is_filler(sentence, bag) and not who:
        score -= 3.0
    if _noise(sentence) > NOISY:
        score -= 2.0
    return Worth(score, who)


def _facts(sentence: str, speaker: str) -> float:
    """Numbers, dates, sums and identifiers; a tool's output is full of them, and they are worth little there."""
    found = len(_NUMBER.findall(sentence)) + len(_IDENTIFIER.findall(sentence)) + len(NUMBER_WORD.findall(sentence))
    return 0.4 * min(2, found) if speaker == TOOL else 1.0 * min(4, found)


def _begins(marks: re.Pattern[str], sentence: str) -> bool:
    opening = _OPENING.match(sentence)
    return bool(marks.match(sentence, opening.end() if opening else 0))


def _noise(sentence: str) -> float:
    return sum(not (letter.isalnum() or letter.isspace()) for letter in sentence) / max(1, len(sentence))
