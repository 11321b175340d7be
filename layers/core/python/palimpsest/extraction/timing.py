"""Gives findings the time at which they happen or are due. A plan does not change its topic yet."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from palimpsest.extraction.finding import Finding
from palimpsest.memory.times import Moment, moment_of, must_be_done, tense_of
from palimpsest.text.date_words import Unit

OF_LIFE: Final = frozenset(
    {
        *("residence", "home", "address", "city", "location", "country", "school", "university"),
        *("employer", "company", "workplace", "employment", "job", "work", "role", "title"),
        *("position", "occupation", "profession", "department", "team"),
        *("relationship_status", "marital_status"),
    }
)
"""Topics whose value changes on the planned day, not before. A topic may have more words than
these.
"""
NO_EVENTS: Final = frozenset({"birthday", "age", "name", "preferred_name", "time"})
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Timing:
    """A finding with the time when it happens (`occurs_at`, the first day of the named time) or is
    due (`due_at`, the last day of it).
    """

    finding: Finding
    occurs_at: str | None = None
    due_at: str | None = None
    unit: Unit = "day"


def timed(finding: Finding, *, at: date) -> Timing:
    """Return the finding with its time. Times such as "tomorrow" count from the day `at`, on which
    it was said.

    A plan for a later day, such as a move, becomes an event without a topic. The value of the topic
    changes only when somebody says that the plan was carried out.
    """
    if finding.type == "instruction":
        return Timing(finding)
    moment = moment_of(finding.content, at=at)
    if moment is None and finding.quote != finding.content:
        moment = moment_of(finding.quote, at=at)
    moment = moment or _given(finding)
    if moment is None:
        return Timing(finding)
    if finding.type == "task" or (moment.is_limit and must_be_done(finding.content)):
        is_over = moment.last < at
        return Timing(finding) if is_over else _due(finding, moment)
    if moment.is_limit:
        return Timing(finding)
    return _occurring(finding, moment, at=at)


def _given(finding: Finding) -> Moment | None:
    """Return the time that a model gives."""
    for text, is_limit in ((finding.due_at, True), (finding.occurs_at, False)):
        match = _DAY.match(text or "")
        try:
            day = date.fromisoformat(match[0]) if match else None
        except ValueError:
            continue
        if day is not None:
            return Moment(0, 0, day, day, "day", is_limit=is_limit)
    return None


def _due(finding: Finding, moment: Moment) -> Timing:
    return Timing(finding, due_at=moment.last.isoformat(), unit=moment.unit)


def _occurring(finding: Finding, moment: Moment, *, at: date) -> Timing:
    tense = tense_of(finding.content)
    is_exact = moment.unit in ("day", "week")
    timing = Timing(finding, occurs_at=moment.first.isoformat(), unit=moment.unit)
    if finding.type == "event":
        return timing
    if finding.topic is None:
        is_event = is_exact or (tense != "none" and moment.unit == "month")
        return (
            replace(timing, finding=replace(finding, type="event")) if is_event else Timing(finding)
        )
    if changes_on_a_day(finding.topic) and moment.first > at:
        return replace(timing, finding=replace(finding, type="event", topic=None, relations=()))
    is_lasting = finding.topic in NO_EVENTS or is_age(finding.topic)
    is_over = tense == "past" and moment.first <= at and not is_lasting
    return timing if is_over else Timing(finding)


def is_age(topic: str) -> bool:
    """Return whether a topic is the age of the user or of somebody else."""
    return topic.split("_", 1)[0] == "age"


def changes_on_a_day(topic: str) -> bool:
    """Return whether the value of a topic changes on the planned day, not before."""
    words = re.findall(r"[^\W_]+", topic.casefold())
    return not OF_LIFE.isdisjoint((*words, "_".join(words)))
