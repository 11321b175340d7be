"""Takes a sentence apart into its statements, so that a correction of one leaves the others as they are."""
# ruff: noqa: RUF001 - words and marks of many scripts

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from palimpsest.extraction.remarks import without_greeting
from palimpsest.text.sentences import is_terminated
from palimpsest.text.sieve import lowered, word_set

_OWN = r"i\b|i['’]|my\b|our\b|ich\b|meine?\b|unsere?\b|vivo\b|trabajo\b|me (?:llamo|gusta)\b|mi\b|j['’]|je\b|mon\b|ma\b"
_AND = "and|but|und|aber|y|pero|et|mais"
_JOINING = f"{_AND}|who|with"
_VERB = (
    "live|work|love|like|hate|prefer|enjoy|have|own|speak|play|study|teach|drive|collect|drink|eat|moved|grew up|am"
    "|need|want|started|joined|study|run|own|wohne|lebe|arbeite|mag|liebe|hasse|habe|bin|spreche|spiele|studiere|esse|trinke"
)
_BLANK = r"(?:(?<=,)\s|(?<=\s))\s*"
_JOINTS = re.compile(
    rf"[\s,;，](?:(?<=\S)|(?=\s|(?:{_JOINING})\s))(?:{_BLANK}(?:{_AND})\s+(?={_OWN})|(?<=[,;])\s+(?={_OWN})|(?<=，)(?=我)"
    rf"|(?P<elided>{_BLANK}(?:{_AND})\s+(?=(?:{_VERB})\b)|(?<=,)\s+(?=(?:{_VERB})\b))"
    rf"|(?P<who>{_BLANK}(?=who (?:is|was|has|had|lives?|works?|loves?|likes?|hates?|plays?|studies|needs?)\b))"
    rf"|(?P<with>{_BLANK}(?=with (?:my|our|an?)\b)))"
)
"""Where another statement may begin: with its own subject, without one, about who was named, or with whom it is. For a
text in lower case.
"""
_JOINING_WORDS = frozenset(_JOINING.split("|"))
_SUBJECT = re.compile(
    r"^\W*(?:(?:hi|hello|hey|hallo|well|ok|okay|oh|so|and|but|actually|sorry)\b\W*)*(I|ich)\b", re.IGNORECASE
)
_OWN_CLAUSE = re.compile(
    rf"^\W*(?:{_OWN})[^,;]*?(?:\b(?:am|is|are|was|were|has|have|had|lives?|works?|likes?|loves?|hates?|needs?|wants?"
    r"|prefers?|plays?|speaks?|studies|goes|turns?|can|will|moved|grew|started|joined|study|drive|run|ist|sind|bin|war|hat|habe|haben|heißt|wohnt|lebt"
    r"|arbeitet|mag|liebt|est|sont|habite|travaille|aime|es|son|tiene|vive|trabaja)\b|['’](?:s|re|m|ve)\b)",
    re.IGNORECASE,
)
_ANTECEDENT = re.compile(r"\b(?:my|our|an?) [^,;]{1,60}$", re.IGNORECASE)
_HEAD = re.compile(r"^.*?\bI\b[^,;]*?\b(?:live|living|stay|staying|moved|relocated|work|working)\b", re.IGNORECASE)
_SEVERAL_WORDS = re.compile(r"\w\W+\w|[\u3040-\u9fff]{2}")

_NO_ITEM = (
    "and|or|but|with|in|at|on|for|to|of|from|by|as|than|who|which|that|when|if|because|since|so|not|especially|except"
    "|only|it|is|are|was|I|you|he|she|they|we|und|oder|y|o|et|ou"
)
_ITEM = rf"(?!(?:{_NO_ITEM})\b)[\w'’-]+(?: (?!(?:{_NO_ITEM})\b)[\w'’-]+){{0,2}}"
_LIST = re.compile(
    rf"(?P<first>{_ITEM})(?P<middle>(?:, {_ITEM})*),? (?:and|or|und|oder|y|o|et|ou) (?P<last>{_ITEM})\W*", re.IGNORECASE
)


def parts(sentence: str, *, is_known: Callable[[str], bool]) -> Sequence[tuple[str, str]]:
    """The statements that the sentence joins, or the whole sentence, each with the words of the sentence that it rests
    on: they differ where the sentence says a word once for several statements.

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
    """The sentence cut at its joints: the kind of the joint before each clause, the joint, and the clause."""
    start, kind, joint = 0, None, ""
    for found in _JOINTS.finditer(lowered(sentence)):
        if _SEVERAL_WORDS.search(sentence, start, found.start()):
            yield kind, joint, sentence[start : found.start()]
            start, kind, joint = found.end(), found.lastgroup, sentence[slice(*found.span())]
    yield kind, joint, sentence[start:]


def _completed(kind: str | None, before: str, clause: str) -> str | None:
    """The clause as a statement of its own, with what it takes from the clause before; None if that lacks it."""
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
    """The statement once for each thing that it lists from `start` on: "I like tea and jazz" says two things."""
    found = _LIST.fullmatch(statement, start)
    if found is None:
        return [statement]
    items = [found["first"], *found["middle"].split(", ")[1:], found["last"]]
    return [statement[:start] + item for item in items]


def ended(statement: str) -> str:
    """The statement, which was cut out of a sentence, with a full stop at its end."""
    text = statement.rstrip(" ,;:，；、")
    return text if is_terminated(text) else text + ("。" if text[-1:] >= "\u3000" else ".")
