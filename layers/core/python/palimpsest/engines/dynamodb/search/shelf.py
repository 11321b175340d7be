"""The shelf: one owner's words in one generation of the search index. Recent changes are single
items; all earlier documents are packed in a segment.

A partition holds four kinds of items. `d#…` is the version of a document. `s#…` is a block of the
segment, which never changes. `t#…` is an item of the tail, which has the changes since the segment
was written. `z` is the catalog, which names the segment. One query reads the tail and then the
catalog. While the tail is being packed, a reader may therefore see a document twice, but it never
misses a document.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from palimpsest import parallel
from palimpsest.engines.dynamodb.search.packing import (
    Columns,
    Postings,
    Written,
    block_of,
    blocks,
    joined,
    matches,
    packed,
    postings_in,
    stored_terms,
    unfolded,
    unpacked,
)
from palimpsest.engines.dynamodb.table import BATCH_GET, BATCH_WRITE, Item, Table, key
from palimpsest.errors import CommitLost, Unavailable
from palimpsest.memory.filters import MemoryFilter
from palimpsest.search.ports import Hit
from palimpsest.text.analyser import QueryTerms, asked
from palimpsest.text.bm25 import scored

CATALOG, TAIL, SEGMENT, VERSION = "z", "t#", "s#", "d#"
# The most documents of one owner. Beyond that, words are not searched, and OpenSearch is needed
# (docs/adr/0023).
MOST_DOCUMENTS = 30_000
# The tail is packed once it has more than SHORTEST entries and more entries than 1/SHARE of the
# documents. Packing writes all documents anew, so an owner with many documents is packed less
# often.
SHORTEST, SHARE = 64, 64
MOST_TAIL_BYTES = 300_000
MOST_TAIL_PAGES = 4  # megabytes
LOOKED_AT = 16  # one of this many writes checks the length of the tail
PIECE = 350_000  # bytes of the columns in one item
ATTEMPTS = 4  # at reading, while other processes pack


@dataclass(frozen=True, slots=True)
class Catalog:
    """The name of the segment, the number of items that its columns take, the first term of each of
    its blocks, and the number of its documents.
    """

    segment: str = ""
    pieces: int = 0
    firsts: tuple[str, ...] = ()
    documents: int = 0

    def piece(self, number: int) -> str:
        return f"{SEGMENT}{self.segment}#c{number:05}"

    def block(self, number: int) -> str:
        return f"{SEGMENT}{self.segment}#p{number:05}"

    @property
    def sorts(self) -> list[str]:
        return [*map(self.piece, range(self.pieces)), *map(self.block, range(len(self.firsts)))]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The contents of the shelf at one moment. `tail` maps the key of a document to None if the
    document is gone.
    """

    catalog: Catalog = Catalog()
    tail: Mapping[str, Written | None] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    tail_bytes: int = 0

    @property
    def added(self) -> list[Written]:
        """The documents of the tail that are not gone, always in the same order."""
        return [entry for _, entry in sorted(self.tail.items()) if entry is not None]

    @property
    def wants_packing(self) -> bool:
        """Whether the tail should be packed, because it is long, or because it may have removed
        every document of the segment. In the second case, the segment's words must be removed too.
        """
        gone = sum(entry is None for entry in self.tail.values())
        is_long = len(self.tail) > max(SHORTEST, self.catalog.documents // SHARE)
        return is_long or self.tail_bytes > MOST_TAIL_BYTES or gone >= self.catalog.documents > 0


class Shelf:
    def __init__(self, table: Table, partition: str) -> None:
        self._table = table
        self._partition = partition

    def documents(self) -> Columns:
        """Return all documents that are not gone."""
        return self._read(())[0]

    def by_words(self, query: QueryTerms, *, where: MemoryFilter, k: int) -> tuple[Hit, ...]:
        groups = list(asked(query))
        every, having = self._read(stored_terms(groups))
        scores = scored(matches(groups, having, every))
        best = sorted(scores, key=lambda number: (-scores[number], every.keys[number]))
        return tuple(
            Hit(every.keys[number], scores[number])
            for number in islice(every.passing(where, best), k)
        )

    def keys(self, *, after: str = "", limit: int) -> tuple[str, ...]:
        """Return the keys of the existing documents after `after`, in order. They are read from the
        items that hold versions. The item of a removed document has an expiry, so it is left out.
        """
        values = {
            ":pk": {"S": self._partition},
            # The blank sorts right after the key itself, which is left out.
            ":after": {"S": f"{VERSION}{after} "},
            ":end": {"S": f"{VERSION}\uffff"},
        }
        pages = self._table.pages(
            "pk = :pk AND sk BETWEEN :after AND :end", values, ProjectionExpression="sk",
            FilterExpression="attribute_not_exists(#ttl)", ExpressionAttributeNames={"#ttl": "ttl"},
        )  # fmt: skip
        return tuple(
            islice(
                (item["sk"]["S"].removeprefix(VERSION) for page in pages for item in page), limit
            )
        )

    def tidy(self) -> None:
        """Pack the tail if it is long. Documents are found before, during and after packing.

        A segment with more than `MOST_DOCUMENTS` documents is not packed again. Its words are
        removed once all its documents are gone.
        """
        item = self._table.get(self._partition, CATALOG)
        catalog = Catalog() if item is None else _catalog(item)
        if catalog.documents > MOST_DOCUMENTS:
            if not self.keys(limit=1):
                self._clear(catalog)
            return
        snapshot = self._snapshot(most_pages=None)
        if snapshot.wants_packing:
            self._pack(snapshot)

    def _read(self, terms: Sequence[str]) -> tuple[Columns, dict[str, list[tuple[int, int]]]]:
        """Return all documents by number, and for each stored term the documents that have it.
        Raises `Unavailable`.
        """
        for _ in range(ATTEMPTS):
            snapshot = self._snapshot(most_pages=MOST_TAIL_PAGES)
            if snapshot.catalog.documents > MOST_DOCUMENTS:
                break
            catalog = snapshot.catalog
            numbers = {
                number for term in terms if (number := block_of(term, catalog.firsts)) is not None
            }
            pieces, wanted = (
                list(map(catalog.piece, range(catalog.pieces))),
                list(map(catalog.block, numbers)),
            )
            bodies = self._bodies([*pieces, *wanted])
            if bodies is not None:
                every = _columns(b"".join(bodies[piece] for piece in pieces), snapshot)
                postings = {
                    term: pairs
                    for sort in wanted
                    for term, pairs in postings_in(bodies[sort], terms).items()
                }
                return every, _put_together(snapshot, every, postings, terms)
        raise Unavailable(
            "This index can't search so many documents; try again, or use a larger index."
        )

    def _snapshot(self, *, most_pages: int | None) -> Snapshot:
        """Read the tail and the catalog. Raises `Unavailable` if the tail has more than
        `most_pages` pages. None sets no limit, so that a tail of any length can be packed.
        """
        values = {":pk": {"S": self._partition}, ":tail": {"S": TAIL}, ":catalog": {"S": CATALOG}}
        catalog, size = Catalog(), 0
        tail: dict[str, Written | None] = {}
        versions: dict[str, int] = {}
        for number, page in enumerate(
            self._table.pages("pk = :pk AND sk BETWEEN :tail AND :catalog", values)
        ):
            if number == most_pages:
                raise Unavailable("This index can't search so many documents; use a larger index.")
            for item in page:
                if item["sk"]["S"] == CATALOG:
                    catalog = _catalog(item)
                    continue
                name = item["sk"]["S"].removeprefix(TAIL)
                body = item["body"]["B"] if "body" in item else b""
                tail[name] = Written.unpacked(body) if body else None
                versions[name] = int(item["version"]["N"])
                size += len(body)
        return Snapshot(catalog, tail, versions, size)

    def _bodies(self, sorts: Sequence[str]) -> dict[str, bytes] | None:
        """Return the bodies of these items of a segment; None if some of them no longer exist."""
        # Blocks never change, so they are read without consistency, at half the price. Only a block
        # that was just written may be missing.
        bodies = self._some_bodies(sorts, consistent=False)
        if missing := [sort for sort in sorts if sort not in bodies]:
            bodies |= self._some_bodies(missing, consistent=True)
        return bodies if len(bodies) == len(sorts) else None

    def _some_bodies(self, sorts: Sequence[str], *, consistent: bool) -> dict[str, bytes]:
        batches = [sorts[at : at + BATCH_GET] for at in range(0, len(sorts), BATCH_GET)]

        def read(batch: Sequence[str]) -> list[Item]:
            return list(
                self._table.get_each(
                    [(self._partition, sort) for sort in batch], consistent=consistent
                )
            )

        return {
            item["sk"]["S"]: item["body"]["B"]
            for items in parallel.run_each(read, batches)
            for item in items
        }

    def _pack(self, snapshot: Snapshot) -> None:
        """Write a new segment, change the catalog to name it, and remove the items that it
        replaces. If another writer was first, the new segment is discarded. Entries that are
        written meanwhile stay in the tail.
        """
        old = snapshot.catalog
        bodies = self._bodies(old.sorts)
        if bodies is None:
            return
        every = _columns(
            b"".join(bodies[old.piece(piece)] for piece in range(old.pieces)), snapshot
        )
        moved = {before: after for after, before in enumerate(every.numbers)}
        added = {
            moved[number]: document for number, document in enumerate(snapshot.added, every.stored)
        }
        postings: Postings = {}
        for number in range(len(old.firsts)):
            postings |= postings_in(bodies[old.block(number)])
        new = self._write_segment(every, joined(postings, moved, added))
        if not self._name(new, instead_of=old):
            self._delete(new.sorts)
            return
        parallel.run_each(lambda tail: self._drop_from_tail(*tail), list(snapshot.versions.items()))
        # If no document is left, segments that were never finished must not keep words either.
        self._delete(old.sorts if new.documents else list(self._segment_sorts()))

    def _clear(self, old: Catalog) -> None:
        """Remove the remaining items of documents that are all gone. The catalog is changed before
        the segments are deleted; until then the shelf is not read.
        """
        values = {":pk": {"S": self._partition}, ":tail": {"S": TAIL}}
        gone = {
            "FilterExpression": "attribute_not_exists(body)",
            "ProjectionExpression": "sk, version",
        }
        for page in self._table.pages("pk = :pk AND begins_with(sk, :tail)", values, **gone):
            parallel.run_each(
                lambda item: self._drop_from_tail(
                    item["sk"]["S"].removeprefix(TAIL), int(item["version"]["N"])
                ),
                page,
            )
        # The new name makes a process that is still packing lose.
        if self._name(Catalog(uuid.uuid4().hex[:12]), instead_of=old):
            self._delete(list(self._segment_sorts()))

    def _write_segment(self, every: Columns, postings: Postings) -> Catalog:
        count = len(every)
        stored = every.packed() if count else b""
        pieces = [stored[at : at + PIECE] for at in range(0, len(stored), PIECE)]
        cut = list(blocks(postings))
        new = Catalog(uuid.uuid4().hex[:12], len(pieces), tuple(first for first, _ in cut), count)
        bodies = zip(new.sorts, [*pieces, *(body for _, body in cut)], strict=True)
        puts = [
            {"PutRequest": {"Item": key(self._partition, sort) | {"body": {"B": body}}}}
            for sort, body in bodies
        ]
        self._write(puts)
        return new

    def _name(self, new: Catalog, *, instead_of: Catalog) -> bool:
        """Change the catalog to name the new segment; return False if another process was first."""
        body = packed([new.segment, new.pieces, new.firsts, new.documents])
        item = key(self._partition, CATALOG) | {
            "segment_id": {"S": new.segment},
            "body": {"B": body},
        }
        condition = "segment_id = :segment" if instead_of.segment else "attribute_not_exists(pk)"
        values = (
            {"ExpressionAttributeValues": {":segment": {"S": instead_of.segment}}}
            if instead_of.segment
            else {}
        )
        try:
            self._table.call(
                "PutItem",
                TableName=self._table.name,
                Item=item,
                ConditionExpression=condition,
                **values,
            )
        except CommitLost:  # also if the first try had succeeded but its answer was lost
            there = self._table.get(self._partition, CATALOG)
            return there is not None and there["segment_id"]["S"] == new.segment
        return True

    def _drop_from_tail(self, name: str, version: int) -> None:
        with suppress(CommitLost):  # a newer version was written meanwhile
            self._table.call(
                "DeleteItem", TableName=self._table.name, Key=key(self._partition, TAIL + name),
                ConditionExpression="version = :version",
                ExpressionAttributeValues={":version": {"N": str(version)}},
            )  # fmt: skip

    def _segment_sorts(self) -> Iterator[str]:
        """Yield the sort keys of the items of every segment, including unfinished segments."""
        values = {":pk": {"S": self._partition}, ":segment": {"S": SEGMENT}}
        for page in self._table.pages(
            "pk = :pk AND begins_with(sk, :segment)", values, ProjectionExpression="sk"
        ):
            yield from (item["sk"]["S"] for item in page)

    def _delete(self, sorts: Iterable[str]) -> None:
        self._write([{"DeleteRequest": {"Key": key(self._partition, sort)}} for sort in sorts])

    def _write(self, requests: Sequence[Item]) -> None:
        batches = [requests[at : at + BATCH_WRITE] for at in range(0, len(requests), BATCH_WRITE)]
        parallel.run_each(self._table.write_many, batches)


def is_looked_at(name: str, version: int) -> bool:
    """Return whether the write of this document also checks the length of the tail."""
    return zlib.crc32(f"{name} {version}".encode(errors="surrogatepass")) % LOOKED_AT == 0


def _catalog(item: Item) -> Catalog:
    segment, pieces, firsts, documents = unpacked(item["body"]["B"])
    return Catalog(segment, pieces, tuple(firsts), documents)


def _columns(stored: bytes, snapshot: Snapshot) -> Columns:
    """Return the documents of segment and tail together. A document of the tail replaces the one of
    the segment with the same key.
    """
    return Columns(
        stored, without=snapshot.tail.keys(), added=[document.entry for document in snapshot.added]
    )


def _put_together(
    snapshot: Snapshot, every: Columns, postings: Postings, terms: Sequence[str]
) -> dict[str, list[tuple[int, int]]]:
    """Return for each term the documents that have it, from both segment and tail."""
    having: dict[str, list[tuple[int, int]]] = {}
    for term, pairs in postings.items():
        having[term] = [pair for pair in unfolded(pairs) if pair[0] not in every.gone]
    for number, document in enumerate(snapshot.added, every.stored):
        for term in terms:
            if term in document.times:
                having.setdefault(term, []).append((number, document.times[term]))
    return having
