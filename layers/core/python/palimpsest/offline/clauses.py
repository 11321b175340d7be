"""What one sentence of a user says: its statements one by one, so that a correction of one leaves
the others as they are; and the greetings, requests, jokes and remarks that say nothing to remember.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - words and marks of many scripts
import re
from collections.abc import Callable, Iterator, Sequence

from palimpsest.offline.people import NAME
from palimpsest.text.analyser import function_words, words
from palimpsest.text.sentences import is_terminated
from palimpsest.text.triggers import lowered, word_set

_GREETED = (
    r"^\W*\b(?:hi|hello|hey|hallo|moin|servus|good (?:morning|afternoon|evening|day)|guten "
    r"(?:tag|morgen|abend))\b"
    r"(?: there| all| everyone| zusammen)?+"
)
GREETING = rf"{_GREETED}[,!. ]+"
_REQUEST = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|and|now|then|hey|please|bitte|por favor|so)\b[,!]? ?)*"
    r"(?:(?:show|tell|write|give|explain|help|find|list|make|create|translate|summari[sz]e"
    r"|describe|compare|generate|fix"
    r"|check|look|let['’]?s|suggest|recommend|draft|rewrite|convert|calculate"
    r"|book|send|search|open|play|try|add|remove|call)\b"
    r"|I(?:['’]d like| want| need| would like) to (?:know|ask|see|understand)\b"
    r"|(?:zeig|gib|schreib|erklär|hilf|übersetz|mach|such|nenne|fass)(?:e|en sie)?\b(?! mich)"
    r"|(?:muéstra|da|escríbe|explíca|ayúda|tradúce|dí)me\b|(?:escribe|explica|traduce|haz|busca)\b"
    r"|(?:montre|donne|explique|aide|dis)(?:z|s)?-?(?:moi)?\b|(?:écris|traduis|fais|cherche)\b"
    r"|请?(?:帮我|给我|告诉我|写|解释|翻译|列出))",
    re.IGNORECASE,
)
_REQUEST_AT_THE_END = re.compile(r"(?:ください|教えて|お願いします?)[。！]?$")
_EMPTY = re.compile(
    r"^\W*(?:(?:well|ok(?:ay)?|so|and|but|oh|ah|hm+|yes|no|yeah|actually|honestly|sorry"
    r"|thanks?)\b\W*)*"
    r"(?:i(?:['’](?:m|ll|d|ve))?|ich|je|yo)?\b ?"
    r"(?:(?:am|was|just|really|also|still|do|totally|completely|so|very) )*"
    r"(?:see(?=\W*$| (?:what|that|how|why|your|it)\b)|(?:get|got) "
    r"(?:it|that)|understand|(?:dis)?agree|guess|suppose"
    r"|think|believe(?! in)|hope(?! to)|wonder(?:ing)?|mean|know(?=\W*$| "
    r"(?:that|what|how|why|it|this|you)\b)"
    r"|(?:don['’]t|do not) (?:know|think|mind|understand)|can['’]t (?:believe|tell|say)|appreciate"
    r"|(?:not )?sure|sorry"
    r"|glad|happy to|fine|good(?! at)|ok(?:ay)?|ready|back|here|done|confused|just asking|looking "
    r"forward|trying"
    r"|listening|(?:will |['’]ll )?(?:try|check|do|get back|let you know|wait)"
    r"|(?:would |['’]d )?(?:like|love) to (?:know|hear|ask)|have (?:a|another|one more|some) "
    r"(?:\w+ )?questions?"
    r"|need (?:your |some |a bit of )?help|(?:love|like) (?:it|that|this)"
    r"|verstehe|weiß (?:es )?nicht|denke|glaube|hoffe|entiendo|no sé|creo|comprends|vois|pense)\b"
)
_OWN_THING = re.compile(r"\b(?:my|our|mein\w*|unser\w*|mon|ma|mes|mis?)\b|\d", re.IGNORECASE)
_NAMED = re.compile(r"(?<=\w )(?!I\b)[A-ZÀ-Þ][\w'’-]+")
FEW_WORDS = 2


_JEST = re.compile(r"\b(?:just|only|I['’]m|am) (?:kidding|joking)\b", re.IGNORECASE)
_IS_GREETED = re.compile(rf"{GREETING}(?=\w)", re.IGNORECASE)
_LEADS_IN = re.compile(
    r"(?:(?:oh|ah|ok(?:ay)?|well),? )?(?:one more thing|by the way|btw|fyi|anyway|übrigens|ach "
    r"ja)[,:]? (?=\w)",
    re.IGNORECASE,
)
_ONLY_GREETS = re.compile(rf"{_GREETED}[!,. ]*", re.IGNORECASE)
_INTRODUCES = re.compile(rf"(?:this is|I['’]?m|I am) {NAME}", re.IGNORECASE)


def asks_for_something(text: str) -> bool:
    """Whether the text is a request to do something now, which says nothing to remember."""
    return bool(_REQUEST.match(text) or _REQUEST_AT_THE_END.search(text))


def is_in_jest(text: str) -> bool:
    """Whether the text takes back what it says."""
    return ("kidding" in text or "joking" in text) and bool(_JEST.search(text))


def without_greeting(text: str) -> str:
    """The text without the greeting that it begins with, unless it is nothing else."""
    found = _IS_GREETED.match(text)
    return text[found.end() :] if found else text


def to_the_point(text: str) -> str:
    """The text without a greeting or a phrase that only leads to what it says: "By the way, I'm
    Mira.".
    """
    said = without_greeting(text)
    lead = _LEADS_IN.match(said)
    said = said[lead.end() :] if lead else said
    return text if said is text else said[0].upper() + said[1:]


def with_greeting(sentences: list[str]) -> list[str]:
    """The sentences, a first one that only greets together with the next: "Hey!" and "I'm Mira."
    say a name.
    """
    if (
        len(sentences) > 1
        and _ONLY_GREETS.fullmatch(sentences[0])
        and _INTRODUCES.match(sentences[1])
    ):
        return [f"{sentences[0]} {sentences[1]}", *sentences[2:]]
    return sentences


def _names_something(word: str) -> bool:
    return (
        len(word) > FEW_WORDS or word.isdigit() or not word.isascii()
    ) and word not in function_words()


def says_nothing(text: str) -> bool:
    """Whether the text is a remark on the conversation ("I see what you mean"), or has no word that
    names anything.
    """
    if not any(map(_names_something, words(text))):
        return True
    empty = _EMPTY.match(lowered(text))
    if empty is None or _OWN_THING.search(text) or _NAMED.search(text):
        return False
    return len(set(words(text[empty.end() :])) - function_words()) <= FEW_WORDS


_OWN = r"i\b|i['’]|my\b|our\b|ich\b|meine?\b|unsere?\b|vivo\b|trabajo\b|me (?:llamo|gusta)\b|mi\b|j['’]|je\b|mon\b|ma\b"
_AND = "and|but|und|aber|y|pero|et|mais"
_JOINING = f"{_AND}|who|with"
_VERB = (
    "live|work|love|like|hate|prefer|enjoy|have|own|speak|play|study|teach|drive|collect|drink|eat|moved|grew up|am"
    "|need|want|started|joined|study|run|own|wohne|lebe|arbeite|mag|liebe|hasse|habe|bin|spreche|spiele|studiere|esse|trinke"
)
_BLANK = r"(?:(?<=,)\s|(?<=\s))\s*"
_JOINTS = re.compile(
    rf"[\s,;，](?:(?<=\S)|(?=\s|(?:{_JOINING})\s))(?:{_BLANK}(?:{_AND})\s+(?={_OWN})"
    rf"|(?<=[,;])\s+(?={_OWN})|(?<=，)(?=我)"
    rf"|(?P<elided>{_BLANK}(?:{_AND})\s+(?=(?:{_VERB})\b)|(?<=,)\s+(?=(?:{_VERB})\b))"
    rf"|(?P<who>{_BLANK}(?=who (?:is|was|has|had|lives?|works?|loves?|likes?|hates?|plays?|studies"
    rf"|needs?)\b))"
    rf"|(?P<with>{_BLANK}(?=with (?:my|our|an?)\b)))"
)
"""Where another statement may begin: with its own subject, without one, about who was named, or
with whom it is. For a text in lower case.
"""
_JOINING_WORDS = frozenset(_JOINING.split("|"))
_SUBJECT = re.compile(
    r"^\W*(?:(?:hi|hello|hey|hallo|well|ok|okay|oh|so|and|but|actually|sorry)\b\W*)*(I|ich)\b",
    re.IGNORECASE,
)
_OWN_CLAUSE = re.compile(
    rf"^\W*(?:{_OWN})[^,;]*?(?:\b(?:am|is|are|was|were|has|have|had|lives?"
    rf"|works?|likes?|loves?|hates?|needs?|wants?"
    r"|prefers?|plays?|speaks?|studies|goes|turns?|can|will|moved|grew"
    r"|started|joined|study|drive|run|ist|sind|bin|war|hat|habe|haben|heißt|wohnt|lebt"
    r"|arbeitet|mag|liebt|est|sont|habite|travaille|aime|es|son|tiene|vive"
    r"|trabaja)\b|['’](?:s|re|m|ve)\b)",
    re.IGNORECASE,
)
_ANTECEDENT = re.compile(r"\b(?:my|our|an?) [^,;]{1,60}$", re.IGNORECASE)
_HEAD = re.compile(
    r"^.*?\bI\b[^,;]*?\b(?:live|living|stay|staying|moved|relocated|work|working)\b", re.IGNORECASE
)
_SEVERAL_WORDS = re.compile(r"\w\W+\w|[\u3040-\u9fff]{2}")

_NO_ITEM = (
    "and|or|but|with|in|at|on|for|to|of|from|by|as|than|who|which|that|when|if|because|since|so|not|especially|except"
    "|only|it|is|are|was|I|you|he|she|they|we|und|oder|y|o|et|ou"
)
_ITEM = rf"(?!(?:{_NO_ITEM})\b)[\w'’-]+(?: (?!(?:{_NO_ITEM})\b)[\w'’-]+){{0,2}}"
_LIST = re.compile(
    rf"(?P<first>{_ITEM})(?P<middle>(?:, {_ITEM})*),? (?:and|or|und|oder|y|o|et|ou) "
    rf"(?P<last>{_ITEM})\W*",
    re.IGNORECASE,
)


def parts(sentence: str, *, is_known: Callable[[str], bool]) -> Sequence[tuple[str, str]]:
    """The statements that the sentence joins, or the whole sentence, each with the words of the
    sentence that it rests on: they differ where the sentence says a word once for several
    statements.

    `is_known` says whether a text is a statement of a known kind. Each clause is looked at once.
    """
    joined = list(_clauses(sentence)) if _may_join(sentence) else ()
    if len(joined) <= 1:
        return [(sentence, sentence)]
    found = []
    part, states = "", False
    for kind, joint, clause in joined:
        says = is_known(clause) or bool(_OWN_CLAUSE.match(without_greeting(clause)))
        own = _completed(kind, part, clause) if states else None
        if own is not None and (kind is not None or says):
            found.append(part)
            part, states = own, True
        else:
            part, states = part + joint + clause, states or says
    return [(each, each if each in sentence else sentence) for each in (*found, part)]


def _may_join(sentence: str) -> bool:
    """Whether the sentence has a mark or a word of which each joint has one."""
    has_mark = "," in sentence or ";" in sentence or "，" in sentence
    return has_mark or not _JOINING_WORDS.isdisjoint(word_set(lowered(sentence)))


def _clauses(sentence: str) -> Iterator[tuple[str | None, str, str]]:
    """The sentence cut at its joints: the kind of the joint before each clause, the joint, and the
    clause.
    """
    start, kind, joint = 0, None, ""
    for found in _JOINTS.finditer(lowered(sentence)):
        if _SEVERAL_WORDS.search(sentence, start, found.start()):
            yield kind, joint, sentence[start : found.start()]
            start, kind, joint = found.end(), found.lastgroup, sentence[slice(*found.span())]
    yield kind, joint, sentence[start:]


def _completed(kind: str | None, before: str, clause: str) -> str | None:
    """The clause as a statement of its own, with what it takes from the clause before; None if that
    lacks it.
    """
    match kind:
        case "elided":
            subject = _SUBJECT.match(before)
            return f"{subject[1]} {clause}" if subject else None
        case "who":
            antecedent = _ANTECEDENT.search(before)
            return f"{antecedent[0]}, {clause}" if antecedent else None
        case "with":
            head = _HEAD.match(before)
            return f"{head[0]} {clause}" if head and head[0] != before else None
    return clause


def objects(statement: str, *, start: int) -> list[str]:
    """The statement once for each thing that it lists from `start` on: "I like tea and jazz" says
    two things.
    """
    found = _LIST.fullmatch(statement, start)
    if found is None:
        return [statement]
    items = [found["first"], *found["middle"].split(", ")[1:], found["last"]]
    return [statement[:start] + item for item in items]


def ended(statement: str) -> str:
    """The statement, which was cut out of a sentence, with a full stop at its end."""
    text = statement.rstrip(" ,;:，；、")
    return text if is_terminated(text) else text + ("。" if text[-1:] >= "\u3000" else ".")
