"""The connection to OpenSearch, the translation of its errors into the library's errors, and the
family of indexes, one of which is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from palimpsest.engines.opensearch.queries import FIELDS, index_body
from palimpsest.errors import NotFound, PalimpsestError, Unavailable
from palimpsest.models.ports import Space

SECONDS = 3.0  # until an answer, unless a call says otherwise
LOOPBACK = ("127.0.0.1", "::1", "localhost")
CONNECTIONS = 20  # threads of one process that search at the same time
REFUSED, MISSING = 400, 404


class RequestRefused(PalimpsestError):
    """OpenSearch calls the request invalid, so the adapter has a defect."""


class NoIndex(Unavailable):
    """The index does not exist. It was not made yet, or it was dropped for another."""

    def __init__(self) -> None:
        super().__init__("There is no search index yet.")


def connected(endpoint: str, *, region: str | None = None, seconds: float = SECONDS) -> Any:
    """Return an `opensearchpy.OpenSearch`; nothing is sent yet. With a `region`, every request is
    signed (SigV4) with the AWS credentials of the process. Otherwise a user name and password in
    the address are sent. Raises `ValueError` for plain HTTP to another machine.
    """
    from opensearchpy import OpenSearch, Urllib3HttpConnection

    url = urlsplit(endpoint)
    is_plain = url.scheme == "http"
    if is_plain and url.hostname not in LOOPBACK:
        raise ValueError("Plain HTTP is for loopback only.")
    auth = (url.username, url.password or "") if url.username else None
    usual_port = 80 if is_plain else 443
    return OpenSearch(
        hosts=[{"host": url.hostname, "port": url.port or usual_port}],
        http_auth=_signer(region) if region else auth,
        use_ssl=not is_plain,
        connection_class=Urllib3HttpConnection,
        pool_maxsize=CONNECTIONS,
        timeout=seconds,
        max_retries=1,  # an idle connection may be closed; every call is safe to repeat
        retry_on_timeout=False,
    )


def _signer(region: str) -> Any:
    import boto3
    from opensearchpy import Urllib3AWSV4SignerAuth

    return Urllib3AWSV4SignerAuth(boto3.Session().get_credentials(), region, "es")


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Raise the library's errors in place of OpenSearch's: `RequestRefused` for an invalid request,
    `NoIndex` for a missing index, and `Unavailable` for any other error, because it may not last.
    """
    from opensearchpy.exceptions import OpenSearchException, TransportError

    try:
        yield
    except OpenSearchException as error:
        status = error.status_code if isinstance(error, TransportError) else None
        if status == REFUSED:
            raise RequestRefused("The search engine refused the request.") from error
        if status == MISSING:
            raise NoIndex from error
        raise Unavailable("The search engine did not answer; try again.") from error


BUILD_SECONDS = 30.0  # to make or drop an index
REMEMBERED_SECONDS = 5.0  # how long a reader relies on the last answer about the alias


@dataclass(frozen=True, slots=True)
class Named:
    """An index of a family, with the name `<family>.<space>.<number>`. A family's name has no dot,
    so that no family matches the indexes of another.
    """

    name: str
    is_read: bool

    @property
    def label(self) -> str:
        return self.name.split(".")[1]

    @property
    def number(self) -> int:
        return int(self.name.rpartition(".")[2])

    @property
    def write_alias(self) -> str:
        """The alias for writes to this index. With it, a late write to a dropped index fails; with
        the index's own name, OpenSearch would create the index again.
        """
        return f"{self.name}.in"


class IndexFamily:
    def __init__(self, client: Any, name: str, *, space: Space | None, shards: int) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            raise ValueError("A family's name is of a-z, 0-9 and -.")
        self.alias = name
        self.every = f"{name}.*"
        self.label = label_of(space)
        self._client = client
        self._space = space
        self._shards = shards
        self._seen: tuple[float, list[Named]] | None = None

    def all(self) -> list[Named]:
        """Return all indexes of the family: the index that is read first, then the others from the
        newest to the oldest.
        """
        with translated():
            aliases = self._client.indices.get_alias(index=self.every)
        indexes = [Named(name, self.alias in shown["aliases"]) for name, shown in aliases.items()]
        indexes.sort(key=lambda index: (not index.is_read, -index.number))
        self._seen = time.monotonic(), indexes
        return indexes

    def index_read(self, *, again: bool = False) -> Named:
        """Return the index that is read. With `again` false, the answer may be some seconds old.
        Raises `NoIndex` if no index is read.
        """
        is_known = (
            self._seen and time.monotonic() - self._seen[0] < REMEMBERED_SECONDS and not again
        )
        indexes = self._seen[1] if self._seen and is_known else self.all()
        if not indexes or not indexes[0].is_read:
            self._seen = None
            raise NoIndex
        return indexes[0]

    def add(self, *, afresh: bool) -> None:
        indexes = self.all()
        if indexes:
            with translated():  # adds missing fields to an index that an earlier version made
                self._client.indices.put_mapping(
                    index=self.every, body={"properties": FIELDS}, request_timeout=BUILD_SECONDS
                )
        own = [index for index in indexes if index.label == self.label]
        if not own or (afresh and all(index.is_read for index in own)):
            number = max((index.number for index in indexes), default=0) + 1
            self._create(Named(f"{self.alias}.{self.label}.{number}", is_read=False))
            indexes = self.all()
        if not any(index.is_read for index in indexes):
            own = [index for index in indexes if index.label == self.label]
            self._update_aliases([{"add": {"index": own[-1].name, "alias": self.alias}}])

    def read_newest(self) -> None:
        """Let searches read the newest index of this space, and drop all others, in one step.
        Raises `NotFound` if this space has no index.
        """
        indexes = self.all()
        own = [index for index in indexes if index.label == self.label]
        if not own:
            raise NotFound("There is no search index of this space.")
        newest = max(own, key=lambda index: index.number)
        others = [index for index in indexes if index != newest]
        self._update_aliases(
            [
                {"add": {"index": newest.name, "alias": self.alias}},
                *({"remove_index": {"index": index.name}} for index in others),
            ]
        )

    def _create(self, index: Named) -> None:
        from opensearchpy.exceptions import RequestError

        body = index_body(self._space, write_alias=index.write_alias, shards=self._shards)
        with translated():
            try:
                self._client.indices.create(
                    index=index.name, body=body, request_timeout=BUILD_SECONDS
                )
            except RequestError as error:
                if error.error != "resource_already_exists_exception":  # another process made it
                    raise

    def _update_aliases(self, actions: list[dict[str, Any]]) -> None:
        with translated():
            self._client.indices.update_aliases(
                body={"actions": actions}, request_timeout=BUILD_SECONDS
            )
        self._seen = None


def label_of(space: Space | None) -> str:
    """Return `<model>-<dimension>` in the characters that an index name may have. If the model's
    name has other characters, a digest of it is added.
    """
    if space is None:
        return "words"
    slug = re.sub(r"[^a-z0-9]+", "-", space.model.lower()).strip("-")[:60]
    if slug != space.model:
        slug += "-" + hashlib.sha256(space.model.encode()).hexdigest()[:8]
    return f"{slug.lstrip('-')}-{space.dimension}"
