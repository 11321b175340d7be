"""Saves the local AWS's state as a whole, every few seconds and before it ends, so that a kill
loses little.

A copy of the process (fork) does this. Nothing changes the copy's state, and no request waits. Each
snapshot is a folder named by its time: state/<nanoseconds>. The newest is the one to start from.
Large contents are files of their own, named by their hash.
"""

import asyncio
import copy
import hashlib
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import ministack.app
from ministack.core import lambda_runtime, persistence
from ministack.services import dynamodb, lambda_svc, sqs

from infra.local.guard import API_PATH, App, Message, Receive, Scope, Send
from infra.local.saved_state import AT_STAKE, STOPPED, UNFINISHED

STATES, BLOBS = Path("state"), Path("blobs")  # in the working directory, which is the local folder
FRESH_SECONDS = 8  # seconds: the greatest age of the saved state, if a snapshot takes 2.5 s at most
LEAST_PAUSE_SECONDS = 3
DRAIN_SECONDS = 10
LARGE = 1_000_000  # bytes
BLOB = "__blob__"
BUSY = json.dumps(
    {
        "type": "urn:palimpsest:problem:unavailable",
        "title": "Unavailable",
        "status": 503,
        "code": "unavailable",
        "detail": "The local stack is stopping.",
        "retryable": True,
    }
).encode()


class Saving:
    """Passes requests on to `app`, and saves the changes that they make. The saved state is at most
    10 s old, as long as a snapshot takes no longer than 3 s (some 200 MB). A start says how much
    could have been lost.

    When the process is asked to end, it refuses new requests of the API, waits up to 10 s for
    requests in progress, saves, and ends.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._under_way = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._has_changed = False
        self._is_stopping = False
        self._one_at_a_time = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []  # the loop itself holds only weak references

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            self._begin()
            await self._app(scope, receive, send)
            return
        self._has_changed = True
        if not scope["path"].startswith(API_PATH):
            await self._app(scope, receive, send)
        elif self._is_stopping:
            await _answer(send, 503, BUSY)
        else:
            self._under_way += 1
            self._is_idle.clear()
            try:
                await self._app(scope, receive, send)
            finally:
                self._under_way -= 1
                if not self._under_way:
                    self._is_idle.set()

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        self._tasks.append(loop.create_task(self._save_again_and_again()))
        loop.add_signal_handler(
            signal.SIGTERM, lambda: self._tasks.append(loop.create_task(self._stop()))
        )

    async def _save_again_and_again(self) -> None:
        took = 0.0
        while True:
            await asyncio.sleep(_pause(took))
            if self._has_changed:
                async with self._one_at_a_time:
                    self._has_changed, begun = False, time.monotonic()
                    await _save(is_last=False)
                    took = time.monotonic() - begun

    async def _stop(self) -> NoReturn:
        self._is_stopping = True
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_idle.wait(), DRAIN_SECONDS)
        async with self._one_at_a_time:
            is_saved = await _save(is_last=True)
            pools = lambda_runtime._workers.values()  # noqa: SLF001
            for worker in [pooled for pool in pools for pooled in pool]:
                if worker._proc is not None:  # noqa: SLF001
                    worker._proc.kill()  # noqa: SLF001
            # threads that wait for a function would hold up an orderly end
            os._exit(0 if is_saved else 1)


def _pause(took: float) -> float:
    """Return how many seconds to wait between two snapshots, if one snapshot takes `took`
    seconds.
    """
    return max(LEAST_PAUSE_SECONDS, FRESH_SECONDS - 2 * took)


async def _save(*, is_last: bool) -> bool:
    """Save the state in a copy of the process. Return whether it was saved."""
    moment = time.time_ns()
    child = os.fork()
    if child == 0:
        _save_and_exit(STATES / str(moment), is_last=is_last)
    _, status = await asyncio.to_thread(os.waitpid, child, 0)
    return status == 0


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
    ]
    start: Message = {"type": "http.response.start", "status": status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})


def _save_and_exit(snapshot: Path, *, is_last: bool) -> NoReturn:
    """Save the state and exit. This runs in the copy of the process, so its changes in memory
    affect nothing else.
    """
    try:
        copy.deepcopy = lambda value, *_: value  # all of it is a copy already
        _drop_delivered()
        _write(snapshot, is_last=is_last)
    except BaseException as error:  # noqa: BLE001 - the copy must end here, whatever happens
        print(f"A snapshot failed: {error!r}", flush=True)
        os._exit(1)
    os._exit(0)


def _write(snapshot: Path, *, is_last: bool) -> None:
    used = set[str]()
    unfinished = snapshot.with_suffix(UNFINISHED)
    unfinished.mkdir(parents=True)

    def encode(value: Any) -> Any:
        if isinstance(value, bytes) and len(value) >= LARGE:
            used.add(name := digest(value))
            _keep(BLOBS / name, value)
            return {BLOB: name}
        return persistence._json_default(value)  # noqa: SLF001 - MiniStack's own format

    for service, state in ministack.app._build_persistence_save_dict().items():  # noqa: SLF001
        version, payload = persistence._state_format_version(service), state()  # noqa: SLF001
        content = json.dumps({"__ministack_format__": version, "payload": payload}, default=encode)
        (unfinished / f"{service}.json").write_text(content)
    if is_last:
        (unfinished / STOPPED).touch()
    taken = (time.time_ns() - int(snapshot.name)) / 1e9
    (unfinished / AT_STAKE).write_text(f"{_pause(taken) + 2 * taken:.0f}")
    unfinished.rename(snapshot)
    _remove_others(snapshot, used)


def _remove_others(snapshot: Path, blobs: Collection[str]) -> None:
    for other in STATES.iterdir():
        if other != snapshot:
            shutil.rmtree(other)
    for blob in BLOBS.glob("*"):
        if blob.name not in blobs:
            blob.unlink()


def _keep(file: Path, content: bytes) -> None:
    if not file.is_file():
        file.parent.mkdir(exist_ok=True)
        unfinished = file.with_suffix(UNFINISHED)
        unfinished.write_bytes(content)
        unfinished.replace(file)


@cache  # hashed once: the interpreter remembers the hash of a bytes object
def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _drop_delivered() -> None:
    """Remove the stream records that all functions on their stream have received."""
    for (account, region, table), records in dynamodb._stream_records.all_items():  # noqa: SLF001
        positions = list(
            _positions(account, region, dynamodb._tables.get_scoped(account, region, table))  # noqa: SLF001
        )  # noqa: RUF100, SLF001
        trimmed = dynamodb._stream_trimmed.get_scoped(account, region, table, 0)  # noqa: SLF001
        delivered = max(0, min(positions, default=trimmed) - trimmed)
        del records[:delivered]
        dynamodb._stream_trimmed.set_scoped(account, region, table, trimmed + delivered)  # noqa: SLF001


def _positions(account: str, region: str, table: dict[str, Any]) -> Iterator[int]:
    """Yield the progress of each event source mapping of the table's stream, or 0 if one has read
    nothing yet.
    """
    for _, _, mapping in lambda_svc._iter_all_esms():  # noqa: SLF001
        if mapping["EventSourceArn"] == table.get("LatestStreamArn"):
            yield lambda_svc._dynamodb_stream_positions.get_scoped(  # noqa: SLF001
                account, region, mapping["UUID"], 0
            )  # noqa: RUF100, SLF001


def install() -> None:
    """Make MiniStack load what `Saving` saved. That includes large contents, and streams, whose
    state MiniStack itself does not save.
    """
    lambda_svc._externalize_code_zip = lambda_svc._prune_orphan_code_blobs = lambda *_: None  # noqa: SLF001
    as_saved = persistence._json_object_hook  # noqa: SLF001
    persistence._json_object_hook = lambda document: (  # noqa: SLF001
        (BLOBS / document[BLOB]).read_bytes() if BLOB in document else as_saved(document)
    )
    _with_streams(dynamodb.get_state, dynamodb.load_persisted_state)
    _with_messages_to_be_received(sqs.load_persisted_state)


def _with_streams(
    get: Callable[[], dict[str, Any]], load: Callable[[dict[str, Any]], None]
) -> None:
    def get_state() -> dict[str, Any]:
        return get() | {
            "streams": dynamodb._stream_records,  # noqa: SLF001
            "streams_trimmed": dynamodb._stream_trimmed,  # noqa: SLF001
        }  # noqa: RUF100, SLF001

    def load_persisted_state(data: dict[str, Any]) -> None:
        load(data)
        dynamodb._stream_records.update(data["streams"])  # noqa: SLF001
        dynamodb._stream_trimmed.update(data["streams_trimmed"])  # noqa: SLF001

    dynamodb.get_state, dynamodb.load_persisted_state = get_state, load_persisted_state


def _with_messages_to_be_received(load: Callable[[dict[str, Any]], None]) -> None:
    """Make MiniStack's loader redeliver received messages at once, instead of after the visibility
    timeout. Their receivers ended with the process.
    """

    def load_persisted_state(data: dict[str, Any]) -> None:
        load(data)
        for _, queue in sqs._queues.all_items():  # noqa: SLF001
            for message in queue["messages"]:
                message["visible_at"] = min(message["visible_at"], time.time())

    sqs.load_persisted_state = load_persisted_state
