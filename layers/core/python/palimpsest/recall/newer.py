"""Put what a user said later above what it replaces, where a question asks about the present."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from palimpsest.recall.question import Query
from palimpsest.recall.ranking import FoundMemory
from palimpsest.text.analyser import content_terms

LOOKED_AT = 20  # of the order: what stands behind them replaces nothing
LEAST = 0.3  # of the older one's score that the later one needs to stand above it, and one word of its own words
REPLACES, WORDS_ALIKE = 0.5, 2  # the same, for the older one to be marked

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


def newer_first(found: Sequence[FoundMemory], query: Query) -> list[FoundMemory]:
    """Return what was found, in order, each later statement of the user with a word of change above the first that it
    may replace. One that it very likely replaces is marked (`outdated_by`). Questions about the past change nothing.
    """
    if query.asks_of_the_past or _WENT_BY.search(query.text):
        return list(found)
    terms = {one.id: frozenset(content_terms(one.content)) for one in found[:LOOKED_AT]}
    placed: list[FoundMemory] = []
    for one in found[:LOOKED_AT]:
        alike = [len(terms[one.id] & terms[each.id]) if _may_replace(one, each) else 0 for each in placed]
        first = next((place for place, words in enumerate(alike) if words), len(placed))
        current = [place for place, each in enumerate(placed, 1) if _holds_since(each, one.valid_from)]
        first = max([first, *current])  # what holds stays above what was said before it
        placed = [
            _marked(each, one) if words >= WORDS_ALIKE and one.score >= REPLACES * each.score else each
            for each, words in zip(placed, alike, strict=True)
        ]
        score = placed[first].score if first < len(placed) else one.score
        placed.insert(first, replace(one, score=score))
    return [*placed, *found[LOOKED_AT:]]


def _may_replace(later: FoundMemory, older: FoundMemory) -> bool:
    """What a topic key holds together is in order already: it replaces nothing and is not replaced here."""
    is_statement = later.speaker == "user" or (later.record is not None and later.record.type != "event")
    is_later = later.valid_from > older.valid_from and later.score >= LEAST * older.score
    if not (is_statement and is_later) or later.outdated_by or _has_topic(later) or _has_topic(older):
        return False
    return _CHANGE.search(later.content) is not None


def _has_topic(one: FoundMemory) -> bool:
    return one.record is not None and one.record.topic_key is not None


def _holds_since(one: FoundMemory, moment: int) -> bool:
    """Whether it is the current record of a topic, said after that moment."""
    return _has_topic(one) and one.valid_from > moment


def _marked(older: FoundMemory, later: FoundMemory) -> FoundMemory:
    return replace(older, candidate=replace(older.candidate, outdated_by=older.outdated_by or later.id))
