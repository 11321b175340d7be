"""One DynamoDB table and its client, with bounded retries, pages, batches and transactions."""

from __future__ import annotations

import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain
from typing import Any

from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import NoCredentialsError
from botocore.session import get_session

from palimpsest import parallel
from palimpsest.engines.dynamodb.errors import ENGINE_ERRORS, Busy, translated
from palimpsest.errors import PalimpsestError, Unavailable
from palimpsest.retry import back_off

Item = Mapping[str, Any]
"""An item or a part of an item in DynamoDB's JSON: {"name": {"S": "text"}}."""

Meter = Callable[[str, Any], None]
"""A function that is called with the operation and its `ConsumedCapacity` after each call."""

CONNECT_SECONDS = 1.0  # with three attempts, well inside the front door's 30 s

READ_SECONDS = 3.0  # DynamoDB answers in milliseconds; a longer wait is lost time

RETRIES = 2  # with these and the time-outs, a call ends inside the front door's 30 s

CONNECTIONS = 50  # threads of one process that read at the same time

BATCH_ATTEMPTS = 6  # a throttled table returns a part of a batch each time

BUSY_ATTEMPTS = 4  # the other transaction ends within milliseconds

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.6  # seconds

_LOCK = threading.Lock()

BATCH_GET = 100  # keys in one BatchGetItem (DynamoDB)

BATCH_WRITE = 25  # requests in one BatchWriteItem (DynamoDB)


class Table:
    """One DynamoDB table. It connects on first use; `warm` connects earlier. Safe to use from many
    threads.
    """

    def __init__(
        self,
        name: str,
        *,
        region: str | None = None,
        endpoint: str | None = None,
        meter: Meter | None = None,
    ) -> None:
        self.name = name
        self._region = region
        self._endpoint = endpoint
        self._meter = meter

    def warm(self) -> None:
        """Load the service model and the credentials, and open a connection, so that the first
        request does not wait for them.

        It reads an item that does not exist. Errors of the store are ignored; the first request
        will raise them.
        """
        with suppress(PalimpsestError):
            self.get("warm", "warm")

    def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Run one operation and return the answer. Raises the library's errors, after bounded
        retries.
        """
        return self._until_free(lambda: self._call(operation, arguments))

    def transact(self, actions: Sequence[Item]) -> None:
        """Write all actions or none. Each attempt has a token that DynamoDB knows for 10 minutes,
        so that a request that botocore sends twice is done once.
        """

        def attempt() -> dict[str, Any]:
            arguments = {"TransactItems": actions, "ClientRequestToken": str(uuid.uuid4())}
            return self._call("TransactWriteItems", arguments)

        self._until_free(attempt)

    def get(self, partition: str, sort: str) -> Item | None:
        """Return one item, or None. Strongly consistent."""
        answer = self.call(
            "GetItem", TableName=self.name, Key=key(partition, sort), ConsistentRead=True
        )
        return answer.get("Item")

    def get_many(self, partition: str, sorts: Sequence[str]) -> Iterator[Item]:
        """Yield the items of one partition that exist, in no order. `sorts` has at most 100
        different sort keys. Strongly consistent.
        """
        return self.get_each([(partition, sort) for sort in sorts])

    def get_each(
        self, places: Sequence[tuple[str, str]], *, consistent: bool = True
    ) -> Iterator[Item]:
        """Yield the items that exist at these places, in no order. A place is a partition and a
        sort key.

        Items that never change may be read without consistency, for half the price. An item that
        was just written may then be missing.
        """
        return self.get_across({self.name: places}, consistent=consistent)

    def get_across(
        self, places: Mapping[str, Sequence[tuple[str, str]]], *, consistent: bool = True
    ) -> Iterator[Item]:
        """Yield the items of several tables that exist, in no order. `places` maps the name of each
        table to partitions and sort keys.
        """
        wanted: Any = {}
        for table, there in places.items():
            keys = [key(*place) for place in there]
            wanted[table] = {"Keys": keys, "ConsistentRead": consistent}
        backoff = _Backoff()
        while True:
            answer = self.call("BatchGetItem", RequestItems=wanted)
            stored = [item for items in answer["Responses"].values() for item in items]
            yield from stored
            wanted = answer.get("UnprocessedKeys")
            if not wanted:
                return
            backoff.wait_after(made_progress=bool(stored))

    def get_anywhere(self, places: Sequence[tuple[str, str, str]]) -> Iterator[Item]:
        """Yield the items that exist at these different places, in no order. A place is a table, a
        partition and a sort key. Pages of 100 are read at the same time. Strongly consistent.
        """

        def read(page: Sequence[tuple[str, str, str]]) -> list[Item]:
            wanted: dict[str, list[tuple[str, str]]] = defaultdict(list)
            for table, partition, sort in page:
                wanted[table].append((partition, sort))
            return list(self.get_across(wanted))

        pages = [places[start : start + BATCH_GET] for start in range(0, len(places), BATCH_GET)]
        return chain.from_iterable(parallel.run_each(read, pages))

    def delete_many(self, partition: str, sorts: Sequence[str]) -> None:
        """Delete up to 25 items, whether or not they exist."""
        self.write_many([{"DeleteRequest": {"Key": key(partition, sort)}} for sort in sorts])

    def write_many(self, requests: Sequence[Item]) -> None:
        """Do up to 25 puts and deletes. They are independent, not one transaction."""
        waiting: Any = {self.name: requests}
        backoff = _Backoff()
        while True:
            left = self.call("BatchWriteItem", RequestItems=waiting).get("UnprocessedItems")
            if not left:
                return
            backoff.wait_after(made_progress=len(left[self.name]) < len(waiting[self.name]))
            waiting = left

    def pages(self, condition: str, values: Item, **arguments: Any) -> Iterator[Sequence[Item]]:
        """Yield the items that a query finds, page by page. A page is read when it is asked for.
        Strongly consistent unless an index is named.
        """
        arguments |= {"KeyConditionExpression": condition, "ExpressionAttributeValues": values}
        arguments.setdefault("ConsistentRead", "IndexName" not in arguments)
        while True:
            answer = self.call("Query", TableName=self.name, **arguments)
            yield answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            arguments["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def scan(self, **arguments: Any) -> Iterator[Sequence[Item]]:
        """Yield all items of the table or of an index, page by page. A page is read when it is
        asked for. The order is arbitrary, but the same in every scan.
        """
        while True:
            answer = self.call("Scan", TableName=self.name, **arguments)
            yield answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            arguments["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _until_free(self, call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        for attempt in range(BUSY_ATTEMPTS - 1):
            try:
                return call()
            except Busy:
                _pause(attempt)
        return call()

    def _call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call DynamoDB once, with up to three attempts. Botocore's standard retries send the
        identical request again.
        """
        arguments["ReturnConsumedCapacity"] = "TOTAL" if self._meter else "NONE"
        try:
            ask = getattr(connected(self._region, self._endpoint), xform_name(operation))
            answer: dict[str, Any] = ask(**arguments)
        except ENGINE_ERRORS as error:
            raise translated(error) from error
        if self._meter:
            self._meter(operation, answer.get("ConsumedCapacity"))
        return answer


class OneTable:
    """A store over one table. It connects on first use or by `warm`. Safe to use from many
    threads.
    """

    def __init__(self, table: str, **where: Any) -> None:
        """`table` is the table's name. `where` holds `region`, `endpoint` and `meter`, as for
        `Table`.
        """
        self._table = Table(table, **where)

    def warm(self) -> None:
        self._table.warm()


def connected(region: str | None, endpoint: str | None) -> Any:
    """Return the botocore client for a region and endpoint. All tables and threads share it,
    because a client costs far more to make than to share.
    """
    with _LOCK:  # two threads can't safely make botocore clients at the same time
        return _client(region, endpoint)


@cache
def _client(region: str | None, endpoint: str | None) -> Any:
    session = get_session()
    if session.get_credentials() is None:
        # a client without credentials would never look for them again
        raise NoCredentialsError
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"total_max_attempts": 1 + RETRIES, "mode": "standard"},
        max_pool_connections=CONNECTIONS,
        parameter_validation=False,
        # otherwise botocore builds it twice in every request
        user_agent=f"{session.user_agent()} palimpsest",
    )
    return session.create_client(
        "dynamodb", region_name=region, endpoint_url=endpoint, config=config
    )


def key(partition: str, sort: str) -> dict[str, Any]:
    return {"pk": {"S": partition}, "sk": {"S": sort}}


class _Backoff:
    """The pauses between the requests of a batch that is answered in parts. There is no pause while
    each request makes progress.
    """

    def __init__(self) -> None:
        self._idle = 0

    def wait_after(self, *, made_progress: bool) -> None:
        """Wait if the last request made no progress, longer each time. Raises `Unavailable` after
        too many requests without progress.
        """
        self._idle = 0 if made_progress else self._idle + 1
        if self._idle == BATCH_ATTEMPTS:
            raise Unavailable("The store is throttled; try again.")
        if self._idle:
            _pause(self._idle)


def _pause(attempt: int) -> None:
    time.sleep(back_off(attempt, first=FIRST_PAUSE, longest=LONGEST_PAUSE))
