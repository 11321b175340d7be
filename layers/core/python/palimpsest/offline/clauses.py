"""Divides a user's sentence into its statements, so that a correction of one statement leaves the
others unchanged. Recognizes greetings, requests, jokes and remarks, which contain nothing to
remember.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - words and marks of many scripts
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final

from palimpsest.memory.meaning.reading import after, any_of
from palimpsest.offline.asking import asks_for_confirmation
from palimpsest.offline.implied import implies_the_user
from palimpsest.offline.people import names_only_people, subject_of
from palimpsest.text.analyser import function_words, words
from palimpsest.text.salience import is_own
from palimpsest.text.sentences import asks, is_terminated
from palimpsest.text.triggers import lowered, word_set
from palimpsest.text.word_files import compiled, filled

PACKAGE: Final = "palimpsest.offline"
_PATTERNS = {
    "request": r"^\W*(?:(?:{before_a_request})\b[,!]? ?)*(?:{requests})",
    "request_at_the_end": r"(?:{requests_at_the_end})[。！]?$",
    "remark": r"^\W*(?:(?:{before_a_remark})\b\W*)*(?:{subjects_of_a_remark})?\b ?"
    r"(?:(?:{fillers_of_a_remark}) )*(?:{remarks})\b",
    "own_thing": r"\b(?:{possessives})\b|\d",
    "is_greeted": r"{greeting}(?=\w)",
    "only_greets": r"{greeted}[!,. ]*",
    "leads_in": r"(?:(?:oh|ah|ok(?:ay)?|well),? )?(?:{leads_in})[,:]? (?=\w)",
    "as_a_role": r"^(?:{as_a_role})\b[,:]?(?P<rest> .*|)$",
    "second_person": r"\b(?:{second_person})\b",
    "introduced": r"^\W*(?:{introductions}) (?=(?:{possessives})\b[^,.!?]+, \w)",
    "introduces": r"(?:this is|I['’]?m|I am) {name}",
    "own_clause": r"^\W*(?=(?:{own}))(?:(?:{verbs_of_a_clause})\b"
    r"|(?:{own})[^,;]*?(?:\b(?:{verbs_of_a_clause})\b|['’](?:s|re|m|ve)\b))",
    "list": r"(?P<first>{item})(?P<middle>(?:, {item})*),? (?:{joins_items}) (?P<last>{item})\W*",
    "dangles": (
        r"(?:[\s,;:]+(?:{danglers})|[,;:]\s+(?:[^\s,;:]+\s+){0,5}(?:{before_words})|[\s,;:]*[(«„“])$"
    ),
    "refers_to_somebody": r"\b(?:him|her|them|it|that|she|he|they"
    r"|ihn|ihm|sie|ihnen|lui|leur|lo|la|le)\b"
    r"|^\W*\w+ (?:in|at|from|to|with|bei|aus|auf|nach|zu|mit|à|en|de|chez|con)\b",
    "depends": r"^\W*(?:{dependents})\b",
    "opening": r"(?:(?:{before_a_remark}|{and})\b[,.!]* +)+",
    "breaks": r"[,;?!()]+(?=\s|$)\s*|\s[–—-]\s|\s\(|\s(?:{reasons})\s|\s(?:{and})\s+(?={own})",
    "own": r"(?<!\w)(?:{own})",
    "another": r"^\W*(?:(?:{possessives}) )?{another} (?P<verb>{being_somebody})\b",
    "acts": r"^\W*(?:{speaks} [\w'’-]+|i['’](?:m|ve)|we['’](?:re|ve)|j['’]\w+) \w",
    "only_names": r"{names}",
    "goes_on": r"^(?:{reasons}|{dependents}|{danglers})\b",
    "a_thing": r"(?:an?|the|his|her|their|eine?|une?|una?|der|die|das|le|la|el) ",
    "state_of_oneself": r"(?:{states_of_oneself})",
    "infinitive": r"\b(?:{before_an_infinitive})\b",
    "told_at_the_end": r"\b(?:{since_now}) (?P<clause>(?:{own})[^,;?]{6,80})\?\W*$",
    "names_alone": r"^\W*(?:{possessives})\s+[^\W\d_]+\W*$",
    "joints": r"[\s,;，](?:(?<=\S)|(?=\s|(?:{and}|who|with)\s))"
    r"(?:{blank}(?:{and})\s+(?={own})"
    r"|(?<=[,;])\s+(?={own})|(?<=，)(?=我)|(?P<role>(?<=[,;])\s+(?={of_a_role}))"
    r"|(?P<elided>{blank}(?:{and})\s+(?=(?:{verbs}|{verbs_after_and})\b)|(?<=,)\s+(?=(?:{verbs})\b))"
    r"|(?P<other>{blank}(?:{and})\s+(?={another} (?:{being_somebody})\b))"
    r"|(?P<who>{blank}(?=who (?:is|was|has|had|lives?|works?|loves?|likes?|hates?|plays?|studies"
    r"|needs?)\b))"
    r"|(?P<with>{blank}(?=with (?:my|our|an?)\b)))",
}
"""The patterns, with the names of the lists and parts that `words/` has. Another statement may
begin at a joint: with its own subject, without one, about somebody who was named, about somebody
with a role, or with the people who are present.
"""
_LOWER = frozenset({"remark", "joints"})  # for a text in lower case
_NAMED = re.compile(r"(?<=\w )(?!I\b)[A-ZÀ-Þ][\w'’-]+")
_NEGATION = re.compile(
    r"\b(?:not|no|don['’]t|never|nicht|kein\w*|nie|pas|jamais|nunca)\b", re.IGNORECASE
)
FEW_WORDS = 2
CLAUSES = 2  # of a sentence with a dependent clause
_ANNOUNCES = frozenset(":：")


_JEST = re.compile(r"\b(?:just|only|I['’]m|am) (?:kidding|joking)\b", re.IGNORECASE)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    if name in _LOWER:
        return re.compile(filled(PACKAGE, _PATTERNS[name]))
    return compiled(PACKAGE, _PATTERNS[name])


@cache
def _joining_words() -> frozenset[str]:
    return frozenset((*filled(PACKAGE, "{and}").split("|"), "who", "with"))


def asks_for_something(text: str) -> bool:
    """Return whether the text is a request to do something now. Such a request contains nothing to
    remember.
    """
    return bool(_pattern("request").match(text) or _pattern("request_at_the_end").search(text))


def is_in_jest(text: str) -> bool:
    """Return whether the text says that it is a joke."""
    return ("kidding" in text or "joking" in text) and bool(_JEST.search(text))


def without_greeting(text: str) -> str:
    """Return the text without the greeting at its beginning. A text that is only a greeting is
    returned unchanged.
    """
    return after(_pattern("is_greeted"), text)


def to_the_point(text: str) -> str:
    """Return the text without a greeting, and without a phrase that only introduces a statement, as
    in "By the way, I'm Mira.".
    """
    whole = text.lstrip(" ,;:")
    rest = after(_pattern("leads_in"), without_greeting(whole))
    return whole if rest is whole else rest[0].upper() + rest[1:]


def without_introduction(sentence: str) -> str:
    """Return the sentence without words that only introduce a person. "It's for my son, he's
    seven." becomes "my son, he's seven.".
    """
    return after(_pattern("introduced"), sentence)


_I_AM = {"en": "I'm a", "de": "Ich bin", "fr": "Je suis", "es": "Soy"}


def as_oneself(sentence: str) -> str | None:
    """Return who the speaker is, if that begins a sentence about the speaker: "As a vegetarian,
    what can I eat?" says "I'm a vegetarian". A request that the assistant should answer in a role
    says nothing of the speaker.
    """
    role = _pattern("as_a_role").match(sentence)
    if (
        role is None
        or asks_for_something(role["rest"])
        or _pattern("second_person").search(role["rest"])
    ):
        return None
    is_about_oneself = not role["rest"] or is_own(role["rest"]) or asks(role["rest"].strip())
    if not is_about_oneself:
        return None
    language, name = next((key, role[key]) for key in _I_AM if role[key])
    i_am = "I'm an" if language == "en" and name[0].lower() in "aeiou" else _I_AM[language]
    return f"{i_am} {name}."


def with_greeting(sentences: list[str]) -> list[str]:
    """Return the sentences. If the first sentence only greets, it is joined with the next one,
    because "Hey!" and "I'm Mira." state a name only together.
    """
    if (
        len(sentences) > 1
        and _pattern("only_greets").fullmatch(sentences[0])
        and _pattern("introduces").match(sentences[1])
    ):
        return [f"{sentences[0]} {sentences[1]}", *sentences[2:]]
    return sentences


def _names_something(word: str) -> bool:
    has_a_digit = any(map(str.isdigit, word))
    return (
        len(word) > FEW_WORDS or has_a_digit or not word.isascii()
    ) and word not in function_words()


def says_nothing(text: str) -> bool:
    """Return whether the text is a remark on the conversation ("I see what you mean"), or has no
    word that names anything.
    """
    if not any(map(_names_something, words(text))):
        return True
    empty = _pattern("remark").match(lowered(text))
    if empty is None or _pattern("own_thing").search(text) or _NAMED.search(text):
        return False
    return len(set(words(text[empty.end() :])) - function_words()) <= FEW_WORDS


def is_fragment(text: str) -> bool:
    """Return whether a text is only a part of a sentence. It may announce the next words ("Next
    month's book:"), name a thing without a statement ("My knee."), or lack its main clause ("Before
    I do anything").
    """
    if text.rstrip()[-1:] in _ANNOUNCES or _pattern("names_alone").match(text):
        return True
    if "," in text or not _pattern("depends").match(text):
        return False
    return len(_pattern("own").findall(text)) < CLAUSES


_SUBJECT = re.compile(
    r"^\W*(?:(?:hi|hello|hey|hallo|well|ok|okay|oh|so|and|but|actually|sorry)\b\W*)*(I|ich)\b",
    re.IGNORECASE,
)
_ANTECEDENT = re.compile(r"\b(?:my|our|an?) [^,;]{1,60}$", re.IGNORECASE)
_HEAD = re.compile(
    r"^.*?\bI\b[^,;]*?\b(?:live|living|stay|staying|moved|relocated|work|working)\b", re.IGNORECASE
)
_ONLY_PARTICLES = re.compile(r"(?: (?:back|in|out|up|over|together|again|on))*", re.IGNORECASE)
_SEVERAL_WORDS = re.compile(r"\w\W+\w|[\u3040-\u9fff]{2}")


def parts(sentence: str, *, is_known: Callable[[str], bool]) -> Sequence[tuple[str, str]]:
    """Return the statements that the sentence joins, or the whole sentence. Each comes with the
    words of the sentence that it rests on. These differ from the statement if the sentence says a
    word once for several statements.

    `is_known` returns whether a text is a statement of a known kind. It is called once for each
    clause.
    """
    joined = list(_clauses(sentence)) if _may_join(sentence) else ()
    if len(joined) <= 1:
        return [(sentence, sentence)]
    statements = []
    part, states = "", False
    for kind, joint, clause in joined:
        is_beside = kind is None and _stands_beside(part, joint, clause)
        says = not names_only_people(clause) and (
            is_beside
            or is_known(clause)
            or bool(_pattern("own_clause").match(without_greeting(clause)))
        )
        is_apart = kind == "role" and says
        is_of_two = kind == "other" and _is_of_another(part, clause)
        is_alone = is_of_two if kind == "other" else states or is_apart or is_beside
        own = _completed(kind, part, clause) if is_alone and not _leads_to_more(part) else None
        if own is not None and (kind not in (None, "role") or says):
            statements.append(part)
            part, states = own, True
        else:
            part, states = part + joint + clause, states or says
    return [
        (statement, statement if statement in sentence else sentence)
        for statement in (*statements, part)
    ]


def _leads_to_more(part: str) -> bool:
    """Return whether a clause only says why or when another is so: "Since I live in Leeds,"."""
    begins_so = _pattern("depends").match(part) or any_of("ground_words").match(part)
    return begins_so is not None


def _stands_beside(part: str, joint: str, clause: str) -> bool:
    """Return whether a clause about the user means something without the one before it. The other
    one is about somebody else, or both say what the user does: "I'm learning Welsh" and "I
    volunteer at the food bank".
    """
    is_joined = joint.strip(" ,;") != "" or clause.startswith("moi")
    if not is_joined or _pattern("refers_to_somebody").search(clause):
        return False
    return _is_of_somebody(part) or all(map(_pattern("acts").match, (part, clause)))


def _is_of_another(part: str, clause: str) -> bool:
    """Return whether two clauses say something of two people or things: "Mia is 7", before "and
    Ben is 9".
    """
    first, second = _pattern("another").match(part), _pattern("another").match(clause)
    if first is None or second is None:
        return False
    is_name = second[0].lstrip()[0].isupper()
    return is_name or first["verb"].lower() == second["verb"].lower()


def _is_of_somebody(part: str) -> bool:
    """Return whether a clause of several words is about one of the user's people: "my wife drinks
    tea", before "but I drink coffee".
    """
    return (
        part.count(" ") + 1 >= LEAST_WORDS
        and subject_of(part) != "user"
        and not names_only_people(part)
    )


def _may_join(sentence: str) -> bool:
    """Return whether the sentence may join statements. Only a sentence with certain marks or words
    can.
    """
    has_mark = "," in sentence or ";" in sentence or "，" in sentence
    return has_mark or not _joining_words().isdisjoint(word_set(lowered(sentence)))


def _clauses(sentence: str) -> Iterator[tuple[str | None, str, str]]:
    """Yield the clauses of the sentence, which is cut at its joints. Each clause comes with the
    kind and the text of the joint before it.
    """
    start, kind, joint = 0, None, ""
    for match in _pattern("joints").finditer(lowered(sentence)):
        if _SEVERAL_WORDS.search(sentence, start, match.start()):
            yield kind, joint, sentence[start : match.start()]
            start, kind, joint = match.end(), match.lastgroup, sentence[slice(*match.span())]
    yield kind, joint, sentence[start:]


def _completed(kind: str | None, before: str, clause: str) -> str | None:
    """Return the clause as a complete statement, with the words that it takes from the clause
    before. Return None if that clause lacks them.
    """
    match kind:
        case "elided":
            subject = _SUBJECT.match(before)
            is_infinitive = _pattern("infinitive").search(before)  # "I want to sleep and eat"
            return f"{subject[1]} {clause}" if subject and not is_infinitive else None
        case "who":
            antecedent = _ANTECEDENT.search(before)
            return f"{antecedent[0]}, {clause}" if antecedent else None
        case "with":
            head = _HEAD.match(before)
            is_place = head is not None and not _ONLY_PARTICLES.fullmatch(before, head.end())
            return f"{head[0]} {clause}" if head and is_place else None
    return clause


_COLON = re.compile(r"[:：](?=\s)")
FIRST_WORDS = 2  # of a clause, one of which must be in the first person: in a question, the first
LEAST_WORDS = 3


def own_clauses(sentence: str) -> Sequence[str]:
    """Return the clauses of a sentence, divided at its marks, in which people speak of themselves
    from the beginning: "I'm single" in "I never said that, I'm single.". Questions are left out,
    and so are the words after a colon, which may be those of others. A sentence that asks whether
    it is right has none.
    """
    if asks_for_confirmation(sentence):
        return ()
    statement = _pattern("told_at_the_end").search(sentence)
    if statement is not None:  # "what can I do, now that I live in Bristol?"
        return (statement["clause"],)
    before_colon = _COLON.split(sentence, maxsplit=1)[0]
    clauses = [clause.strip(" :") for clause in _pattern("breaks").split(before_colon)]
    first_words = 1 if "?" in sentence else FIRST_WORDS
    return [
        clause
        for clause in clauses
        if clause.count(" ") + 1 >= min(LEAST_WORDS, len(clauses))
        and _begins_as_own(clause, first_words)
        and not _pattern("depends").match(clause)
        and not asks(clause)
    ]


def _begins_as_own(clause: str, first_words: int) -> bool:
    beginning = after(_pattern("opening"), clause).split()[:first_words]
    return is_own(" ".join(beginning)) or implies_the_user(clause)


def objects(statement: str, *, start: int) -> list[str]:
    """Return the statement once for each thing that it lists from `start` on. "I like tea and jazz"
    makes two statements.
    """
    match = _pattern("list").fullmatch(statement, start)
    if match is None:
        return [statement]
    items = [match["first"], *match["middle"].split(", ")[1:], match["last"]]
    if any(map(_NEGATION.search, items[1:])):  # "and don't take milk" is no thing
        return [statement]
    return [statement[:start] + item for item in items]


_SELF = re.compile(
    r"(?P<am>I['’]m|I am|Im|Ich bin|Je suis|Soy) (?P<items>[^.;:!?]{3,200})[.!]*", re.IGNORECASE
)
_BETWEEN_ITEMS = re.compile(r",? (?:and|und|et|y) |, ", re.IGNORECASE)
_ENDS_WITH_NAME = re.compile(r"(?<![\w'’-])[A-ZÀ-Þ][\w'’-]*$")
_AGE = re.compile(r"\d{1,3}\b")
_I_AM_OF_AGE = {"je suis": "J'ai", "soy": "Tengo"}


def descriptions(statement: str, *, is_known: Callable[[str], bool]) -> list[str]:
    """Return the statement once for each thing that the user is: "I'm Sarah, 34, a nurse" makes
    three. It stays whole unless each of them is a statement of a known kind, and unless it is clear
    that all are about the user. "A nurse" may be Tom in "I'm married to Tom, a nurse".
    """
    match = _SELF.fullmatch(statement)
    items = _BETWEEN_ITEMS.split(match["items"]) if match else ()
    if match is None or len(items) <= 1:
        return [statement]
    described = []
    for place, item in enumerate(items):
        is_age = _AGE.match(item) is not None
        am = _I_AM_OF_AGE.get(match["am"].lower(), match["am"]) if is_age else match["am"]
        text = f"{am} {item}"
        is_said = (
            (place == 0 and _pattern("only_names").fullmatch(item) is not None)
            or _pattern("state_of_oneself").fullmatch(item) is not None
            or implies_the_user(item)
            or is_known(f"{text}.")
        )
        if not is_said or not _is_of_the_user(items, place, is_age=is_age):
            return [statement]
        described.append(text)
    return described


def _is_of_the_user(items: Sequence[str], place: int, *, is_age: bool) -> bool:
    """Return whether it is clear that one of several things is the user."""
    item = items[place]
    if any(look.search(item) for look in (_NEGATION, _pattern("own"), _pattern("goes_on"))):
        return False
    if place == 0 or (place == 1 and _pattern("only_names").fullmatch(items[0])):
        return True
    may_be_of_another = _ENDS_WITH_NAME.search(items[place - 1]) and _pattern("a_thing").match(item)
    return not (is_age or may_be_of_another or _pattern("only_names").fullmatch(item))


def without_dangler(sentence: str) -> str:
    """Return a sentence without what only leads to words at its end that were taken out: the
    conjunction in "I bank with Monzo and", or "he said" in "The trial is over, he said".
    """
    return _pattern("dangles").sub("", sentence) or sentence


def ended(statement: str) -> str:
    """Return the statement, which was cut out of a sentence, with a full stop at its end."""
    text = statement.rstrip(" ,;:，；、")
    text = without_dangler(text)
    if is_terminated(text):
        return text
    return text + ("。" if text[-1:] >= "\u3000" else ".")
