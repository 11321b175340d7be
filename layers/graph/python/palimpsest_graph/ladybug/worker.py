"""The process that runs queries. It loads one graph, gives up the right to open files, and answers
lines of JSON until its input ends.

It is started as a script, with the folder of the package `ladybug`, and imports nothing else of
this library.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any

POOL = 128 * 1024 * 1024  # bytes of pages
ADDRESSES = 1 << 30  # bytes of address space for the database: without a limit it takes 8 TB
STATUS = Path("/proc/self/statm")
INTERNAL = frozenset({"_ID", "_SRC", "_DST"})


def main() -> None:
    sys.path.insert(0, sys.argv[1])
    # the engine would rather not be asked to check a query before it runs
    warnings.simplefilter("ignore")
    import ladybug

    # errors may show texts from here
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    _say({"started": True})
    database = ladybug.Database(
        ":memory:", buffer_pool_size=POOL, max_num_threads=1, max_db_size=ADDRESSES
    )
    connection = ladybug.Connection(database, num_threads=1)
    load = json.loads(sys.stdin.readline())
    for statement in load["statements"]:
        connection.execute(statement)
    # The engine imports modules for values other than texts, and can open no file later.
    connection.execute("RETURN $number", {"number": 1})
    _confine(load["memory"])
    _say({"loaded": True})
    for line in sys.stdin:
        _say(_answer(connection, json.loads(line)))


def _confine(memory: int) -> None:
    """Confine this process. From now on it can't open files or connections, can't write to files,
    and can't get more memory than `memory` bytes.
    """
    # Pages of address space. Not every system reports them.
    pages = int(STATUS.read_text().split()[0]) if STATUS.exists() else 0
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if pages:
        most = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _answer(connection: Any, request: dict[str, Any]) -> dict[str, Any]:
    try:
        for statement in request["statements"]:
            connection.execute(statement)
        connection.execute("BEGIN TRANSACTION READ ONLY")
    except RuntimeError as error:
        return {"invalid": str(error)}
    try:
        return _rows(connection, request)
    finally:
        with suppress(RuntimeError):  # the engine's refusal has already ended it
            connection.execute("ROLLBACK")


def _rows(connection: Any, request: dict[str, Any]) -> dict[str, Any]:
    begun = time.monotonic()
    try:
        prepared = connection.prepare(request["cypher"], request["parameters"])
    except (RuntimeError, TypeError, ValueError) as error:
        # the last two are for values that the engine has no type for
        return {"invalid": str(error)}
    if not prepared.is_success():
        return {"invalid": prepared.get_error_message()}
    left = request["seconds"] - (time.monotonic() - begun)
    if left <= 0:
        return {"stopped": _late(request)}
    connection.set_query_timeout(max(1, int(left * 1000)))
    try:
        result = connection.execute(prepared, request["parameters"])
        rows: list[str] = []
        size, is_whole = 0, True
        while result.has_next():
            row = json.dumps(
                [_plain(value) for value in result.get_next()], default=str, ensure_ascii=False
            )
            size += len(row.encode())
            is_whole = len(rows) < request["rows"] and size <= request["answer"]
            if not is_whole:
                break
            rows.append(row)
    except (RuntimeError, MemoryError) as error:
        is_late = time.monotonic() - begun >= request["seconds"]
        return {"stopped": _late(request) if is_late else str(error) or "no memory"}
    return {"columns": result.get_column_names(), "rows": rows, "is_whole": is_whole}


def _late(request: dict[str, Any]) -> str:
    return f"it took more than {request['seconds']:g} seconds"


def _plain(value: Any) -> Any:
    """Return a value without the engine's own ids, and without properties that a node or edge does
    not have. Numbers that JSON can't express become null.
    """
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "_LABEL" in value:
        own = {
            name: _plain(element)
            for name, element in value.items()
            if name not in INTERNAL and element is not None
        }
        return {"_label": own.pop("_LABEL"), **own}
    return {
        name.lower() if name in ("_NODES", "_RELS") else name: _plain(element)
        for name, element in value.items()
    }


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
