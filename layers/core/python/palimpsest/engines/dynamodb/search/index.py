"""`SearchIndex` in two DynamoDB tables. One table holds words, in a partition for each owner. The
other holds vectors, in a vector index whose HASH key is the owner.
"""

from __future__ import annotations

import hashlib
import heapq
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, get_args

from palimpsest import parallel
from palimpsest.engines.dynamodb.errors import FirstFailed
from palimpsest.engines.dynamodb.search.family import Generation, IndexGenerations
from palimpsest.engines.dynamodb.search.packing import Written
from palimpsest.engines.dynamodb.search.shelf import TAIL, VERSION, Shelf, is_looked_at
from palimpsest.engines.dynamodb.table import BATCH_GET, BATCH_WRITE, Item, Table, key
from palimpsest.errors import CommitLost, Unavailable
from palimpsest.memory.filters import MemoryFilter
from palimpsest.memory.record import RecordType
from palimpsest.models.ports import Space, Vector
from palimpsest.models.vectors import check_vector, unit
from palimpsest.scope import UserScope
from palimpsest.search.ports import ANYTHING, Document, Gone, Hit, check_vectors
from palimpsest.text.analyser import query_terms

Made = TypeVar("Made")
VECTOR_INDEX = "by_meaning"
MOST_NEAREST = 100  # the most results of one search (DynamoDB)
SPARE = 10  # results read beyond k, so that equally near ones can be ordered by key
MOST_COMPARED = 1_000  # vectors compared one by one if the vector index can't apply the filter
GONE_SECONDS = 600  # the least time for which the version of a removed document is kept
RECORDS = frozenset(get_args(RecordType))
FILTERS = ("kind", "origin", "subject", "session", "agent")
"""The attributes that the vector index filters by. It can only test whether they equal a value."""


class _OtherSpace(Unavailable):
    def __init__(self) -> None:
        super().__init__("The search index has vectors of another embedding model.")


class DynamoDbIndex:
    """Implements `SearchIndex`. The table `table` holds words and the item of the family. The table
    `vectors` holds vectors of this space's dimension.
    """

    def __init__(self, table: str, vectors: str, *, space: Space | None, **where: Any) -> None:
        self._space = space
        self._table, self._vectors = Table(table, **where), Table(vectors, **where)
        self._family = IndexGenerations(self._table, space=space)

    @property
    def space(self) -> Space | None:
        return self._space

    def write(self, owner: UserScope, changes: Sequence[Document | Gone]) -> tuple[str, ...]:
        check_vectors(changes, self._space)
        newest = _newest(changes)
        if not newest:
            return ()
        generations = self._family.known().generations
        if not generations:
            raise Unavailable("There is no search index yet.")
        failed: set[str] = set()
        for generation in generations:
            partition = generation.partition(owner_id(owner))
            written = parallel.run_each(
                partial(self._apply, generation, partition), list(newest.values())
            )
            failed |= {
                name for name, is_written in zip(newest, written, strict=True) if not is_written
            }
            # A removal may empty the segment, whose words must then be removed too.
            if any(
                isinstance(change, Gone) or is_looked_at(change.key, change.version)
                for change in newest.values()
            ):
                with suppress(Unavailable):  # the changes are written; a later write tidies
                    Shelf(self._table, partition).tidy()
        return tuple(sorted(failed))

    def by_words(
        self, owner: UserScope, text: str, *, where: MemoryFilter = ANYTHING, k: int
    ) -> tuple[Hit, ...]:
        query = query_terms(text)
        return (
            self._read(lambda read: self._shelf(read, owner).by_words(query, where=where, k=k))
            or ()
        )

    def by_vector(
        self, owner: UserScope, vector: Vector, *, where: MemoryFilter = ANYTHING, k: int
    ) -> tuple[Hit, ...]:
        check_vector(vector, self._space)
        return self._read(lambda read: self._by_vector(read, owner, vector, where=where, k=k)) or ()

    def _by_vector(
        self, read: Generation, owner: UserScope, vector: Vector, *, where: MemoryFilter, k: int
    ) -> tuple[Hit, ...]:
        if read.space != self._space:
            raise _OtherSpace
        partition = read.partition(owner_id(owner))
        numbers = _numbers(vector)
        most = min(k + SPARE, MOST_NEAREST)
        searches = list(_conditions(where))
        answers = parallel.run_each(
            lambda condition: self._nearest(partition, numbers, condition, most), searches
        )
        hits = [hit for some in answers for hit in some]
        is_all = all(len(some) < most for some in answers)
        # One search returns at most `MOST_NEAREST`, so a larger k needs the comparison below.
        if _is_inline(where) and (is_all or k + SPARE <= MOST_NEAREST):
            return _best(hits, k)
        # The entries in the table of words have the data that the vector index lacks.
        every = self._shelf(read, owner).documents()
        passing = {every.keys[number] for number in every.passing(where, every.numbers)}
        hits = [hit for hit in hits if hit.key in passing]
        # The nearest vectors may all fail the filter.
        if not is_all and len(hits) < min(k, len(passing)) and len(passing) <= MOST_COMPARED:
            hits = self._compared(partition, sorted(passing), unit(vector))
        return _best(hits, k)

    def keys(self, owner: UserScope, *, after: str = "", limit: int) -> tuple[str, ...]:
        return (
            self._read(lambda read: self._shelf(read, owner).keys(after=after, limit=limit)) or ()
        )

    def count(self, owner: UserScope) -> int:
        return self._read(lambda read: len(self._shelf(read, owner).documents())) or 0

    def prepare(self, *, afresh: bool = False) -> None:
        self._family.add(afresh=afresh)

    def switch(self) -> None:
        dropped = self._family.read_newest()
        for table in (self._table, self._vectors) if self._space else (self._table,):
            for number in dropped:
                _clear(table, f"{number}#")
        self._family.forget_dropped(dropped)

    def indexes(self) -> tuple[str, ...]:
        every = self._family.known().generations
        return tuple(
            generation.name
            for generation in sorted(
                every, key=lambda generation: (not generation.is_read, -generation.number)
            )
        )

    def _apply(self, generation: Generation, partition: str, change: Document | Gone) -> bool:
        """Write one change in one transaction; return False if it can't be written now."""
        version = {"N": str(change.version)}
        expires = (
            {":ttl": {"N": str(int(time.time()) + GONE_SECONDS)}}
            if isinstance(change, Gone)
            else {}
        )
        guard = {
            "TableName": self._table.name,
            "Key": key(partition, VERSION + change.key),
            "UpdateExpression": "SET version = :version"
            + (", #ttl = :ttl" if expires else " REMOVE #ttl"),
            "ConditionExpression": "attribute_not_exists(version) OR version < :version",
            "ExpressionAttributeNames": {"#ttl": "ttl"},
            "ExpressionAttributeValues": {":version": version, **expires},
            # The stored item shows whether the write failed because of a newer version or because
            # of a conflict.
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        body = {"body": {"B": Written.of(change).packed()}} if isinstance(change, Document) else {}
        words = key(partition, TAIL + change.key) | {"version": version, **body}
        actions: list[dict[str, Any]] = [
            {"Update": guard},
            {"Put": {"TableName": self._table.name, "Item": words}},
        ]
        if generation.space == self._space and self._space is not None:
            actions.append(self._vector_action(partition, change))
        try:
            self._table.transact(actions)
        except FirstFailed:
            return True  # this version or a higher one is there
        except (CommitLost, Unavailable):
            return False  # another writer changed this document, or the store did not answer
        return True

    def _vector_action(self, partition: str, change: Document | Gone) -> dict[str, Any]:
        place = {"TableName": self._vectors.name, "Key": key(partition, change.key)}
        if isinstance(change, Gone) or change.vector is None:
            return {"Delete": place}
        values = {
            "kind": change.kind,
            "origin": "record" if change.kind in RECORDS else "message",
            "subject": change.subject,
            "session": change.session,
            "agent": change.agent,
        }
        item = key(partition, change.key) | {
            "owner": {"S": partition},
            "vector": {"L": _numbers(change.vector)},
        }
        item |= {name: {"S": _digest(value)} for name, value in values.items() if value is not None}
        return {"Put": {"TableName": self._vectors.name, "Item": item}}

    def _shelf(self, generation: Generation, owner: UserScope) -> Shelf:
        return Shelf(self._table, generation.partition(owner_id(owner)))

    def _read(self, work: Callable[[Generation], Made]) -> Made | None:
        """Call `work` with the generation that is read, and return its result; None if nothing was
        ever indexed.

        `work` starts at once with the generation that searches read some seconds ago. If searches
        read another generation by now, `work` is called again with that one.
        """
        seen = self._family.known(again=False).read
        if seen is not None:
            with suppress(_OtherSpace):
                made, now = parallel.run_both(lambda: work(seen), lambda: self._family.known().read)
                if now == seen:
                    return made
        now = self._family.known().read
        return None if now is None else work(now)

    def _nearest(
        self, partition: str, numbers: list[Item], condition: dict[str, str], most: int
    ) -> list[Hit]:
        condition = {"owner": partition, **condition}
        answer = self._vectors.call(
            "SearchVectors",
            TableName=self._vectors.name,
            IndexName=VECTOR_INDEX,
            SearchVector=numbers,
            TopK=most,
            SearchConditionExpression=" AND ".join(f"#{name} = :{name}" for name in condition),
            ExpressionAttributeNames={f"#{name}": name for name in condition},
            ExpressionAttributeValues={
                f":{name}": {"S": value} for name, value in condition.items()
            },
        )
        results = answer["SearchResults"]
        # The index gives the distance of two vectors.
        return [Hit(row["Item"]["sk"]["S"], _bounded(1 - float(row["Score"]))) for row in results]

    def _compared(
        self, partition: str, names: Sequence[str], question: Sequence[float]
    ) -> list[Hit]:
        batches = [names[at : at + BATCH_GET] for at in range(0, len(names), BATCH_GET)]

        def compared(batch: Sequence[str]) -> list[Hit]:
            items = self._vectors.get_each([(partition, name) for name in batch], consistent=False)
            return [Hit(item["sk"]["S"], _cosine(item["vector"]["L"], question)) for item in items]

        return [hit for hits in parallel.run_each(compared, batches) for hit in hits]


def _newest(changes: Sequence[Document | Gone]) -> dict[str, Document | Gone]:
    """Return the change of the highest version for each key."""
    newest: dict[str, Document | Gone] = {}
    for change in changes:
        if change.key not in newest or newest[change.key].version < change.version:
            newest[change.key] = change
    return newest


def owner_id(owner: UserScope) -> str:
    return hashlib.sha256(f"{owner.tenant}\0{owner.user}".encode()).hexdigest()[:40]


def _digest(value: str) -> str:
    """Return a value in the form by which the vector index filters: a short digest, never empty,
    without the text.
    """
    return hashlib.sha256(value.encode(errors="surrogatepass")).hexdigest()[:24]


def _conditions(where: MemoryFilter) -> Iterator[dict[str, str]]:
    """Yield the equality conditions of each search that the filter needs. They cover all conditions
    of the filter that are equalities.
    """
    for subject in where.subjects or (None,):
        yield from _equalities(where, subject)


def _equalities(where: MemoryFilter, subject: str | None) -> Iterator[dict[str, str]]:
    values = {"subject": subject, "session": where.session, "agent": where.agent}
    same = {name: _digest(value) for name, value in values.items() if value is not None}
    if not where.types or where.types == {*RECORDS, "message"}:
        yield same
    elif where.types == RECORDS:
        # The index can't test for one of several types, so all records share an attribute.
        yield {"origin": _digest("record"), **same}
    else:
        yield from ({"kind": _digest(kind), **same} for kind in sorted(where.types))


def _is_inline(where: MemoryFilter) -> bool:
    """Return whether the vector index itself can apply the whole filter."""
    return (
        where.min_importance is where.created_after is where.created_before is None
        and not where.tests
    )


def _numbers(vector: Vector) -> list[Item]:
    return [{"N": format(value, ".8g")} for value in unit(vector)]


def _cosine(numbers: Sequence[Item], question: Sequence[float]) -> float:
    return _bounded(
        sum(float(number["N"]) * value for number, value in zip(numbers, question, strict=True))
    )


def _bounded(cosine: float) -> float:
    return max(-1.0, min(1.0, cosine))


def _best(hits: Sequence[Hit], k: int) -> tuple[Hit, ...]:
    return tuple(heapq.nsmallest(k, hits, key=lambda hit: (-hit.score, hit.key)))


def _clear(table: Table, prefix: str) -> None:
    """Delete every item whose partition begins with `prefix`."""
    pages = table.scan(
        ProjectionExpression="pk, sk", FilterExpression="begins_with(pk, :prefix)",
        ExpressionAttributeValues={":prefix": {"S": prefix}},
    )  # fmt: skip
    for page in pages:
        deletes = [
            {"DeleteRequest": {"Key": {"pk": item["pk"], "sk": item["sk"]}}} for item in page
        ]
        parallel.run_each(
            table.write_many,
            [deletes[at : at + BATCH_WRITE] for at in range(0, len(deletes), BATCH_WRITE)],
        )
