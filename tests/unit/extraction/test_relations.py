"""What an extraction stores in the graph: relationships that the messages bear out, together with
its memories.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from palimpsest.clock import milliseconds
from palimpsest.extraction.answers import read_answer
from palimpsest.extraction.finding import Finding
from palimpsest.graph.manage import GraphLimit
from palimpsest.graph.neighbourhood import Graph
from palimpsest.graph.things import MOST_THINGS, Entity, Relation, Relationship
from palimpsest.memory.manage import RecordChange
from palimpsest.memory.preferences import AtMost
from palimpsest.memory.statements import Statement
from palimpsest.offline.extractor import PatternExtractor

from tests.service import SARAH
from tests.unit.extraction.service import ExtractionService, asked

AT_ACME = Relation("user", "User", "WORKS_AT", "Acme", "Company", single=True)


def found(quote: str, *relations: Relation, seq: int = 1) -> Finding:
    return Finding(
        "fact", quote, (seq,), quote, topic="employer", importance=0.8, relations=relations
    )


def graph(service: ExtractionService) -> Graph:
    return service.memories_app.graph.read.whole(SARAH, most=MOST_THINGS)


def edges(service: ExtractionService) -> list[tuple[str, str, str]]:
    now = graph(service)
    return sorted(
        (now.nodes[edge.start].name, edge.type, now.nodes[edge.end].name) for edge in now.edges
    )


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
    friend = replace(found("know Tom", knows), topic=None)
    service.extractor.finds = lambda _: [found("I work at Acme", AT_ACME), friend]
    service.drain()
    service.time.advance(60)
    service.say("Now I work at Globex and know Ann.")
    other = replace(found("know Ann", replace(knows, end="Ann")), topic=None)
    moved = [found("I work at Globex", replace(AT_ACME, end="Globex")), other]
    service.extractor.finds = lambda chunk: [
        replace(each, seqs=(chunk.messages[-1].seq,)) for each in moved
    ]
    service.handle_to_the_end(service.ask())
    assert edges(service) == [
        ("sarah", "KNOWS", "Ann"),
        ("sarah", "KNOWS", "Tom"),
        ("sarah", "WORKS_AT", "Globex"),
    ]


def test_what_a_caller_stored_keeps_its_properties_and_is_meant_by_its_name() -> None:
    service, _ = asked("I work at ACME.")
    given = Entity("acme-ag", "Organization", "Acme", {"employees": 120})
    service.memories_app.graph.put_entities(SARAH, [given])
    service.extractor.finds = lambda _: [found("I work at ACME", replace(AT_ACME, end="ACME"))]
    service.drain()
    assert [(entity.id, entity.properties) for entity in graph(service).entities.values()] == [
        ("acme-ag", {"employees": 120})
    ]
    assert edges(service) == [("sarah", "WORKS_AT", "Acme")]


def test_a_full_graph_takes_no_more_and_the_memory_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "palimpsest.graph.manage.GraphLimit._each", lambda limit: iter([_full(limit)])
    )
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
        replace(
            found(f"I know {name}", Relation("user", "User", "KNOWS", name, "Person")),
            topic=None,
            quote=name,
        )
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
def test_without_a_model_patterns_find_where_the_user_lives_and_works(
    text: str, edge: tuple[str, str] | None
) -> None:
    service = ExtractionService()
    service.extractor = PatternExtractor()
    service.wire_workers()
    service.say(text)
    service.handle_to_the_end(service.ask())
    assert edges(service) == ([] if edge is None else [("sarah", *edge)])


def test_the_answer_of_a_model_is_read_with_patience() -> None:
    row = {"type": "fact", "content": "c", "messages": [1], "quote": "c"}
    good = {
        "from": "user",
        "from_type": "user",
        "type": "works at",
        "to": "Acme",
        "to_type": "company",
        "single": True,
    }
    bad = [None, {}, {**good, "type": "!"}, {**good, "to": 7}, {**good, "to_type": "123"}]
    answer = json.dumps(
        {"memories": [{**row, "relationships": [good, *bad]}, {**row, "relationships": "none"}]}
    )
    first, second = read_answer(answer).findings
    assert (first.relations, second.relations) == ((AT_ACME,), ())


IN_HAMBURG = Relation("user", "User", "LIVES_IN", "Hamburg", "City")
IN_BREMEN = replace(IN_HAMBURG, end="Bremen")


def home(
    quote: str, *relations: Relation, seq: int = 1, topic: str | None = "residence"
) -> Finding:
    return replace(found(quote, *relations, seq=seq), topic=topic)


def at_home(
    *, topic: str | None = "residence", relation: Relation = IN_HAMBURG
) -> ExtractionService:
    """Sarah said that she lives in Hamburg."""
    service, _ = asked("I live in Hamburg.")
    service.extractor.finds = lambda _: [home("I live in Hamburg", relation, topic=topic)]
    service.drain()
    assert edges(service) == [("sarah", "LIVES_IN", "Hamburg")]
    service.time.advance(60)
    return service


def says(service: ExtractionService, text: str, *findings: Finding) -> None:
    service.say(text)
    service.extractor.finds = lambda chunk: [
        replace(finding, seqs=(chunk.messages[-1].seq,)) for finding in findings
    ]
    service.handle_to_the_end(service.ask())


def save(service: ExtractionService, content: str) -> None:
    service.memories_app.remember(
        SARAH, [Statement(type="fact", content=content, topic="residence")]
    )


def residence(service: ExtractionService) -> str | None:
    pointer = service.memories.pointers(SARAH, ["residence"])["residence"]
    current = service.memories.records(SARAH, [pointer.record]) if pointer.record else ()
    return current[0].content if current else None


def hamburg(service: ExtractionService) -> Relationship:
    now = graph(service)
    (found,) = (
        relationship
        for relationship in now.relationships.values()
        if now.entities[relationship.end].name == "Hamburg"
    )
    return found


def moment(service: ExtractionService) -> int:
    return milliseconds(service.clock.now())


@pytest.mark.parametrize(
    "relation", [IN_HAMBURG, replace(IN_HAMBURG, single=True)], ids=["several", "single"]
)
def test_a_saved_correction_ends_what_was_drawn_from_the_fact_before(relation: Relation) -> None:
    service = at_home(relation=relation)
    begun = hamburg(service).valid_from
    save(service, "Lives in Bremen")
    assert (residence(service), edges(service)) == ("Lives in Bremen", [])
    assert (hamburg(service).valid_from, hamburg(service).valid_to) == (begun, moment(service))


@pytest.mark.parametrize("topic", ["residence", None])
def test_a_changed_memory_ends_what_was_drawn_from_it(topic: str | None) -> None:
    service = at_home(topic=topic)
    (record,) = service.records()
    service.memories_app.manage_memories.patch(
        SARAH, record.id, RecordChange(content="Lives in Bremen")
    )
    assert (edges(service), hamburg(service).valid_to) == ([], moment(service))


def test_a_reverted_memory_ends_what_was_drawn_from_the_one_that_it_replaces() -> None:
    service, _ = asked("hello")
    service.drain()
    save(service, "Lives in Bremen")
    service.time.advance(60)
    says(service, "I live in Hamburg.", home("I live in Hamburg", IN_HAMBURG))
    older = next(record.id for record in service.records() if record.content == "Lives in Bremen")
    service.time.advance(60)
    service.memories_app.manage_memories.revert(SARAH, older)
    assert (residence(service), edges(service)) == ("Lives in Bremen", [])


def test_a_correction_in_a_conversation_ends_it_when_it_was_said() -> None:
    service = at_home()
    moved = moment(service)
    service.say("I live in Bremen.")
    service.time.advance(600)
    service.extractor.finds = lambda chunk: [
        home("I live in Bremen", IN_BREMEN, seq=chunk.messages[-1].seq)
    ]
    service.handle_to_the_end(service.ask())
    assert edges(service) == [("sarah", "LIVES_IN", "Bremen")]
    assert hamburg(service).valid_to == moved


def test_of_two_statements_in_one_chunk_the_later_one_ends_what_the_earlier_one_drew() -> None:
    service = ExtractionService()
    service.say("I live in Hamburg.")
    service.time.advance(60)
    service.say("I live in Bremen.")
    service.extractor.finds = lambda chunk: [
        home("I live in Hamburg", IN_HAMBURG, seq=chunk.messages[0].seq),
        home("I live in Bremen", IN_BREMEN, seq=chunk.messages[-1].seq),
    ]
    service.handle_to_the_end(service.ask())
    assert edges(service) == [("sarah", "LIVES_IN", "Bremen")]
    assert hamburg(service).valid_to == moment(service)


def test_what_is_drawn_late_from_a_fact_that_was_corrected_meanwhile_has_ended() -> None:
    service, _ = asked("I live in Hamburg.")
    service.time.advance(60)
    save(service, "Lives in Bremen")
    service.extractor.finds = lambda _: [home("I live in Hamburg", IN_HAMBURG)]
    service.drain()
    assert (residence(service), edges(service)) == ("Lives in Bremen", [])
    assert hamburg(service).valid_to == moment(service)


def test_a_deleted_fact_takes_along_what_was_drawn_from_it_alone() -> None:
    service = at_home()
    service.memories_app.manage_memories.delete(SARAH, service.records()[0].id)
    assert (residence(service), edges(service)) == (None, [])
    assert graph(service).relationships == {}
    assert "Hamburg" not in {entity.name for entity in graph(service).entities.values()}


def test_an_older_version_that_is_deleted_ends_nothing() -> None:
    service = at_home()
    older = service.records()[0].id
    says(service, "I live in Bremen.", home("I live in Bremen", IN_BREMEN))
    service.memories_app.manage_memories.delete(SARAH, older)
    assert edges(service) == [("sarah", "LIVES_IN", "Bremen")]


def test_what_is_said_again_goes_on_and_begins_anew_after_its_end() -> None:
    service = at_home()
    begun = hamburg(service).valid_from
    says(service, "I live in Hamburg, Altona.", home("I live in Hamburg, Altona", IN_HAMBURG))
    assert (edges(service), hamburg(service).valid_from) == (
        [("sarah", "LIVES_IN", "Hamburg")],
        begun,
    )
    service.time.advance(60)
    save(service, "Lives in Bremen")
    service.time.advance(60)
    back = moment(service)
    says(service, "I live in Hamburg again.", home("I live in Hamburg again", IN_HAMBURG))
    assert edges(service) == [("sarah", "LIVES_IN", "Hamburg")]
    assert (hamburg(service).valid_from, hamburg(service).valid_to) == (back, None)


@pytest.mark.parametrize(
    ("content", "goes_on"),
    [
        ("Lives in Hamburg, near the harbour", True),
        ("Lives in hamburg", True),
        ("No longer lives in Hamburg", False),
        ("Doesn't live in Hamburg", False),
        ("Lives in Hamburger Allee", False),
    ],
)
def test_a_new_wording_that_still_names_it_lets_it_go_on(content: str, *, goes_on: bool) -> None:
    service = at_home()
    save(service, content)
    assert bool(edges(service)) == goes_on
    service.time.advance(60)
    save(service, "Lives in Bremen")
    assert edges(service) == [], "also after a wording of which nothing was drawn"


def test_an_end_that_a_caller_gave_stays_and_what_has_ended_is_not_ended_again() -> None:
    service = at_home()
    manage, begun = service.memories_app.graph, hamburg(service).valid_from
    manage.change_relationship(SARAH, hamburg(service).id, {"valid_to": begun})
    record = hamburg(service).record
    service.time.advance(60)
    save(service, "Lives in Bremen")
    assert (hamburg(service).valid_to, hamburg(service).record) == (begun, record)


def test_the_type_of_a_name_is_asked_before_the_name_alone() -> None:
    service, _ = asked("I work at Acme.")
    given = [Entity("acme-club", "Club", "Acme"), Entity("acme-ag", "Company", "ACME")]
    service.memories_app.graph.put_entities(SARAH, given)
    service.extractor.finds = lambda _: [found("I work at Acme", AT_ACME)]
    service.drain()
    assert [edge.end for edge in graph(service).edges] == ["acme-ag"]
    assert len(graph(service).entities) == 2


def test_a_caller_s_own_id_for_what_was_extracted_is_the_same_entity() -> None:
    service, _ = asked("I know Tom.")
    knows = Relation("user", "User", "KNOWS", "Tom", "Person")
    service.extractor.finds = lambda _: [found("I know Tom", knows)]
    service.drain()
    service.memories_app.graph.put_entities(SARAH, [Entity("tom-1", "Person", "tom", {"age": 7})])
    assert [(edge.end, edge.type) for edge in graph(service).edges] == [("tom-1", "KNOWS")]
    service.time.advance(60)
    says(service, "I know Tom well.", found("I know Tom", knows))
    assert [relationship.end for relationship in graph(service).relationships.values()] == [
        "tom-1"
    ], "it is not stored twice"
