"""The errors of the client: one tree, with a class for each status and below it one for each
problem code.

PalimpsestError
├── NotConfigured        no address or no key of the service
│   └── NotTheService    something else answers there, or in another form than the service's
├── ConnectionLost       no answer, also after every repetition
├── JobFailed            an awaited job ended with an error
├── JobNotEnded          a job did not end within the given time
├── NotAPath             a text was given instead of the path of a file
└── Problem              the service's answer
    ├── BadRequest (400)  Unauthenticated (401)  Forbidden (403)  NotFound (404)  NotAllowed (405)
    ├── Conflict (409)  TooLarge (413)  Invalid (422)  TooManyRequests (429)
    └── ServerFailed (500)  Unavailable (503)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class PalimpsestError(Exception):
    """The base of all errors that this package raises."""


class NotConfigured(PalimpsestError):
    """No setting says where the service is, or which key it needs."""


class NotTheService(NotConfigured):
    """Something other than the service answers at the address. Its answer is not JSON, has another
    form, is a redirect, or is an endless list.
    """

    def __init__(self, address: str, why: str) -> None:
        super().__init__(f"The server at {address} isn't the service: {why}.")


class ConnectionLost(PalimpsestError):
    """The service did not answer. A write may have been done. It is safe to make the same call
    again with its `key`.
    """


class JobFailed(PalimpsestError):
    """A job failed. `job` is the service's document of the job. Its `error` is the code of the
    failure.
    """

    def __init__(self, job: Mapping[str, Any]) -> None:
        super().__init__(
            f"The job {job.get('job_id')} ({job.get('kind')}) failed: {job.get('error')}"
        )
        self.job = job


class JobNotEnded(PalimpsestError):
    """A job did not end in time. It continues, and the program may wait for it again."""


class NotAPath(PalimpsestError, ValueError):
    """A text was given where the path of a file is needed."""


class Problem(PalimpsestError):
    """An error that the service answered (RFC 9457). `code` is stable, and `errors` names fields.
    If `retryable` is true, the same call may work later.

    The name of each class below corresponds to its code, as `InvalidCursor` to `invalid_cursor`,
    unless the class states another code.
    """

    status: ClassVar[int] = 0
    known: ClassVar[dict[str, type[Problem]]] = {}
    of_status: ClassVar[dict[int, type[Problem]]] = {}
    code: str = "problem"

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "status" in vars(cls):
            Problem.of_status[cls.status] = cls
        cls.code = vars(cls).get("code") or re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        Problem.known[cls.code] = cls

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = body
        self.code = str(body.get("code") or self.code)
        self.detail = str(body.get("detail") or body.get("message") or self.code)
        self.request_id: str | None = body.get("request_id")
        self.retryable = bool(body.get("retryable"))
        self.errors: Sequence[Mapping[str, str]] = _field_errors(body.get("errors"))
        super().__init__(f"{body.get('status', self.status)} {self.code}: {self.detail}")

    @property
    def minimum(self) -> int | None:
        """Return the smallest budget that fits, in tokens. Only `budget_too_small` has one."""
        return self.body.get("minimum")


def _field_errors(stated: Any) -> Sequence[Mapping[str, str]]:
    """Return the errors that name a field and say what is wrong with it. All other entries are left
    out.
    """
    every = stated if isinstance(stated, list) else ()
    return [
        error
        for error in every
        if isinstance(error, Mapping) and {"field", "message"} <= error.keys()
    ]


def problem_of(status: int, body: Mapping[str, Any]) -> Problem:
    """Return the error for an answer: the class of its code, or else the class of its status. A
    gateway's own answer has no code.
    """
    general = Problem.of_status.get(status) or (
        ServerFailed if status >= ServerFailed.status else BadRequest
    )
    kind = Problem.known.get(str(body.get("code")), general)
    return kind({"status": status, **body})


# fmt: off
class BadRequest(Problem):
    status = 400


class Unauthenticated(Problem):
    status = 401


class Forbidden(Problem):
    status = 403


class NotFound(Problem):
    status = 404


class NotAllowed(Problem):
    status = 405
    code = "method_not_allowed"


class Conflict(Problem):
    status = 409


class TooLarge(Problem):
    status = 413


class Invalid(Problem):
    status = 422


class TooManyRequests(Problem):
    status = 429


class ServerFailed(Problem):
    status = 500
    code = "internal_error"


class Unavailable(Problem):
    status = 503


class InvalidCursor(BadRequest): ...
class InvalidId(BadRequest): ...
class InvalidJson(BadRequest): ...
class InvalidUnicode(BadRequest): ...
class MissingBody(BadRequest): ...
class UnsupportedEncoding(BadRequest): ...


class InvalidKey(Unauthenticated): ...


class MissingScope(Forbidden): ...


class CompactionNotFound(NotFound): ...
class EntityNotFound(NotFound): ...
class ExportNotFound(NotFound): ...
class FactNotFound(NotFound): ...
class JobNotFound(NotFound): ...
class MemoryNotFound(NotFound): ...
class MessageNotFound(NotFound): ...
class PreferenceNotFound(NotFound): ...
class RelationshipNotFound(NotFound): ...
class ReviewNotFound(NotFound): ...
class RouteNotFound(NotFound): ...
class SessionNotFound(NotFound): ...
class ToolNotFound(NotFound): ...


class ReadOnlyBlock(NotAllowed): ...


class GraphTooVaried(Conflict): ...
class HistoryMovedOn(Conflict): ...
class IdempotencyKeyReused(Conflict): ...
class IsCurrent(Conflict): ...
class IsInGraph(Conflict): ...
class IsPreference(Conflict): ...
class JobNotFailed(Conflict): ...
class NotCurrent(Conflict): ...
class NothingToRetry(Conflict): ...
class OwnerMismatch(Conflict): ...
class SessionExists(Conflict): ...
class TooManyEntities(Conflict): ...
class TooManyFacts(Conflict): ...
class TooManyNamespaces(Conflict): ...
class TooManyPreferences(Conflict): ...
class TooManyRelationships(Conflict): ...
class TooManyVectors(Conflict): ...
class TranscriptDiverged(Conflict): ...
class WithdrawalsUnderWay(Conflict): ...


class AnswerTooLarge(TooLarge): ...
class BatchTooLarge(TooLarge): ...
class BodyTooLarge(TooLarge): ...
class FactTooLarge(TooLarge): ...
class MessageTooLarge(TooLarge): ...
class SettingsTooLarge(TooLarge): ...
class TooManyMessages(TooLarge): ...


class BudgetTooSmall(Invalid): ...
class InvalidImport(Invalid): ...
class InvalidPeriod(Invalid): ...
class InvalidQuery(Invalid): ...
class InvalidVector(Invalid): ...
class MissingParameter(Invalid): ...
class ModelNotAllowed(Invalid): ...
class NoGraphEngine(Invalid): ...
class NoLongTermMemory(Invalid): ...
class NoVectors(Invalid): ...
class OtherDimension(Invalid): ...
class OtherModel(Invalid): ...
class QueryStopped(Invalid): ...
class QueryTooLarge(Invalid): ...
class QueryWrites(Invalid): ...
class ReservedType(Invalid): ...
class SecretRefused(Invalid): ...
class ToolMessageWithoutCall(Invalid): ...
class TranscriptLength(Invalid): ...
class UnknownEntity(Invalid): ...
class UnknownModel(Invalid): ...


class LimitReached(TooManyRequests): ...


class MemoryLimit(LimitReached): ...
class SessionLimit(LimitReached): ...
class TooManyQueries(LimitReached): ...


class CommitLost(Unavailable): ...
class ContentUnreadable(Unavailable): ...
class Contention(Unavailable): ...
class ModelCostLimit(Unavailable): ...
class ModelFailed(Unavailable): ...
class ModelOutputInvalid(Unavailable): ...
class ModelRefusedRequest(Unavailable): ...
class ModelUnavailable(Unavailable): ...
class NoSuchBlock(Unavailable): ...
class NotDoneYet(Unavailable): ...
# fmt: on


class GraphUnavailable(Unavailable):
    code = "graph"


class VectorMissing(Unavailable):
    code = "vector"
