"""The call that is being answered: who calls and what they may do, the function's use cases, and the time that is left.

Only this module reads the tenant and the scopes of a call.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from palimpsest.api.waiting import give_back, taken
from palimpsest.clock import Clock, seconds
from palimpsest.errors import BadRequest, Forbidden, MissingScope, Unauthenticated, Unavailable
from palimpsest.idempotency import KEY_SECONDS, KeyedCall, KeyedCalls, Once
from palimpsest.jobs.read import ReadJob
from palimpsest.scope import OPERATOR, Scope, SessionScope, UserScope, checked_id
from palimpsest.tenants.ports import Tenants
from palimpsest.usage.ports import Usages

if TYPE_CHECKING:  # a function loads what its own routes need
    from palimpsest.context.read import ReadContext
    from palimpsest.conversations.append import Append
    from palimpsest.conversations.history import History
    from palimpsest.conversations.listing import ListJobs, ListSessions
    from palimpsest.conversations.manage import ManageSessions
    from palimpsest.conversations.overflow.arm import Prune
    from palimpsest.conversations.redact import Redact
    from palimpsest.extraction.ingest import Ingest
    from palimpsest.extraction.outside import IngestOutside
    from palimpsest.extraction.report import ReportExtraction
    from palimpsest.extraction.schedule import RequestExtraction
    from palimpsest.graph.manage import ManageGraph
    from palimpsest.graph.query import QueryGraph
    from palimpsest.jobs.restart import RetryJob
    from palimpsest.memory.history import ShowMemories
    from palimpsest.memory.manage import ManageMemories
    from palimpsest.memory.ports import Memories
    from palimpsest.memory.preferences import ManagePreferences
    from palimpsest.memory.remember import Remember
    from palimpsest.memory.removal.erase import Erase
    from palimpsest.memory.removal.forget import Forget
    from palimpsest.memory.removal.matching_sessions import ForgetSessions
    from palimpsest.memory.removal.retention import ManageSettings
    from palimpsest.recall.recall import Recall
    from palimpsest.recall.search import FindSessions, SearchMemories
    from palimpsest.recall.tool import MemoryTools
    from palimpsest.tenants.static_facts import ManageStaticFacts
    from palimpsest.transfer.files import Export
    from palimpsest.transfer.foreign import ImportForeign
    from palimpsest.transfer.restore import Import
    from palimpsest.usage.report import ReadUsage
    from palimpsest.vectors.manage import ManageVectors

KEY = "Idempotency-Key"
OWNER = "user_id"
Made = TypeVar("Made")
LONGEST = 27.0  # seconds: the gateway answers for us after 30


class Common(Protocol):
    """Use cases that every function behind the gateway has."""

    @property
    def read_job(self) -> ReadJob: ...
    @property
    def report(self) -> ReportExtraction | None: ...
    @property
    def tenants(self) -> Tenants: ...
    @property
    def calls(self) -> KeyedCalls: ...
    @property
    def usages(self) -> Usages: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def export(self) -> Export: ...


class Windows(Protocol):
    """Use cases on a session's window, which both functions have."""

    @property
    def context(self) -> ReadContext: ...
    @property
    def prune(self) -> Prune: ...
    @property
    def manage(self) -> ManageSessions: ...


class UseCases(Common, Windows, Protocol):
    """Use cases of the function `sessions`. `extract` is None where there is no long-term memory."""

    @property
    def list_jobs(self) -> ListJobs: ...
    @property
    def retry_job(self) -> RetryJob: ...
    @property
    def extract(self) -> RequestExtraction | None: ...
    @property
    def forget_sessions(self) -> ForgetSessions: ...
    @property
    def settings(self) -> ManageSettings: ...
    @property
    def usage(self) -> ReadUsage: ...

    @property
    def append(self) -> Append: ...
    @property
    def history(self) -> History: ...
    @property
    def redact(self) -> Redact: ...


class MemoryUseCases(Common, Windows, Protocol):
    """Use cases of the function `memories`."""

    @property
    def imports(self) -> Import: ...
    @property
    def import_foreign(self) -> ImportForeign: ...
    @property
    def memories(self) -> Memories: ...
    @property
    def remember(self) -> Remember: ...
    @property
    def manage_memories(self) -> ManageMemories: ...
    @property
    def preferences(self) -> ManagePreferences: ...
    @property
    def vectors(self) -> ManageVectors: ...
    @property
    def graph(self) -> ManageGraph: ...
    @property
    def query_graph(self) -> QueryGraph: ...
    @property
    def forget(self) -> Forget: ...
    @property
    def erase(self) -> Erase: ...
    @property
    def show(self) -> ShowMemories: ...
    @property
    def ingest(self) -> Ingest: ...
    @property
    def ingest_outside(self) -> IngestOutside: ...
    @property
    def facts(self) -> ManageStaticFacts: ...
    @property
    def recall(self) -> Recall: ...
    @property
    def search(self) -> SearchMemories: ...
    @property
    def tools(self) -> MemoryTools: ...
    @property
    def list_sessions(self) -> ListSessions: ...
    @property
    def find_sessions(self) -> FindSessions: ...


@dataclass(frozen=True, slots=True)
class Caller:
    """A tenant's credential. `key_id` names the API key for the logs; it is no secret."""

    tenant: Scope
    scopes: frozenset[str]
    key_id: str | None = None

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Caller:
        """The caller as the function `authorize` states it, nothing from the request.

        Raises `Forbidden` for a key that is not valid, `Unavailable` where that can't be found out, and
        `Unauthenticated` for any other call without a tenant.
        """
        stated = (event.get("requestContext", {}).get("authorizer") or {}).get("lambda") or {}
        cls._let_in(stated.get("refused"), "valid token" if stated.get("issuer") else "key")
        tenant, scopes, key_id = (stated.get(name) for name in ("tenant", "scopes", "key_id"))
        if not isinstance(tenant, str) or tenant == OPERATOR:
            raise Unauthenticated("The call carries no tenant.")
        try:
            scope = Scope(tenant)
        except BadRequest as error:
            raise Unauthenticated("The call carries no tenant.") from error
        granted = frozenset(scopes.split()) if isinstance(scopes, str) else frozenset[str]()
        return cls(scope, granted, key_id if isinstance(key_id, str) else None)

    @staticmethod
    def _let_in(refused: object, credential: str) -> None:
        """Raise the error for what the authorizer has refused; it states None where it vouches for the caller."""
        if refused == Forbidden.code:
            raise Forbidden(f"The {credential} is not valid.")
        if refused == Unavailable.code:
            raise Unavailable("Whose the call is can't be found out now.")
        if refused is not None:
            raise Unauthenticated(f"The call carries no {credential}.")

    def require(self, *scopes: str) -> None:
        """Raise `MissingScope` unless the credential has every one of these scopes."""
        missing = [scope for scope in scopes if scope not in self.scopes]
        if missing:
            raise MissingScope(missing=missing[0], needed=scopes)


@dataclass(frozen=True, slots=True)
class Call:
    """`wired` holds the use cases of the function that serves the call, `request` is its event as `guarded` leaves it,
    `shows` says whether the answer may hold what is stored; `begun` is its time.monotonic(),
    `places` is where it waits.
    """

    caller: Caller
    wired: UseCases | MemoryUseCases
    request: Mapping[str, Any]
    shows: bool = True
    begun: float = field(default_factory=time.monotonic)
    places: list[KeyedCall] = field(default_factory=list)

    @property
    def windows(self) -> Windows:
        return self.wired

    @property
    def use(self) -> UseCases:
        return cast("UseCases", self.wired)

    @property
    def memory(self) -> MemoryUseCases:
        return cast("MemoryUseCases", self.wired)

    def user(self, user_id: str) -> UserScope:
        return self.caller.tenant.user(user_id)

    def session(self, session_id: str) -> SessionScope:
        """The session; if a read names its owner as `user_id`, it is not found as another user's."""
        query = self.request.get("queryStringParameters") or {}
        return self.caller.tenant.session(session_id, user=query.get(OWNER))

    @property
    def key(self) -> str | None:
        """The idempotency key that was sent. Raises `BadRequest` (`invalid_id`)."""
        given = self.request["headers"].get(KEY.lower())
        return None if given is None else checked_id(given.strip().strip('"'), field=KEY)

    @property
    def once(self) -> Once | None:
        """What makes a call with an idempotency key happen once; None without a key. Method, path and key name it."""
        if self.key is None:
            return None
        method, body = self.request["requestContext"]["http"]["method"], json.loads(self.request["body"] or "{}")
        now = seconds(self.wired.clock.now())
        call = KeyedCall(
            tenant=self.caller.tenant.tenant,
            name=_hash([method, self.request["rawPath"], self.key]),
            request=_hash(body),
            expires_at=now + KEY_SECONDS,
        )
        return Once(self.wired.calls, call, self.wired.clock)

    def made(self, make: Callable[[str | None], Made]) -> Made:
        """What `make` returns, or returned for the first call with this idempotency key. What it makes must follow from
        the name that it gets (None without a key), or be safe to repeat; its result must be JSON.
        """
        once = self.once
        return make(None) if once is None else once(lambda: make(once.call.name))

    def patience(self, wait: float) -> float:
        """`wait` seconds, or less where the gateway would give up before; none where too many of the tenant's requests
        wait already.
        """
        wait = max(0.0, min(wait, LONGEST - (time.monotonic() - self.begun)))
        if wait and not self.places:
            place = taken(self.wired.calls, self.caller.tenant, wait=wait, clock=self.wired.clock)
            self.places.extend([] if place is None else [place])
        return wait if self.places else 0.0

    def over(self) -> None:
        """Give back what the call has taken."""
        for place in self.places:
            give_back(self.wired.calls, place)


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


CURRENT: ContextVar[Call] = ContextVar("CURRENT")


def call() -> Call:
    """The call that the current operation answers."""
    return CURRENT.get()
