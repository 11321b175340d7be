"""Put what a user said later above what it replaces, where a question asks about the present."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from palimpsest.recall.question import Query
from palimpsest.recall.ranking import FoundMemory
from palimpsest.text.analyser import content_terms

LOOKED_AT = 8  # of the order: what stands behind them replaces nothing
LEAST, IN_ONE_TALK = 0.3, 0.5  # of the older one's score that the later one needs to stand above it
WORDS_ALIKE = 2  # that make two statements alike
REPLACES = 0.5  # of the older one's score, for it to be marked

_WENT_BY = re.compile(
    r"\b(?:did|was|were|had|used to|hatten?|war(?:en)?|étai(?:t|ent)|avai(?:t|ent)|eran?|fue(?:ron)?|había)\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:now|nowadays|these days|any ?more|no longer|no more|instead|after all|again|back (?:to|at|on|in)|new|newly"
    r"|latest|since|from now on|from (?:this|next) \w+|as of|lately|recently|finally|at last|already|meanwhile|actually"
    r"|chang(?:es?|ed|ing)|switch(?:es|ed|ing)?|swap(?:s|ped|ping)?|replac(?:es?|ed|ing)|mov(?:es?|ed|ing)"
    r"|shift(?:s|ed)?|transferr?(?:ed)?|renamed?|rebooked|rescheduled|postponed|updated?|upgraded?|downgraded?"
    r"|becom(?:es?|ing)|became|turned|beg[aiu]n|start(?:s|ed|ing)?|stop(?:s|ped)?|quit|g[ai]ve up|given up|giving up"
    r"|left|retired|clos(?:ed|ing)|cancell?ed|dropped|ended|over|sold|bought|got|raised?|lower(?:ed)?|increased?"
    r"|reduced|cut|doubled|put (?:up|down|back)|took over|taken over|correction|scrap|turns out"
    r"|jetzt|nun|inzwischen|neu\w*|nicht mehr|statt\w*|wieder|doch|seit|gewechselt|geändert|(?:um)?gezogen"
    r"|maintenant|désormais|nouve\w+|plus de|chang\w+|déménag\w+|plutôt|finalement"
    r"|ahora|ya no|nuev[oa]s?|cambi\w+|mud\w+|desde|al final|en vez)\b"
    r"|现在|改|换|不再|搬|今は|変え|変わ|新しい|もう|이제|바꿨|바뀌|새로|الآن|جديد|غير",
    re.IGNORECASE,
)
_VALUES = (
    re.compile(
        r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|hundred"
        r"|half|once|twice)\b",
        re.IGNORECASE,
    ),
    _DAY := re.compile(
        r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|week(?:end|day)s?|(?:morning|noon|afternoon|evening|night)s?)\b",
        re.IGNORECASE,
    ),
    re.compile(rf"(?<=[\w,;:] )(?!I\b|(?i:{_DAY.pattern}))[A-ZÀ-ÞА-ЯΑ-Ω][\w'-]+"),
)
"""What shows a number, a day and a name."""


def newer_first(found: Sequence[FoundMemory], query: Query) -> list[FoundMemory]:
    """Return what was found, in order, each later statement of the user above the first that it may replace. One that
    it very likely replaces is marked (`outdated_by`). Questions about the past change nothing.
    """
    if query.asks_of_the_past or _WENT_BY.search(query.text):
        return list(found)
    placed: list[FoundMemory] = []
    for one in found[:LOOKED_AT]:
        older = [_may_replace(one, each) for each in placed]
        first = next((place for place, may in enumerate(older) if may), len(placed))
        current = [place for place, each in enumerate(placed, 1) if _holds_since(each, one.valid_from)]
        first = max([first, *current])  # what holds stays above what was said before it
        score = placed[first].score if first < len(placed) else one.score
        placed = [
            _marked(each, one) if may and _replaces(one, each) else each
            for each, may in zip(placed, older, strict=True)
        ]
        placed.insert(first, replace(one, score=score))
    return [*placed, *found[LOOKED_AT:]]


def _may_replace(later: FoundMemory, older: FoundMemory) -> bool:
    """Whether the later one may say what the older one said, with another value: both are the user's, and answer the
    question about as well. In one conversation that takes a word of change, in two of them likeness is enough. What a
    topic key holds together is in order already: it replaces nothing and is not replaced here.
    """
    if later.outdated_by or _has_topic(later) or _has_topic(older) or later.valid_from <= older.valid_from:
        return False
    if not (_is_statement(later) and older.speaker in {"user", None}):
        return False
    is_one_talk = later.source.session == older.source.session
    if later.score < (IN_ONE_TALK if is_one_talk else LEAST) * older.score:
        return False
    if is_one_talk:
        return _speaks_of_change(later) and _words_alike(later, older) > 0
    return _speaks_of_change(later) or _are_alike(later, older)


def _is_statement(one: FoundMemory) -> bool:
    if one.record is not None:
        return one.record.type != "event"
    return one.speaker == "user" and one.candidate.says != "question"


def _speaks_of_change(one: FoundMemory) -> bool:
    return _CHANGE.search(one.content) is not None


def _are_alike(later: FoundMemory, older: FoundMemory) -> bool:
    """Whether they share words, or each names a number, a day or somebody."""
    if _words_alike(later, older) >= WORDS_ALIKE:
        return True
    return any(value.search(later.content) and value.search(older.content) for value in _VALUES)


def _words_alike(one: FoundMemory, other: FoundMemory) -> int:
    return len(frozenset(content_terms(one.content)).intersection(content_terms(other.content)))


def _replaces(later: FoundMemory, older: FoundMemory) -> bool:
    is_near = later.score >= REPLACES * older.score and _words_alike(later, older) >= WORDS_ALIKE
    return is_near and _speaks_of_change(later)


def _has_topic(one: FoundMemory) -> bool:
    return one.record is not None and one.record.topic_key is not None


def _holds_since(one: FoundMemory, moment: int) -> bool:
    """Whether it is the current record of a topic, said after that moment."""
    return _has_topic(one) and one.valid_from > moment


def _marked(older: FoundMemory, later: FoundMemory) -> FoundMemory:
    return replace(older, candidate=replace(older.candidate, outdated_by=older.outdated_by or later.id))
