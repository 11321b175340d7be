"""The vectors of callers, in the table of memories. Each namespace is one item and each vector is
one item, all in the partition of their user.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from palimpsest import parallel
from palimpsest.engines.dynamodb.memories import items
from palimpsest.engines.dynamodb.memories.commits import listing, put_anew
from palimpsest.engines.dynamodb.sessions.commits import Action, Update
from palimpsest.engines.dynamodb.sessions.items import body, number, text, values_of
from palimpsest.engines.dynamodb.table import BATCH_WRITE, Item, OneTable, key
from palimpsest.scope import UserScope
from palimpsest.vectors.ports import Namespace, StoredVector


class DynamoDbVectors(OneTable):
    """Implements `VectorStore` over the table of `DynamoDbMemories`."""

    def namespaces(self, scope: UserScope) -> tuple[Namespace, ...]:
        epoch = items.epoch_of(self._table.get(scope.partition, items.USER))
        stored = (item for page in self._beginning(scope, _namespace_sort("")) for item in page)
        return tuple(_namespace_of(item) for item in stored if items.epoch_of(item) == epoch)

    def namespace(self, scope: UserScope, name: str) -> Namespace | None:
        sorts = [items.USER, _namespace_sort(name)]
        stored = {item["sk"]["S"]: item for item in self._table.get_many(scope.partition, sorts)}
        item = stored.get(_namespace_sort(name))
        if item is None or items.epoch_of(item) != items.epoch_of(stored.get(items.USER)):
            return None
        return _namespace_of(item)

    def vectors(self, scope: UserScope, namespace: Namespace) -> Iterator[StoredVector]:
        for page in self._beginning(scope, _sort(namespace, "")):
            yield from (
                _vector_of(item) for item in page if items.epoch_of(item) == namespace.epoch
            )

    def existing(
        self, scope: UserScope, namespace: Namespace, ids: Sequence[str]
    ) -> frozenset[str]:
        sorts = [_sort(namespace, vector_id) for vector_id in dict.fromkeys(ids)]
        stored = self._table.get_many(scope.partition, sorts)
        return frozenset(_id_of(item) for item in stored if items.epoch_of(item) == namespace.epoch)

    def commit(
        self,
        scope: UserScope,
        namespace: Namespace,
        *,
        put: Sequence[StoredVector] = (),
        removed: Sequence[str] = (),
    ) -> None:
        name, table = self._table.name, scope.partition
        deletes = [
            {"Delete": {"TableName": name, "Key": key(table, _sort(namespace, vector_id))}}
            for vector_id in removed
        ]
        actions = [
            listing(name, scope, namespace.epoch),
            self._namespace_put(scope, namespace),
            *(self._vector_put(scope, namespace, vector) for vector in put),
            *deletes,
        ]
        self._table.transact(actions)

    def clear(self, scope: UserScope, namespace: Namespace) -> None:
        current = _sort(namespace, "")
        for page in self._beginning(scope, _sorts_of(namespace.name), ProjectionExpression="sk"):
            gone = [item["sk"]["S"] for item in page if not item["sk"]["S"].startswith(current)]
            parts = [
                gone[start : start + BATCH_WRITE] for start in range(0, len(gone), BATCH_WRITE)
            ]
            parallel.run_each(lambda part: self._table.delete_many(scope.partition, part), parts)

    def _beginning(self, scope: UserScope, prefix: str, **more: str) -> Iterator[Sequence[Item]]:
        values = {":pk": text(scope.partition), ":prefix": text(prefix)}
        return self._table.pages("pk = :pk AND begins_with(sk, :prefix)", values, **more)

    def _namespace_put(self, scope: UserScope, namespace: Namespace) -> Action:
        sort = _namespace_sort(namespace.name)
        fields = {
            name: getattr(namespace, name) for name in ("dimension", "model", "count", "generation")
        }
        attributes = items.common("namespace", namespace.epoch) | {
            "version": number(namespace.version + 1), "body": body(**fields),
        }  # fmt: skip
        if not namespace.version:
            return {"Put": put_anew(self._table.name, scope, sort, attributes)}
        update = Update()
        update.put_all(attributes)
        update.require("version", number(namespace.version))
        return {"Update": update.arguments(self._table.name, scope.partition, sort)}

    def _vector_put(self, scope: UserScope, namespace: Namespace, vector: StoredVector) -> Action:
        update = Update()
        update.put_all(items.common("vector", namespace.epoch))
        update.put("body", body(metadata=vector.metadata, text=vector.text))
        # Single precision in bytes takes a fraction of the space of a list of numbers
        # (docs/adr/0028).
        update.put("values", {"B": array("f", vector.values).tobytes()})
        return {
            "Update": update.arguments(
                self._table.name, scope.partition, _sort(namespace, vector.id)
            )
        }


def _namespace_sort(name: str) -> str:
    return f"ns#{name}"


def _sorts_of(name: str) -> str:
    return f"ve#{name}#"


def _sort(namespace: Namespace, vector_id: str) -> str:
    return f"{_sorts_of(namespace.name)}{namespace.generation:08d}#{vector_id}"


def _id_of(item: Item) -> str:
    return str(item["sk"]["S"]).rpartition("#")[2]


def _namespace_of(item: Item) -> Namespace:
    return Namespace(
        items.name_of(item),
        epoch=items.epoch_of(item),
        version=items.version_of(item),
        **values_of(item["body"]),
    )


def _vector_of(item: Item) -> StoredVector:
    values = array("f")
    values.frombytes(bytes(item["values"]["B"]))
    return StoredVector(_id_of(item), values, **values_of(item["body"]))
