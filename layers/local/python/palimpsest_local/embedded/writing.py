"""Adds and removes documents of an owner. Terms, postings and vector change together."""

from __future__ import annotations

import json
import sqlite3
import time
from array import array
from collections import Counter
from dataclasses import dataclass

from palimpsest.models.ports import Vector
from palimpsest.models.vectors import unit
from palimpsest.search.ports import Document, Gone
from palimpsest.text.analyser import document_terms
from palimpsest.text.bm25 import rounded

from palimpsest_local.embedded.database import Index, OwnerShelf

GONE_SECONDS = 600  # how long the version of a removed document is remembered
PART_SIGN = "~"  # tells a part from a word of the same letters; no word holds it


@dataclass(frozen=True, slots=True)
class Analysed:
    """A document with its terms, which are analysed once for all indexes."""

    document: Document
    times: str  # {term: how often}
    words: int
    parts: int
    vector: bytes | None


def analysed(document: Document) -> Analysed:
    terms = document_terms(document.text)
    times = Counter(terms.words) + Counter(PART_SIGN + part for part in terms.parts)
    vector = None if document.vector is None else stored(document.vector)
    return Analysed(document, json.dumps(times), len(terms.words), len(terms.parts), vector)


def stored(vector: Vector) -> bytes:
    return array("f", unit(vector)).tobytes()


def apply(
    connection: sqlite3.Connection,
    index: Index,
    shelf: OwnerShelf,
    change: Analysed | Gone,
    *,
    with_vector: bool,
) -> None:
    """Write the change, unless its version or a higher one is already stored."""
    subject = change if isinstance(change, Gone) else change.document
    old = connection.execute(
        "SELECT id, version, terms, words, parts FROM documents WHERE shelf = ? AND key = ?",
        (shelf.id, subject.key),
    ).fetchone()
    if old is not None and old["version"] >= subject.version:
        return
    if old is not None:
        _take_off(connection, shelf, old)
    if isinstance(change, Gone):
        connection.execute(
            "INSERT INTO documents (shelf, key, version, gone_at) VALUES (?, ?, ?, ?)",
            (shelf.id, change.key, change.version, int(time.time())),
        )
    else:
        _put_on(connection, index, shelf, change, with_vector=with_vector)


def forget_gone(connection: sqlite3.Connection) -> None:
    connection.execute(
        "DELETE FROM documents WHERE gone_at < ?", (int(time.time()) - GONE_SECONDS,)
    )


def _put_on(
    connection: sqlite3.Connection,
    index: Index,
    shelf: OwnerShelf,
    new: Analysed,
    *,
    with_vector: bool,
) -> None:
    document = new.document
    connection.execute(
        "INSERT INTO terms (in_index, term, documents) SELECT ?, key, 1 FROM json_each(?) WHERE "
        "true "
        "ON CONFLICT DO UPDATE SET documents = documents + 1",
        (index.id, new.times),
    )
    terms = connection.execute(
        "SELECT json_group_array(id) FROM terms WHERE in_index = ? AND term IN (SELECT key FROM "
        "json_each(?))",
        (index.id, new.times),
    ).fetchone()[0]
    values = (
        shelf.id, document.key, document.version, document.kind, document.created_at,
        document.importance, document.subject, document.session, document.agent,
        json.dumps(list(document.metadata)), terms, new.words, new.parts,
    )  # fmt: skip
    row = connection.execute(
        "INSERT INTO documents (shelf, key, version, kind, created_at, importance, subject, "
        "session, "
        "agent, metadata, terms, words, parts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "RETURNING id",
        values,
    ).fetchone()
    connection.execute(
        "INSERT INTO postings SELECT ?, terms.id, ?, each.value, iif(each.key LIKE ?, ?, ?) "
        "FROM json_each(?) AS each "
        "CROSS JOIN terms ON terms.in_index = ? AND terms.term = each.key",
        (
            shelf.id,
            row["id"],
            PART_SIGN + "%",
            rounded(new.parts),
            rounded(new.words),
            new.times,
            index.id,
        ),
    )
    if with_vector and new.vector is not None:
        connection.execute(
            "INSERT INTO vectors VALUES (?, ?, ?)", (row["id"], shelf.id, new.vector)
        )
    _count(connection, shelf, words=new.words, parts=new.parts, sign=1)


def _take_off(connection: sqlite3.Connection, shelf: OwnerShelf, row: sqlite3.Row) -> None:
    connection.execute("DELETE FROM documents WHERE id = ?", (row["id"],))
    if row["terms"] is None:
        return
    connection.execute(
        "DELETE FROM postings WHERE shelf = ? AND document = ? AND term IN (SELECT value FROM "
        "json_each(?))",
        (shelf.id, row["id"], row["terms"]),
    )
    connection.execute(
        "UPDATE terms SET documents = documents - 1 WHERE id IN (SELECT value FROM json_each(?))",
        (row["terms"],),
    )
    connection.execute(
        "DELETE FROM terms WHERE documents = 0 AND id IN (SELECT value FROM json_each(?))",
        (row["terms"],),
    )
    connection.execute("DELETE FROM vectors WHERE document = ?", (row["id"],))
    _count(connection, shelf, words=row["words"], parts=row["parts"], sign=-1)


def _count(
    connection: sqlite3.Connection, shelf: OwnerShelf, *, words: int, parts: int, sign: int
) -> None:
    connection.execute(
        "UPDATE shelves SET words_documents = words_documents + ?, words_total = words_total + ?, "
        "parts_documents = parts_documents + ?, parts_total = parts_total + ? WHERE id = ?",
        (sign * (words > 0), sign * words, sign * (parts > 0), sign * parts, shelf.id),
    )
