"""The base of the models. Each model is bound to one table, and to a function that calls
DynamoDB.
"""

from __future__ import annotations

from collections.abc import Callable
from types import new_class
from typing import Any, ClassVar, TypeVar, cast

from pynamodb.attributes import UnicodeAttribute
from pynamodb.connection import Connection, TableConnection
from pynamodb.connection.base import MetaTable
from pynamodb.models import Model

Call = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Does an operation of DynamoDB, by its name and with its arguments, and returns the answer."""
M = TypeVar("M", bound="TableModel")
KEYS = (("pk", "HASH"), ("sk", "RANGE"))


class TableModel(Model):
    """An item of a table. Only what `bound` returns can be read and written."""

    of_table: ClassVar[TableConnection]
    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    type = UnicodeAttribute(null=True)

    @classmethod
    def _get_connection(cls) -> TableConnection:
        """Return the connection, for which pynamodb asks before each operation."""
        return cls.of_table


class _Through(Connection):
    """A connection of pynamodb without a client of its own. The given function has the client, and
    decides on retries, time limits and errors.
    """

    def __init__(self, call: Call) -> None:
        super().__init__()
        self._call = call

    def dispatch(self, operation_name: str, operation_kwargs: dict[str, Any]) -> dict[str, Any]:
        return self._call(operation_name, operation_kwargs)


def bound(model: type[M], table: str, call: Call) -> type[M]:
    """Return the model for the items of one table. `call` makes its requests."""
    connection = TableConnection(table)
    connection.connection = _Through(call)
    connection.connection.add_meta_table(
        MetaTable(
            {
                "TableName": table,
                "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in KEYS],
                "AttributeDefinitions": [
                    {"AttributeName": name, "AttributeType": "S"} for name, _ in KEYS
                ],
            }
        )
    )
    body = {"Meta": type("Meta", (), {"table_name": table}), "of_table": connection}
    return cast(
        "type[M]", new_class(model.__name__, (model,), exec_body=lambda names: names.update(body))
    )
