"""The topics that a question may name: by its own words, and by words that people use for the commonest topics."""

from __future__ import annotations

from palimpsest.domain.query_words import FUNCTION_WORDS, folded, words
from palimpsest.domain.records import topic_key

MAX_KEYS = 90  # that are looked up: one read takes a hundred
LONGEST = 3  # words of a key

# What people say for topics that nearly every user has; beginnings of words in scripts without blanks count anywhere.
_SAID_FOR = {
    "residence": "live lives living lived reside home address city town move moved wohne wohnt lebt vive vivo habite"
    " 住 살고 사는 يسكن",
    "employer": "work works working job company employer arbeite arbeitet trabaja trabajo travaille 工作 上班 働 勤"
    " 일하 يعمل",
    "occupation": "job profession occupation role title living beruf profesion metier 职业 職業 직업",
    "birthday": "birthday born geburtstag cumpleanos anniversaire 生日 誕生日 생일",
    "name": "name called heisst heisse llama llamo appelle 名字 名前 이름 اسم",
    "preferred_name": "call nickname",
}
_TOPICS: dict[str, list[str]] = {}
for _topic, _words in _SAID_FOR.items():
    for _word in _words.split():
        _TOPICS.setdefault(folded(_word), []).append(_topic)
_WITHOUT_BLANKS = tuple(word for word in _TOPICS if not word.isascii() and ord(word[0]) >= 0x3040)  # noqa: PLR2004
_SPELLING = {"favourite": "favorite", "colour": "color"}


def topic_keys(text: str) -> tuple[str, ...]:
    """Keys of one to three neighbouring words, the longest first, each also without its plural; then those of topics
    that the words are said for.
    """
    every = words(text)
    said = [_SPELLING.get(word, word) for word in every if word not in FUNCTION_WORDS]
    keys: dict[str, None] = {}
    for length in range(LONGEST, 0, -1):
        for start in range(len(said) - length + 1):
            for last in _singular(said[start + length - 1]):
                key = topic_key(" ".join((*said[start : start + length - 1], last)))
                keys |= {key: None} if key else {}
    known = [topic for word in every for topic in _said_for(word)]
    return tuple(dict.fromkeys((*tuple(keys)[: MAX_KEYS - len(_SAID_FOR)], *known)))


def _said_for(word: str) -> list[str]:
    if word.isascii() or word in _TOPICS:
        return _TOPICS.get(word, [])
    return [topic for part in _WITHOUT_BLANKS if part in word for topic in _TOPICS[part]]


def _singular(word: str) -> tuple[str, ...]:
    if not word.isascii() or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return (word,)
    return word, f"{word[:-3]}y" if word.endswith("ies") else word[:-1]
