"""Rates how much a sentence is worth remembering, without a model: by names, numbers, decisions and
who is speaking.

The words that it looks for are those of the commonest languages.
"""
# ruff: noqa: RUF001 - words of many scripts

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from palimpsest.text.sentences import either, is_filler, tells_who_the_user_is
from palimpsest.text.sieve import Sieve

USER, ASSISTANT, TOOL, NOBODY = "user", "assistant", "tool", ""
BASE = {
    USER: 1.0,
    ASSISTANT: 0.8,
    TOOL: 0.1,
    NOBODY: 1.2,
}  # nobody: a line of an earlier summary without a speaker
NOISY = 0.2  # share of characters that are neither letters, digits nor blanks: code, tables, data
OFTEN = 0.2  # of all sentences: a word in more of them says nothing about the topic

# What a pattern begins with decides its time: a letter, or one of a few, is looked for much faster
# than all else.
_NUMBER = re.compile(r"\d\d*+(?:[.,:/]\d+)*")
# Both are linear: a run of letters is tried from its beginning only.
_IDENTIFIER = re.compile(r"(?<![^\W\d_])[^\W\d_]++[-_/]?\d|\S@\S+\.\w|https?://")
_FACT = re.compile(
    r"(?<![^\W\d_])[^\W\d_]++[-_/]?\d[\w-]*|(?<!\S)\S+@\S+|\d+(?:[.,:/]\d+)*\s?[^\W\d_]*"
)
_MAY_BE_FACT = re.compile(r"[\d@]")
_NONE = frozenset[str]()
_NAME = re.compile(r" [A-ZÀ-ÞА-ЯΑ-Ω](?<=[\w,;:] .)[\w'’-]+")
_NOISE = re.compile(r"[^\w\s]|_")  # neither letter, digit nor blank
_NO_NOISE = bytes(point for point in range(128) if not _NOISE.match(chr(point)))


_FIRST_PERSON = either(
    (
        r"i|i['’]\w+|im(?= (?:an?|not|the|from|really|very|\d+)\b)|my|mine|we|we['’]\w+|our|us",
        r"je|j['’]\w+|mon|mes|nous|notre|yo|mi|mis|nosotros|ich|mein\w*|mir|mich|wir|unser\w*",
        r"mio|mia|noi|eu|meu|minha|nós|ik|mijn|wij|moj\w*|mój|ben|benim|bizim|tôi|saya|aku",
        r"я|мой|моя|мо[её]|мне|меня|мы|наш\w*",
    ),
    attached=(
        r"我|咱|私|僕|俺|わたし|저는|제가|나는|내가|우리|أنا|عندي|لدي|أريد|मैं|मेर|मुझे|हम|אני|שלי|ฉัน|ผม",
    ),
)
_NUMBER_WORD = either(
    (
        (
            r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty"
            r"|forty|fifty|hundred|thousand"
        ),
        (
            r"million|half|dos|tres|cuatro|cinco|seis|siete|ocho|diez|cien|deux|trois"
            r"|quatre|cinq|sept|huit|dix|cent"
        ),
        (
            r"zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|hundert|due|tre|quattro"
            r"|cinque|dieci|dois|três|dez"
        ),
        r"два|две|три|четыре|пять|шесть|семь|десять|сто",
        (
            r"january|february|march|april|june|july|august|september|october|november"
            r"|december|deadline"
        ),
        (
            r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|daily|weekly|monthly|yearly|annual\w*"
            r"|tomorrow|tonight"
        ),
    ),
    attached=(r"[一二三四五六七八九十百千万两]+个?[天日周月年次元块岁人]", r"[월화수목금토일]요일"),
)
# What was decided, allowed, asked for, preferred or corrected.
_SETTLED = either(
    (
        (
            r"decid\w+|decision|agree\w*|must|have to|need\w*|should|requir\w+|approv\w+"
            r"|allow\w*|eligib\w+|prefer\w*"
        ),
        (
            r"favou?rite|always|never|allerg\w+|plan\w*|policy|promis\w+|confirm\w*|cancel\w*"
            r"|chose\w*|choose|goal"
        ),
        (
            r"important|remember|instead|actually|changed?|moved|correct\w*|appeal|escalat\w+"
            r"|love|hate|cannot"
        ),
        r"can['’]t|up to|at least|at most|only|until|no longer",
        (
            r"acord\w+|debe\w*|prefier\w+|siempre|nunca|alérgic\w+|doit|doivent|décid\w+"
            r"|préfèr\w+|toujours|jamais"
        ),
        (
            r"entschied\w+|muss|müssen|immer|niemals|bevorzug\w+|vereinbart|sempre|mai|devo|deve"
            r"|prefiro|moet"
        ),
        r"решил\w*|нужно|долж\w+|всегда|никогда|предпочита\w+|нельзя|можно",
    ),
    attached=(
        r"决定|必须|需要|喜欢|总是|从不|过敏|同意|计划|不能|最多|至少|決め|必要|好き|アレルギー|予定|いつも",
        r"결정|필요|좋아|항상|알레르기|قرر|يجب|أحتاج|أفضل|دائما|حساسية|ज़रूरी|हमेशा|पसंद|फैसला",
    ),
)
SETTLED, NUMBER_WORD, OWN = range(3)
_likely = Sieve([_SETTLED.pattern, _NUMBER_WORD.pattern, _FIRST_PERSON.pattern]).candidates


def facts(sentence: str) -> frozenset[str]:
    """The numbers of a sentence, each with the word behind it, and its identifiers; by them
    repetitions are found.
    """
    return (
        frozenset(map(str.casefold, _FACT.findall(sentence)))
        if _MAY_BE_FACT.search(sentence)
        else _NONE
    )


@lru_cache(maxsize=8)
def is_own(sentence: str) -> bool:
    """Whether it speaks in the first person."""
    return OWN in _likely(sentence) and bool(_FIRST_PERSON.search(sentence.lower()))


def topic_words(bags: Iterable[frozenset[str]]) -> frozenset[str]:
    """What the conversation is about: words that come back, but not everywhere."""
    counts: Counter[str] = Counter()
    total = 0
    for bag in bags:
        counts.update(bag)
        total += 1
    return frozenset(word for word, count in counts.items() if 1 < count <= max(2, OFTEN * total))


def tells_who(sentence: str, *, speaker: str) -> bool:
    """Whether the speaker tells with a sentence that is no question who the user is."""
    return speaker in (USER, NOBODY) and tells_who_the_user_is(sentence)


def worth(
    sentence: str,
    *,
    speaker: str,
    bag: frozenset[str],
    topic: frozenset[str],
    who: bool,
    asks: bool,
) -> float:
    """Rate a sentence by itself. `bag` holds its words, `topic` the words that the conversation is
    about; `who` says whether it tells who the user is, `asks` whether it is a question.
    """
    own = speaker in (USER, NOBODY)
    likely = _likely(sentence)
    facts = _facts(sentence, has_number_words=NUMBER_WORD in likely)
    # A tool's output is full of numbers: they count little there.
    score = BASE.get(speaker, 0.0) + (
        0.4 * min(2, facts) if speaker == TOOL else 1.0 * min(4, facts)
    )
    score += min(1.0, 0.12 * len(bag & topic))
    score += 0.3 * min(3, len(_NAME.findall(sentence)))
    if SETTLED in likely:
        score += 0.7 * min(2, len(_SETTLED.findall(sentence.lower())))
    if who:
        score += 4.0
    if own and not asks and is_own(sentence):
        score += 1.5
    if asks:
        score -= 1.2 if own else 2.0
    if not who and is_filler(sentence, bag):
        score -= 3.0
    if is_noisy(sentence):
        score -= 2.0
    return score


def _facts(sentence: str, *, has_number_words: bool) -> int:
    """How many numbers, dates, sums and identifiers it has."""
    found = len(_NUMBER.findall(sentence))
    if found or "@" in sentence or "://" in sentence:
        found += len(_IDENTIFIER.findall(sentence))
    if has_number_words:
        found += len(_NUMBER_WORD.findall(sentence.lower()))
    return found


def is_noisy(sentence: str) -> bool:
    """Whether it has many characters that are neither letters, digits nor blanks, as code, tables
    and data have.
    """
    if sentence.isascii():
        return len(sentence.encode().translate(None, _NO_NOISE)) > NOISY * len(sentence)
    return len(_NOISE.findall(sentence)) > NOISY * len(sentence)
