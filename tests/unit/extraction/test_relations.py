"""What an extraction stores in the graph: relationships that the messages bear out, together with its memories."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from palimpsest.extraction import Finding
from palimpsest.extraction.answers import read_answer
from palimpsest.extraction.patterns import PatternExtractor
from palimpsest.graph import MOST_THINGS, Entity, Graph, Relation
from palimpsest.graph.manage import GraphLimit
from palimpsest.memory.preferences import AtMost

from tests.service import SARAH
from tests.unit.extraction.service import ExtractionService, asked

AT_ACME = Relation("user", "User", "WORKS_AT", "Acme", "Company", single=True)


def found(quote: str, *relations: Relation, seq: int = 1) -> Finding:
    return Finding("fact", quote, (seq,), quote, topic="employer", importance=0.8, relations=relations)


def graph(service: ExtractionService) -> Graph:
    return service.memories_app.graph.read.whole(SARAH, most=MOST_THINGS)


def edges(service: ExtractionService) -> list[tuple[str, str, str]]:
    now = graph(service)
    return sorted((now.nodes[each.start].name, each.type, now.nodes[each.end].name) for each in now.edges)


def test_a_relationship_is_stored_with_its_entities_and_quote_beside_the_memory() -> None:
    service, job = asked("I work at Acme.")
    service.extractor.finds = lambda _: [found("I work at Acme", AT_ACME)]
    service.drain()
    assert edges(service) == [("sarah", "WORKS_AT", "Acme")]
    (edge,) = graph(service).edges
    (entity,) = graph(service).entities.values()
    assert edge.source == entity.source == service.records()[0].source
    assert (edge.source.quote, edge.source.seqs, edge.method, entity.type) == (
        "I work at Acme",
        (1,),
        "model",
        "Company",
    )
    assert not {edge.record, entity.record} & set(service.report(job).records)  # those are memories


@pytest.mark.parametrize(
    "relation",
    [
        replace(AT_ACME, end="Globex"),
        replace(AT_ACME, end="cme"),
        replace(AT_ACME, end="user", end_type="User"),
        replace(AT_ACME, end="x" * 200),
    ],
    ids=["not said", "part of a word", "the same", "too long"],
)
def test_what_the_messages_do_not_name_is_left_out_and_the_memory_stays(relation: Relation) -> None:
    service, _ = asked("I work at Acme.")
    service.extractor.finds = lambda _: [found("I work at Acme", relation)]
    service.drain()
    assert edges(service) == []
    assert service.contents() == ["I work at Acme"]


def test_a_newer_employer_supersedes_and_friends_stay() -> None:
    service, _ = asked("I work at Acme and know Tom.")
    knows = Relation("user", "User", "KNOWS", "Tom", "Person")
    service.extractor.finds = lambda _: [found("I work at Acme", AT_ACME, knows)]
    service.drain()
    service.time.advance(60)
    service.say("Now I work at Globex and know Ann.")
    moved = (replace(AT_ACME, end="Globex"), replace(knows, end="Ann"))
    service.extractor.finds = lambda chunk: [found("I work at Globex", *moved, seq=chunk.messages[-1].seq)]
    service.handle_to_the_end(service.ask())
    assert edges(service) == [("sarah", "KNOWS", "Ann"), ("sarah", "KNOWS", "Tom"), ("sarah", "WORKS_AT", "Globex")]


def test_what_a_caller_stored_keeps_its_properties_and_is_meant_by_its_name() -> None:
    service, _ = asked("I work at ACME.")
    given = Entity("acme-ag", "Organization", "Acme", {"employees": 120})
    service.memories_app.graph.put_entities(SARAH, [given])
    service.extractor.finds = lambda _: [found("I work at ACME", replace(AT_ACME, end="ACME"))]
    service.drain()
    assert [(each.id, each.properties) for each in graph(service).entities.values()] == [
        ("acme-ag", {"employees": 120})
    ]
    assert edges(service) == [("sarah", "WORKS_AT", "Acme")]


def test_a_full_graph_takes_no_more_and_the_memory_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palimpsest.graph.manage.GraphLimit._each", lambda limit: iter([_full(limit)]))
    service, _ = asked("I work at Acme.")
    service.extractor.finds = lambda _: [found("I work at Acme", AT_ACME)]
    service.drain()
    assert (edges(service), service.contents()) == ([], ["I work at Acme"])
    assert MOST_THINGS == 20_000


def _full(limit: GraphLimit) -> AtMost:
    return AtMost(limit.memories, "relationship:", 0, "relationships")


def test_many_findings_with_relations_come_through_whole() -> None:
    names = [f"Friend{letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXY"]
    service, _ = asked("I know " + ", ".join(names) + ".")
    service.extractor.finds = lambda _: [
        replace(found(f"I know {name}", Relation("user", "User", "KNOWS", name, "Person")), topic=None, quote=name)
        for name in names
    ]
    service.drain()
    assert len(service.contents()) == 25
    assert len(edges(service)) == 5


@pytest.mark.parametrize(
    ("text", "edge"),
    [
        ("I work at Acme Tools.", ("WORKS_AT", "Acme Tools")),
        ("I joined Globex last year.", ("WORKS_AT", "Globex")),
        ("I just moved to New York, near the park.", ("LIVES_IN", "New York")),
        ("Ich wohne in München.", ("LIVES_IN", "München")),
        ("I live near the harbour.", None),
        ("I love Acme Tools.", None),
    ],
)
def test_without_a_model_patterns_find_where_the_user_lives_and_works(text: str, edge: tuple[str, str] | None) -> None:
    service = ExtractionService()
    service.extractor = PatternExtractor()
    service.wire_workers()
    service.say(text)
    service.handle_to_the_end(service.ask())
    assert edges(service) == ([] if edge is None else [("sarah", *edge)])


def test_the_answer_of_a_model_is_read_with_patience() -> None:
    row = {"type": "fact", "content": "c", "messages": [1], "quote": "c"}
    good = {"from": "user", "from_type": "user", "type": "works at", "to": "Acme", "to_type": "company", "single": True}
    bad = [None, {}, {**good, "type": "!"}, {**good, "to": 7}, {**good, "to_type": "123"}]
    answer = json.dumps({"memories": [{**row, "relationships": [good, *bad]}, {**row, "relationships": "none"}]})
    first, second = read_answer(answer).findings
    assert (first.relations, second.relations) == ((AT_ACME,), ())
