"""The index of users' graphs in one graph of Neptune Analytics, read and written by fixed queries in openCypher."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from palimpsest.engines import aws
from palimpsest.errors import Unavailable
from palimpsest.graph import Entity, Relationship
from palimpsest.graph.indexed import ENTITY, PREFERENCE, RELATIONSHIP
from palimpsest.memory.preferences import TOPICS
from palimpsest.scope import UserScope
from palimpsest.text import normalized

SECONDS = 5
FIELDS = ("owner", "topic", "kind", "folded", "said", "record")
PUT_NODES = "UNWIND $rows AS row MERGE (n:Entity {`~id`: row.key}) SET " + ", ".join(f"n.{f} = row.{f}" for f in FIELDS)
PUT_ENDS = "UNWIND $keys AS key MERGE (:Entity {`~id`: key})"
PUT_EDGES = """UNWIND $rows AS row MATCH (a:Entity {`~id`: row.source}), (b:Entity {`~id`: row.target})
CREATE (a)-[:RELATES {owner: row.owner, topic: row.topic, kind: row.kind, record: row.record,
source: row.source, target: row.target}]->(b) RETURN row.topic AS topic"""
FIND_EDGES = """UNWIND $topics AS topic MATCH (:Entity)-[r:RELATES {owner: $owner, topic: topic}]->(:Entity)
RETURN r.source AS source, r.target AS target"""
DROP_EDGES = "UNWIND $topics AS topic MATCH (:Entity)-[r:RELATES {owner: $owner, topic: topic}]->(:Entity) DELETE r"
EMPTY_NODES = "UNWIND $keys AS key MATCH (n:Entity {`~id`: key}) SET " + ", ".join(f"n.{f} = null" for f in FIELDS)
DROP_NODES = """UNWIND $keys AS key MATCH (n:Entity {`~id`: key})
WHERE n.topic IS NULL AND NOT (n)-[:RELATES]-(:Entity) DELETE n"""
NODES = "MATCH (n:Entity {owner: $owner})"
EDGES = "MATCH (:Entity)-[n:RELATES {owner: $owner}]->(:Entity)"
WAYS = {
    (False, False): EDGES,
    (True, False): "UNWIND $sources AS source MATCH (:Entity {`~id`: source})-[n:RELATES {owner: $owner}]->(:Entity)",
    (False, True): "UNWIND $targets AS target MATCH (:Entity)-[n:RELATES {owner: $owner}]->(:Entity {`~id`: target})",
    (True, True): """UNWIND $sources AS source UNWIND $targets AS target
MATCH (:Entity {`~id`: source})-[n:RELATES {owner: $owner}]->(:Entity {`~id`: target})""",
}


class NeptuneIndex:
    """Implements `GraphIndex`. A node is an entity or a preference; the id of each begins with its owner, so no edge
    leads from one owner's to another's. `client` is boto3's for `neptune-graph`, made when it is first needed unless it
    is given.

    No text of a caller is ever part of a query: all of it are parameters.
    """

    def __init__(self, graph: str, *, client: Any = None) -> None:
        self._graph = graph
        self._given = client

    def write(self, scope: UserScope, things: Mapping[str, Sequence[Entity | Relationship]]) -> None:
        nodes = [_node(scope, topic, one) for topic, some in things.items() for one in some if isinstance(one, Entity)]
        edges = [
            _edge(scope, topic, one) for topic, some in things.items() for one in some if isinstance(one, Relationship)
        ]
        owner, topics = scope.partition, [topic for topic in things if not topic.startswith(ENTITY)]
        known = self._run(FIND_EDGES, owner=owner, topics=topics) if topics else []
        if known:
            self._run(DROP_EDGES, owner=owner, topics=topics)
        if nodes:
            self._run(PUT_NODES, rows=nodes)
        if edges:
            self._run(PUT_ENDS, keys=sorted({row[end] for row in edges for end in ("source", "target")}))
            if len(self._run(PUT_EDGES, rows=edges)) < len(edges):
                raise Unavailable("Another writer has just removed an end of what was written.", code="graph")
        gone = [_key(scope, _name_of(topic)) for topic, some in things.items() if not some and _is_node(topic)]
        if gone:
            self._run(EMPTY_NODES, keys=gone)
        left = sorted({*gone, *(row[end] for row in known for end in ("source", "target"))})
        if left:
            self._run(DROP_NODES, keys=left)

    def topics(self, scope: UserScope, records: Sequence[str]) -> list[str]:
        where = " WHERE n.record IN $records RETURN DISTINCT n.topic AS topic"
        given = {"owner": scope.partition, "records": list(records)}
        return sorted({row["topic"] for kind in (NODES, EDGES) for row in self._run(kind + where, **given)})

    def entities(
        self,
        scope: UserScope,
        *,
        kind: str | None = None,
        name: str | None = None,
        names: Sequence[str] | None = None,
        after: str | None = None,
        limit: int,
    ) -> list[str]:
        folded = None if name is None else name.casefold()
        conditions = {
            "n.kind = $kind": kind, "n.folded CONTAINS $folded": folded, "n.said IN $names": names and list(names)
        }  # fmt: skip
        return self._listed(NODES, conditions, scope, after=after or ENTITY, prefix=ENTITY, limit=limit)

    def relationships(
        self,
        scope: UserScope,
        *,
        kinds: Sequence[str] = (),
        starts: Sequence[str] | None = None,
        ends: Sequence[str] | None = None,
        after: str | None = None,
        limit: int,
    ) -> list[str]:
        ways = {"sources": starts, "targets": ends}
        given = {way: [_key(scope, each) for each in some] for way, some in ways.items() if some is not None}
        text = WAYS[starts is not None, ends is not None]
        conditions = {"n.kind IN $kinds": list(kinds) or None}
        return self._listed(text, conditions, scope, after=after or "", limit=limit, given=given)

    def sizes(self, scope: UserScope) -> tuple[int, int]:
        counts = []
        for kind, prefix in ((NODES, ENTITY), (EDGES, RELATIONSHIP)):
            text = f"{kind} WHERE n.topic STARTS WITH $prefix RETURN count(n.topic) AS count"
            counts.append(self._run(text, owner=scope.partition, prefix=prefix)[0]["count"])
        return counts[0], counts[1]

    def _listed(
        self,
        text: str,
        conditions: Mapping[str, Any],
        scope: UserScope,
        *,
        after: str,
        limit: int,
        prefix: str = "",
        given: Mapping[str, Any] = MappingProxyType({}),
    ) -> list[str]:
        """`conditions` are what holds of `n`, each with the value of the parameter that it names, or None."""
        asked = {condition: value for condition, value in conditions.items() if value is not None}
        where = " AND ".join(["n.topic > $after", "n.topic STARTS WITH $prefix", *asked])
        named = {condition.rpartition("$")[2]: value for condition, value in asked.items()}
        query = f"{text} WHERE {where} RETURN DISTINCT n.topic AS topic ORDER BY topic LIMIT {int(limit)}"
        rows = self._run(query, owner=scope.partition, after=after, prefix=prefix, **named, **given)
        return [row["topic"] for row in rows]

    def _run(self, text: str, **parameters: Any) -> list[dict[str, Any]]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer = self._client.execute_query(
                graphIdentifier=self._graph, queryString=text, language="OPEN_CYPHER", parameters=parameters,
                planCache="ENABLED", queryTimeoutMilliseconds=SECONDS * 1000,
            )  # fmt: skip
            rows: list[dict[str, Any]] = json.loads(answer["payload"].read())["results"]
        except (BotoCoreError, ClientError, ValueError, LookupError) as error:
            raise Unavailable("The index of graphs did not answer.", code="graph") from error
        return rows

    @cached_property
    def _client(self) -> Any:
        return self._given or aws.client("neptune-graph", seconds=SECONDS + 2, attempts=2)


def _key(scope: UserScope, name: str) -> str:
    """The id of a node; no id of a tenant, user or entity has a `#`."""
    return f"{scope.partition}#{name}"


def _node(scope: UserScope, topic: str, one: Entity) -> dict[str, Any]:
    own = {"kind": one.type, "folded": one.name.casefold(), "said": normalized(one.name), "record": one.record}
    return {"key": _key(scope, one.id), "owner": scope.partition, "topic": topic, **own}


def _edge(scope: UserScope, topic: str, one: Relationship) -> dict[str, Any]:
    ends = {"source": _key(scope, one.start), "target": _key(scope, one.end)}
    return {"owner": scope.partition, "topic": topic, "kind": one.type, "record": one.record, **ends}


def _is_node(topic: str) -> bool:
    return not topic.startswith(RELATIONSHIP)


def _name_of(topic: str) -> str:
    return PREFERENCE + topic.removeprefix(TOPICS) if topic.startswith(TOPICS) else topic.removeprefix(ENTITY)
