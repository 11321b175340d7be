"""What is read of a query before it runs: that it only reads, and what it names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palimpsest.errors import Unprocessable
from palimpsest.graph.query import MAX_QUERY
from palimpsest_graph.cypher import MOST_STEPS, MOST_TERMS, REFUSED, read_query

READS = "MATCH (u:User {id: $userId})-[:PREFERS]->(p) RETURN p.name, p.value"


def refusal(text: str) -> str:
    with pytest.raises(Unprocessable) as refused:
        read_query(text)
    return refused.value.code


def test_a_query_that_reads_says_what_it_names() -> None:
    query = read_query(READS)
    assert [(name.text, name.of) for name in query.types] == [("User", "node"), ("PREFERS", "edge")]
    assert query.properties == ("id", "name", "value")
    assert query.parameters == {"userId"}


def test_types_are_found_in_alternatives_in_backticks_and_behind_paths() -> None:
    query = read_query(
        "MATCH (a:Person:`Odd One`|City)-[r:KNOWS|:IS_IN*1..3 {since: 2020}]->() RETURN r, a['x']"
    )
    assert [name.text for name in query.types if name.of == "node"] == ["Person", "Odd One", "City"]
    assert [name.text for name in query.types if name.of == "edge"] == ["KNOWS", "IS_IN"]
    assert query.properties == ("since",)


@pytest.mark.parametrize("word", sorted(REFUSED))
@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n) {} (m) RETURN n",
        "MATCH (n)\n/* {} */{} n RETURN 1",
        "MATCH (n) RETURN n;{} x",
        "RETURN 1 {} y",
    ],
)
def test_a_clause_that_does_more_is_refused_wherever_it_stands(word: str, text: str) -> None:
    assert refusal(text.replace("{}", word.title())) in ("query_writes", "invalid_query")
    assert refusal(word) == "invalid_query"


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n {name: 'CREATE (x)'}) RETURN n.set, n.`delete` // DROP TABLE x",
        'MATCH (n:Load)-[:CALL]->(m) WHERE n.copy = "it\'s; MERGE" RETURN m',
        "RETURN $call, '\\'; DELETE n //'",
        "UNWIND [1, 2] AS x WITH x RETURN x;",
    ],
)
def test_words_that_are_text_names_or_comments_are_no_clauses(text: str) -> None:
    assert read_query(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "hello",
        "MATCH (n RETURN n",
        "MATCH (n)) RETURN n",
        "RETURN 'x",
        "RETURN 1; RETURN 2",
        "RETURN \\",
    ],
)
def test_what_is_no_query_is_refused(text: str) -> None:
    assert refusal(text) == "invalid_query"


def test_a_query_that_names_without_end_is_refused() -> None:
    assert (
        refusal("MATCH (n) RETURN " + ", ".join(f"n.p{number}" for number in range(60)))
        == "invalid_query"
    )


def test_types_of_edges_are_written_as_the_engine_knows_them() -> None:
    query = read_query("MATCH (a:KNOWS)-[:knows|LIKES]->(b {x: KNOWS}) RETURN a")
    assert query.renamed({"knows": "KNOWS_", "likes": "LIKES"}) == (
        "MATCH (a:KNOWS)-[:`KNOWS_`|LIKES]->(b {x: KNOWS}) RETURN a"
    )


@given(st.text(alphabet="MATCHRETURNmatch(n)[]{}.:|$'\"`/*; \n1aé", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        query = read_query(f"MATCH {text}")
    except Unprocessable:
        return
    assert all(query.text[name.start : name.end].strip("`") == name.text for name in query.types)


@pytest.mark.parametrize(
    "text",
    [
        "RETURN 1" + "+1" * 3_900,
        "RETURN '" + "x" * MAX_QUERY + "'",
        "RETURN " + "[" * 17 + "1" + "]" * 17,
        "RETURN " + "([{a: " * 6 + "1" + "}])" * 6,
        "RETURN " + "CASE WHEN true THEN " * 17 + "1" + " END" * 17,
        "RETURN " + "case [{end: " * 9 + "1" + "}] when 1 then 1 end" * 9,
        "RETURN 1" + "+1" * (MOST_TERMS + 1),
        "MATCH "
        + ", ".join(f"(c)-[:KNOWS]->(m{number})" for number in range(MOST_STEPS + 1))
        + " RETURN count(*)",
        "MATCH (a)" + "--()" * (MOST_STEPS + 1) + " RETURN count(*)",
        "MATCH (a)" + "<-[*1..2]-()" * (MOST_STEPS + 1) + " RETURN count(*)",
    ],
    ids=lambda text: f"{text[:24]} of {len(text)}",
)
def test_a_query_that_is_too_long_too_deep_or_too_wide_is_refused_before_it_is_run(
    text: str,
) -> None:
    assert refusal(text) == "query_too_large"


@pytest.mark.parametrize(
    "text",
    [
        "RETURN " + "[" * 16 + "1" + "]" * 16,
        "RETURN [" + ", ".join(["[1]"] * 40) + "]",
        "RETURN " + ", ".join("CASE WHEN true THEN 1 END" for _ in range(17)),
        "MATCH "
        + ", ".join(f"(c)-[:KNOWS]->(m{number})" for number in range(MOST_STEPS))
        + " RETURN count(*)",
        "MATCH (n) WHERE "
        + " OR ".join(f"n.name = 'name {number}'" for number in range(40))
        + " RETURN n.case, n.end",
        """MATCH (p:Person)-[:WORKS_AT]->(c:Company)-[:IS_IN]->(t:City {name: $city}) OPTIONAL MATCH (p)-[k:KNOWS]->(f)
        WITH p, c, collect(f.name) AS friends, count(k) AS many WHERE many > 2 AND NOT c.name STARTS WITH 'A'
        RETURN p.name, CASE WHEN many > 10 THEN 'many' ELSE 'some' END AS how, friends ORDER BY many DESC LIMIT 20""",
    ],
)
def test_a_query_as_people_write_them_is_not_too_large(text: str) -> None:
    assert read_query(text).text == text
