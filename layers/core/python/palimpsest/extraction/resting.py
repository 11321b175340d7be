"""Finds the topics that a finding may rest on. A model names them, or they follow from the
finding's kind or relations.
"""

from __future__ import annotations

from palimpsest.extraction.finding import Finding
from palimpsest.graph.things import USER_NAMES
from palimpsest.memory.grounds import is_the_users, may_rest_on, topics_of_grounds
from palimpsest.memory.meaning.reading import ground_in
from palimpsest.memory.meaning.slots import slot_of
from palimpsest.memory.resting import Dependent
from palimpsest.text.analyser import topic_key

PEOPLE = frozenset({"person", "people", "human"})
"""Types of entities that don't depend on where the user lives or works."""


def dependent_of(finding: Finding) -> Dependent:
    """Return the topics that the finding may rest on, without its own topic. Without a model, only
    facts of the user rest on others.
    """
    own = topic_key(finding.topic) if finding.topic else None
    of_speaker = f"{finding.speaker} " if finding.speaker else ""
    sure = (topic_key(of_speaker + topic) for topic in finding.rests_on)
    likely: tuple[str, ...] = ()
    if finding.speaker is None and finding.type == "fact":
        likely = (*_by_kind(finding), *_by_relations(finding))
    return Dependent(
        tuple(topic for topic in sure if topic and topic != own),
        tuple(topic for topic in likely if topic != own),
    )


def _by_kind(finding: Finding) -> tuple[str, ...]:
    if not is_the_users(finding.subject, finding.content):
        return ()
    ground = slot_of(ground_in(finding.content))
    named = (ground.topic,) if ground else ()
    return (*named, *may_rest_on(finding.content))


def _by_relations(finding: Finding) -> tuple[str, ...]:
    """Return all topics on which facts may rest, if the finding relates a thing of the user to a
    place or company. That place or company may be the value of such a topic.
    """
    for relation in finding.relations:
        is_of_a_thing = relation.start.casefold() not in USER_NAMES
        if is_of_a_thing and relation.start_type.casefold() not in PEOPLE:
            return topics_of_grounds()
    return ()
