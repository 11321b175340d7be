"""Divides texts of any script into sentences, and tells which of them ask, greet, or lean on what
was said before.

The words that it looks for are those of the commonest languages.
"""
# ruff: noqa: RUF001 - the stops and words of other scripts look like those of this one

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Literal

from palimpsest.text.cutting import ELLIPSIS, shortened
from palimpsest.text.sieve import Sieve, word_set

LONGEST = 300
"""The most characters of one sentence; a longer one is divided at its clauses."""
FILLER_WORDS = 12  # a longer sentence says more than hello
SHORT_WORDS, SHORT_LETTERS = 3, 4

# Full stops that end a sentence wherever they stand: CJK, Devanagari, Urdu, Arabic, Armenian,
# Ethiopic, Khmer, Burmese.
_STOPS = "。！？｡।॥۔؟։።፧។။"
_CLOSERS = "\"'”’»›)\\]}」』】）"
# The pattern takes linear time: a run of full stops is matched from its beginning only, and never
# given back.
_END = re.compile(
    rf"[{_STOPS}.!?{ELLIPSIS}](?:(?<=[{_STOPS}])[{_STOPS}]*+[{_CLOSERS}]*+"
    rf"|(?<=[.!?{ELLIPSIS}])(?<![.!?{ELLIPSIS}]{{2}})[.!?{ELLIPSIS}]*+[{_CLOSERS}]*+(?=\s|$))"
)
_CLAUSE = re.compile(r"[;:,—–](?=\s)|[，；：、،؛]")
_ABBREVIATION = re.compile(
    r"(?:(?:^|[\s(\"'])(?:[A-Za-z]|[Dd]r|[Mm]rs?|[Mm]s|[Pp]rof|[Ss]t|[Nn]r|[Vv]s"
    r"|approx|[Cc]a|e\.g|i\.e|z\.B|p\.ex|Sra?"
    r"|Mme|Fig|al)|^\d{1,3})\.$"
)
ABBREVIATED = 8  # characters, with the one before it and the full stop
_TERMINATED = re.compile(rf"[.!?{ELLIPSIS}{_STOPS}][{_CLOSERS}]*$")
_NUMBER = re.compile(r"\d")
_QUESTION = re.compile(r"[?？؟][\"'”’»)」』]*$")
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(
    # Thai to Chinese
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)


_OPENING = r"\W*+"  # marks and blanks before a sentence's first word


def either(
    words: tuple[str, ...], *, attached: tuple[str, ...] = (), flags: int = 0, opening: str = ""
) -> re.Pattern[str]:
    """A pattern for whole words, or for `attached` letters of scripts without spaces between words.
    The lookaheads spare most places all else. `opening` is what may stand before them.

    Without flags it is for a text in lower case: that takes a third of the time of ignoring case.
    """
    letters = [rf"(?![\x00-\x7f])(?:{'|'.join(attached)})"] if attached else []
    found = "|".join((rf"\b(?=\w)(?:{'|'.join(words)})\b", *letters))
    return re.compile(f"{opening}(?:{found})" if opening else found, flags)


# Who the user is and what they like, in their own words; the third person is a model's earlier
# summary.
_WHO_THE_USER_IS = [
    either((words,), flags=re.IGNORECASE)
    for words in (
        (
            r"my name(?:['’]s| is)|call me|this is (?-i:[A-Z])\w+ (?:from|in|at)|the user(?:['’]s "
            r"name| is)"
        ),
        (
            r"i(?:['’]m| am) (?-i:[A-Z])[a-z]+|i(?:['’]m| am) (?!\w+ing\b)\w+ (?:from|at)|(?-i:im) \w+ "
            r"(?:from|at|in)"
        ),
        r"i(?:['’]m| am) (?:allergic|married|\d+|an?(?! bit| little))",
        r"i (?:live|work(?! out)|was born|come from|grew up|moved to|always|never|prefer|love|hate)",
        r"i (?:have|own) (?:an?|one|two|three|four|no|\d+) (?!question|problem|meeting|moment)\w+",
        r"i(?:['’]ve| have) (?:been|worked|lived) (?:with|at|in|for|an?|here|as)",
        (
            r"my (?:wife|husband|partner|girlfriend|boyfriend|son|daughter|kids?|children"
            r"|dog|cat|mother|father)"
        ),
        (
            r"my (?:birthday|e-?mail|phone|address|job|role|title|team|manager|boss|hobby|favou?rite "
            r"\w+) (?:is|are)"
        ),
        r"me llamo|mi nombre es|soy|vivo en|trabajo (?:en|como|para)|prefiero|tengo \d+ años",
        r"je m['’]appelle|je suis|je travaille|j['’]habite|je préfère|j['’]ai \d+ ans",
        r"ich hei(?:ß|ss)e|mein name ist|ich bin|ich arbeite|ich wohne|ich mag",
        r"mi chiamo|io sono|sono (?:un|una|di)|lavoro (?:in|come|per)|abito",
        r"meu nome é|me chamo|chamo-me|eu sou|trabalho (?:em|na|no|como)|moro em",
        (
            r"ik heet|ik ben|mijn naam is|ik werk|ik woon|nazywam się|mam na "
            r"imię|jestem|pracuję|mieszkam"
        ),
        r"меня зовут|мо[её] имя|я (?:работаю|живу|люблю|предпочитаю)|мне \d+ (?:лет|год)",
        r"(?:benim )?adım|tôi tên|tên tôi|tôi là|nama saya|saya adalah",
    )
]
_WHO_THE_USER_IS.append(
    re.compile(
        r"我叫|我是|我的名字|我姓|我住|我喜欢|我不吃|我对.{1,12}过敏|私は|私の名前|僕は|俺は|と申します|と言います"
        r"|저는|제 이름|나는|내 이름|اسمي|أنا |أعمل |أسكن |मेरा नाम|मैं .{1,40}(?:हूँ|हूं)|שמי |אני |ชื่อ"
    )
)
_WHO_SIEVE = Sieve([pattern.pattern for pattern in _WHO_THE_USER_IS], re.IGNORECASE)
# Greetings, thanks and offers of help: the beginning of a sentence that says nothing.
_FILLER = either(
    (
        (
            r"hi|hello|hey|thanks?|thx|thank you|ok|okay|great|perfect|sure|of "
            r"course|absolutely|certainly|wonderful"
        ),
        (
            r"you['’]?re welcome|any ?time|no problem|got it|noted|sounds good|let me know|feel "
            r"free|please let|have an?"
        ),
        (
            r"(?:no|nope)?,? ?that['’]?s (?:great|helpful|good|all|it)|(?:is|was) there "
            r"anything|anything else"
        ),
        (
            r"(?:how|what) (?:can|may) i|(?:i['’]?(?:d|ll|m)|i (?:would|will|am))? ?(?:be )?(?:very "
            r")?(?:happy|glad) to"
        ),
        (
            r"i hope(?! to\b)|i see(?! an?\b| my\b)|goodbye|bye|good "
            r"(?:morning|afternoon|evening|question|luck)|enjoy"
        ),
        r"yes,? please",
        (
            r"hola|gracias|de nada|perfecto|claro|vale|genial|bonjour|merci|de "
            r"rien|parfait|hallo|danke|bitte|super"
        ),
        r"ciao|grazie|prego|perfetto|certo|olá|obrigad\w+|perfeito|hoi|bedankt",
        r"привет|здравствуйте|спасибо|пожалуйста|хорошо|отлично",
    ),
    attached=(
        r"谢谢|你好|您好|好的|不客气|ありがとう|こんにちは|감사|안녕|شكرا|مرحبا|أهلا|धन्यवाद|नमस्ते",
    ),
    opening=_OPENING,
)
# An answer that begins with these words, or is hardly longer, says little without its question.
_SHORT_ANSWER = either(
    (
        (
            r"yes|yeah|yep|no|nope|it|that|this|they|both|neither|sí|si|oui|non|ja|nein"
            r"|nee|sim|não|да|нет"
        ),
    ),
    attached=(r"是的|不是|对|はい|いいえ|네|아니|نعم|لا |हाँ|नहीं",),
    opening=_OPENING,
)

Says = Literal["something", "little", "question", "nothing"]


def sentences(text: str) -> Iterator[str]:
    """The text's sentences in order, with single spaces; the end of a line ends a sentence."""
    for line in text.splitlines():
        whole = " ".join(line.split())
        for start, end in pairwise((0, *_ends(whole), len(whole))):
            sentence = whole[start:end].strip()
            if len(sentence) > LONGEST:
                yield from clauses(sentence, longest=LONGEST)
            elif sentence:
                yield sentence


def sentences_at_the_ends(text: str, *, most: int) -> Iterable[str]:
    """All sentences of a text of at most `most` characters; of a longer one those of its beginning
    and of its end.
    """
    if len(text) <= most:
        return sentences(text)
    half = most // 2
    beginning, end = list(sentences(text[:half])), list(sentences(text[-half:]))
    return (*beginning[:-1], *end[1:])  # those at the cut may be parts


def is_terminated(sentence: str) -> bool:
    """Whether the sentence ends with a full stop or another final mark of any script."""
    return bool(_TERMINATED.search(sentence[-8:]))


def clauses(sentence: str, *, longest: int) -> Iterator[str]:
    """The sentence in parts of at most `longest` characters: divided at clauses if it has any, else
    between words, else between characters.
    """
    start = 0
    while len(sentence) - start > longest:
        end = _clause_end(sentence, start, longest)
        if part := sentence[start:end].strip():
            yield part
        start = end
    if part := sentence[start:].strip():
        yield part


def _clause_end(sentence: str, start: int, longest: int) -> int:
    least, limit = start + longest // 4, start + longest
    if ends := [match.end() for match in _CLAUSE.finditer(sentence, least, limit)]:
        return ends[-1]
    blank = sentence.rfind(" ", least, limit)
    if blank > 0:
        return blank
    beginning, size = shortened(sentence[start : limit + 1], limit=longest, count=len)
    return start + (len(beginning.removesuffix(ELLIPSIS)) or size or longest)


def _ends(line: str) -> Iterator[int]:
    """Where sentences end before the line does."""
    for match in _END.finditer(line):
        end = match.end()
        may_go_on = match[0] == "." and (
            end == len(line) or _ABBREVIATION.search(line, max(0, end - ABBREVIATED), end)
        )
        if not may_go_on:
            yield end


def is_question(sentence: str) -> bool:
    return bool(_QUESTION.search(sentence[-8:]))


def is_filler(sentence: str, bag: frozenset[str]) -> bool:
    """Whether a sentence with these words (`bag`) is a greeting, thanks or an offer of help, or
    hardly a word.
    """
    return _is_polite(sentence, bag) or (
        len(sentence) < SHORT_LETTERS and not _NUMBER.search(sentence)
    )


def _is_polite(sentence: str, bag: frozenset[str]) -> bool:
    """Whether a sentence is a greeting, thanks or an offer of help."""
    return (
        len(bag) <= FILLER_WORDS
        and bool(_FILLER.match(sentence.lower()))
        and not _NUMBER.search(sentence)
    )


def says(text: str) -> Says:
    """What a whole text says: `question` where it ends with one, `nothing` where each of its
    sentences is a greeting, thanks or an offer, `little` where it has so few words that it leans on
    what was said before it, else `something`.
    """
    if is_question(text.rstrip()):
        return "question"
    if all(
        _is_polite(one, words(one)) and not tells_who_the_user_is(one) for one in sentences(text)
    ):
        return "nothing"
    return "little" if len(words(text)) <= SHORT_WORDS else "something"


def leans_on_a_question(sentence: str) -> bool:
    """Whether it says little without the question before it."""
    return len(words(sentence)) <= SHORT_WORDS or _SHORT_ANSWER.match(sentence.lower()) is not None


def tells_who_the_user_is(sentence: str) -> bool:
    """Whether users say in it who they are or what they like."""
    return any(
        _WHO_THE_USER_IS[number].search(sentence) for number in _WHO_SIEVE.candidates(sentence)
    )


def words(sentence: str) -> frozenset[str]:
    """The sentence's words in lower case; where a script writes no blanks, its pairs of
    characters.
    """
    if sentence.isascii():
        return word_set(sentence.lower())
    found: set[str] = set()
    for word in _WORD.findall(sentence.casefold()):
        if _UNSPACED.search(word):
            found.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        else:
            found.add(word)
    return frozenset(found)
