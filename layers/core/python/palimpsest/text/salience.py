"""Rates how much a sentence is worth remembering, without a model: by names, numbers, decisions and who is speaking.

The words that it looks for are those of the commonest languages.
"""
# ruff: noqa: RUF001 - words of many scripts

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from palimpsest.text.sentences import sentences
from palimpsest.text.sieve import Sieve

USER, ASSISTANT, TOOL, NOBODY = "user", "assistant", "tool", ""
BASE = {USER: 1.0, ASSISTANT: 0.8, TOOL: 0.1, NOBODY: 1.2}  # nobody: a line of an earlier summary without a speaker
NOISY = 0.2  # share of characters that are neither letters, digits nor blanks: code, tables, data
OFTEN = 0.2  # of all sentences: a word in more of them says nothing about the topic
FILLER_WORDS = 12  # a longer sentence says more than hello
SHORT_WORDS, SHORT_LETTERS = 3, 4

_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
# Both are linear: a run of letters is tried from its beginning only.
_IDENTIFIER = re.compile(r"(?<![^\W\d_])[^\W\d_]++[-_/]?\d|\S@\S+\.\w|https?://")
_FACT = re.compile(r"(?<![^\W\d_])[^\W\d_]++[-_/]?\d[\w-]*|(?<!\S)\S+@\S+|\d+(?:[.,:/]\d+)*\s?[^\W\d_]*")
_NAME = re.compile(r"(?<=[\w,;:] )[A-ZÀ-ÞА-ЯΑ-Ω][\w'’-]+")
_QUESTION = re.compile(r"[?？؟][\"'”’»)」』]*$")
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"  # Thai to Chinese
)
_OPENING = re.compile(r"\W*")
_NOISE = re.compile(r"[^\w\s]|_")  # neither letter, digit nor blank


def _either(words: tuple[str, ...], *, attached: tuple[str, ...] = (), flags: int = 0) -> re.Pattern[str]:
    """A pattern for whole words, or for `attached` letters of scripts without spaces between words. The lookaheads
    spare most places all else.

    Without flags it is for a text in lower case: that takes a third of the time of ignoring case.
    """
    letters = [rf"(?![\x00-\x7f])(?:{'|'.join(attached)})"] if attached else []
    return re.compile("|".join((rf"\b(?=\w)(?:{'|'.join(words)})\b", *letters)), flags)


# Who the user is and what they like, in their own words; the third person is a model's earlier summary.
_WHO = _either(
    (
        r"my name(?:['’]s| is)|call me|this is (?-i:[A-Z])\w+ (?:from|in|at)|the user(?:['’]s name| is)",
        r"i(?:['’]m| am) (?-i:[A-Z])[a-z]+|i(?:['’]m| am) (?!\w+ing\b)\w+ (?:from|at)|(?-i:im) \w+ (?:from|at|in)",
        r"i(?:['’]m| am) (?:allergic|married|\d+|an?(?! bit| little))",
        r"i (?:live|work(?! out)|was born|come from|grew up|moved to|always|never|prefer|love|hate)",
        r"i (?:have|own) (?:an?|one|two|three|four|no|\d+) (?!question|problem|meeting|moment)\w+",
        r"i(?:['’]ve| have) (?:been|worked|lived) (?:with|at|in|for|an?|here|as)",
        r"my (?:wife|husband|partner|girlfriend|boyfriend|son|daughter|kids?|children|dog|cat|mother|father)",
        r"my (?:birthday|e-?mail|phone|address|job|role|title|team|manager|boss|hobby|favou?rite \w+) (?:is|are)",
        r"me llamo|mi nombre es|soy|vivo en|trabajo (?:en|como|para)|prefiero|tengo \d+ años",
        r"je m['’]appelle|je suis|je travaille|j['’]habite|je préfère|j['’]ai \d+ ans",
        r"ich hei(?:ß|ss)e|mein name ist|ich bin|ich arbeite|ich wohne|ich mag",
        r"mi chiamo|io sono|sono (?:un|una|di)|lavoro (?:in|come|per)|abito",
        r"meu nome é|me chamo|chamo-me|eu sou|trabalho (?:em|na|no|como)|moro em",
        r"ik heet|ik ben|mijn naam is|ik werk|ik woon|nazywam się|mam na imię|jestem|pracuję|mieszkam",
        r"меня зовут|мо[её] имя|я (?:работаю|живу|люблю|предпочитаю)|мне \d+ (?:лет|год)",
        r"(?:benim )?adım|tôi tên|tên tôi|tôi là|nama saya|saya adalah",
    ),
    attached=(
        r"我叫|我是|我的名字|我姓|我住|我喜欢|我不吃|我对.{1,12}过敏|私は|私の名前|僕は|俺は|と申します|と言います",
        r"저는|제 이름|나는|내 이름|اسمي|أنا |أعمل |أسكن |मेरा नाम|मैं .{1,40}(?:हूँ|हूं)|שמי |אני |ชื่อ",
    ),
    flags=re.IGNORECASE,
)
_FIRST_PERSON = _either(
    (
        r"i|i['’]\w+|my|mine|we|we['’]\w+|our|us",
        r"je|j['’]\w+|mon|mes|nous|notre|yo|mi|mis|nosotros|ich|mein\w*|mir|mich|wir|unser\w*",
        r"mio|mia|noi|eu|meu|minha|nós|ik|mijn|wij|moj\w*|mój|ben|benim|bizim|tôi|saya|aku",
        r"я|мой|моя|мо[её]|мне|меня|мы|наш\w*",
    ),
    attached=(r"我|咱|私|僕|俺|わたし|저는|제가|나는|내가|우리|أنا|عندي|لدي|أريد|मैं|मेर|मुझे|हम|אני|שלי|ฉัน|ผม",),
)
_NUMBER_WORD = _either(
    (
        r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand",
        r"million|half|dos|tres|cuatro|cinco|seis|siete|ocho|diez|cien|deux|trois|quatre|cinq|sept|huit|dix|cent",
        r"zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|hundert|due|tre|quattro|cinque|dieci|dois|três|dez",
        r"два|две|три|четыре|пять|шесть|семь|десять|сто",
        r"january|february|march|april|june|july|august|september|october|november|december|deadline",
        r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|daily|weekly|monthly|yearly|annual\w*|tomorrow|tonight",
    ),
    attached=(r"[一二三四五六七八九十百千万两]+个?[天日周月年次元块岁人]", r"[월화수목금토일]요일"),
)
# What was decided, allowed, asked for, preferred or corrected.
_SETTLED = _either(
    (
        r"decid\w+|decision|agree\w*|must|have to|need\w*|should|requir\w+|approv\w+|allow\w*|eligib\w+|prefer\w*",
        r"favou?rite|always|never|allerg\w+|plan\w*|policy|promis\w+|confirm\w*|cancel\w*|chose\w*|choose|goal",
        r"important|remember|instead|actually|changed?|moved|correct\w*|appeal|escalat\w+|love|hate|cannot",
        r"can['’]t|up to|at least|at most|only|until|no longer",
        r"acord\w+|debe\w*|prefier\w+|siempre|nunca|alérgic\w+|doit|doivent|décid\w+|préfèr\w+|toujours|jamais",
        r"entschied\w+|muss|müssen|immer|niemals|bevorzug\w+|vereinbart|sempre|mai|devo|deve|prefiro|moet",
        r"решил\w*|нужно|долж\w+|всегда|никогда|предпочита\w+|нельзя|можно",
    ),
    attached=(
        r"决定|必须|需要|喜欢|总是|从不|过敏|同意|计划|不能|最多|至少|決め|必要|好き|アレルギー|予定|いつも",
        r"결정|필요|좋아|항상|알레르기|قرر|يجب|أحتاج|أفضل|دائما|حساسية|ज़रूरी|हमेशा|पसंद|फैसला",
    ),
)
SETTLED, NUMBER_WORD, WHO = range(3)
_SIEVE = Sieve([_SETTLED.pattern, _NUMBER_WORD.pattern, _WHO.pattern])
# Greetings, thanks and offers of help: the beginning of a sentence that says nothing.
_FILLER = _either(
    (
        r"hi|hello|hey|thanks?|thx|thank you|ok|okay|great|perfect|sure|of course|absolutely|certainly|wonderful",
        r"you['’]?re welcome|any ?time|no problem|got it|noted|sounds good|let me know|feel free|please let|have an?",
        r"(?:no|nope)?,? ?that['’]?s (?:great|helpful|good|all|it)|(?:is|was) there anything|anything else",
        r"(?:how|what) (?:can|may) i|(?:i['’]?(?:d|ll|m)|i (?:would|will|am))? ?(?:be )?(?:very )?(?:happy|glad) to",
        r"i hope(?! to\b)|i see(?! an?\b| my\b)|goodbye|bye|good (?:morning|afternoon|evening|question|luck)|enjoy",
        r"yes,? please",
        r"hola|gracias|de nada|perfecto|claro|vale|genial|bonjour|merci|de rien|parfait|hallo|danke|bitte|super",
        r"ciao|grazie|prego|perfetto|certo|olá|obrigad\w+|perfeito|hoi|bedankt",
        r"привет|здравствуйте|спасибо|пожалуйста|хорошо|отлично",
    ),
    attached=(r"谢谢|你好|您好|好的|不客气|ありがとう|こんにちは|감사|안녕|شكرا|مرحبا|أهلا|धन्यवाद|नमस्ते",),
)
# An answer that begins with these words, or is hardly longer, says little without its question.
_SHORT_ANSWER = _either(
    (r"yes|yeah|yep|no|nope|it|that|this|they|both|neither|sí|si|oui|non|ja|nein|nee|sim|não|да|нет",),
    attached=(r"是的|不是|对|はい|いいえ|네|아니|نعم|لا |हाँ|नहीं",),
)


Says = Literal["something", "little", "question", "nothing"]


@dataclass(frozen=True, slots=True)
class Worth:
    """What a sentence is worth. `who` says whether it tells who the user is."""

    score: float
    who: bool


def facts(sentence: str) -> frozenset[str]:
    """The numbers of a sentence, each with the word behind it, and its identifiers; by them repetitions are found."""
    return frozenset(match.group().casefold() for match in _FACT.finditer(sentence))


def is_question(sentence: str) -> bool:
    return bool(_QUESTION.search(sentence[-8:]))


@lru_cache(maxsize=8)
def is_own(sentence: str) -> bool:
    """Whether it speaks in the first person."""
    return bool(_FIRST_PERSON.search(sentence.lower()))


def is_filler(sentence: str, bag: frozenset[str]) -> bool:
    """Whether a sentence with these words (`bag`) is a greeting, thanks or an offer of help."""
    if len(bag) > FILLER_WORDS or _NUMBER.search(sentence):
        return False
    return _begins(_FILLER, sentence) or len(sentence) < SHORT_LETTERS


def says(text: str) -> Says:
    """What a whole text says: `question` where it ends with one, `nothing` where each of its sentences is filler,
    `little` where it has so few words that it leans on what was said before it, else `something`.
    """
    if is_question(text.rstrip()):
        return "question"
    if all(is_filler(one, words(one)) and not _WHO.search(one) for one in sentences(text)):
        return "nothing"
    return "little" if len(words(text)) <= SHORT_WORDS else "something"


def leans_on_a_question(sentence: str) -> bool:
    """Whether it says little without the question before it."""
    return _begins(_SHORT_ANSWER, sentence) or len(words(sentence)) <= SHORT_WORDS


def words(sentence: str) -> frozenset[str]:
    """The sentence's words in lower case; where a script writes no blanks, its pairs of characters."""
    if sentence.isascii():
        return frozenset(_WORD.findall(sentence.lower()))
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
    """Rate a sentence by itself. `bag` holds its words, `topic` the words that the conversation is about."""
    asks = is_question(sentence)
    own = speaker in (USER, NOBODY)
    likely = _SIEVE.candidates(sentence)
    who = own and not asks and WHO in likely and bool(_WHO.search(sentence))
    facts = _facts(sentence, has_number_words=NUMBER_WORD in likely)
    # A tool's output is full of numbers: they count little there.
    score = BASE.get(speaker, 0.0) + (0.4 * min(2, facts) if speaker == TOOL else 1.0 * min(4, facts))
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
    if is_filler(sentence, bag) and not who:
        score -= 3.0
    if _noise(sentence) > NOISY:
        score -= 2.0
    return Worth(score, who)


def _facts(sentence: str, *, has_number_words: bool) -> int:
    """How many numbers, dates, sums and identifiers it has."""
    found = len(_NUMBER.findall(sentence))
    if found or "@" in sentence or "://" in sentence:
        found += len(_IDENTIFIER.findall(sentence))
    if has_number_words:
        found += len(_NUMBER_WORD.findall(sentence.lower()))
    return found


def _begins(marks: re.Pattern[str], sentence: str) -> bool:
    opening = _OPENING.match(sentence)
    return bool(marks.match(sentence.lower(), opening.end() if opening else 0))


def _noise(sentence: str) -> float:
    return len(_NOISE.findall(sentence)) / max(1, len(sentence))
