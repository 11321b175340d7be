"""The errors of the client: one tree, with a class for each status and below it one for each problem code.

PalimpsestError
├── NotConfigured        no address or no key of the service
├── ConnectionLost       no answer, also after every repetition
├── JobFailed            a job that was waited for ended with an error
├── JobNotEnded          a job did not end within the time that was given for it
└── Problem              what the service answered
    ├── BadRequest (400)  Unauthenticated (401)  Forbidden (403)  NotFound (404)  NotAllowed (405)
    └── Conflict (409)  TooLarge (413)  Invalid (422)  TooManyRequests (429)  ServerFailed (500)  Unavailable (503)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class PalimpsestError(Exception):
    """Whatever this package raises on its own account."""


class NotConfigured(PalimpsestError):
    """Nothing says where the service is, or with which key it is called."""


class ConnectionLost(PalimpsestError):
    """The service did not answer. A write may have taken place: the same call again, with its `key`, is safe."""


class JobFailed(PalimpsestError):
    """`job` is as the service shows it; its `error` is the code of what went wrong."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        super().__init__(f"The job {job.get('job_id')} ({job.get('kind')}) failed: {job.get('error')}")
        self.job = job


class JobNotEnded(PalimpsestError):
    """The job goes on; it can be waited for again."""


class Problem(PalimpsestError):
    """An answer of RFC 9457. `code` is stable, `errors` names fields, `retryable`: the same call may work later."""

    status: ClassVar[int] = 0
    known: ClassVar[dict[str, type[Problem]]] = {}
    of_status: ClassVar[dict[int, type[Problem]]] = {}
    code: str = "problem"

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "status" in vars(cls):
            Problem.of_status[cls.status] = cls
        if "code" in vars(cls):
            Problem.known[cls.code] = cls

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = body
        self.code = str(body.get("code") or self.code)
        self.detail = str(body.get("detail") or body.get("message") or self.code)
        self.request_id: str | None = body.get("request_id")
        self.retryable = bool(body.get("retryable"))
        self.errors: Sequence[Mapping[str, str]] = body.get("errors") or ()
        super().__init__(f"{body.get('status', self.status)} {self.code}: {self.detail}")

    @property
    def minimum(self) -> int | None:
        """The smallest budget that fits, in tokens; with `budget_too_small`."""
        return self.body.get("minimum")


def problem_of(status: int, body: Mapping[str, Any]) -> Problem:
    """The error for an answer: that of its code, else that of its status. A gateway's own answer has no code."""
    general = Problem.of_status.get(status) or (ServerFailed if status >= ServerFailed.status else BadRequest)
    kind = Problem.known.get(str(body.get("code")), general)
    return kind({"status": status, **body})


class BadRequest(Problem):
    status = 400
    code = "bad_request"


class Unauthenticated(Problem):
    status = 401
    code = "unauthenticated"


class Forbidden(Problem):
    status = 403
    code = "forbidden"


class NotFound(Problem):
    status = 404
    code = "not_found"


class NotAllowed(Problem):
    status = 405
    code = "method_not_allowed"


class Conflict(Problem):
    status = 409
    code = "conflict"


class TooLarge(Problem):
    status = 413
    code = "too_large"


class Invalid(Problem):
    status = 422
    code = "invalid"


class TooManyRequests(Problem):
    status = 429
    code = "too_many_requests"


class ServerFailed(Problem):
    status = 500
    code = "internal_error"


class Unavailable(Problem):
    status = 503
    code = "unavailable"


class InvalidId(BadRequest):
    code = "invalid_id"


class InvalidCursor(BadRequest):
    code = "invalid_cursor"


class InvalidJson(BadRequest):
    code = "invalid_json"


class InvalidUnicode(BadRequest):
    code = "invalid_unicode"


class MissingBody(BadRequest):
    code = "missing_body"


class UnsupportedEncoding(BadRequest):
    code = "unsupported_encoding"


class MissingScope(Forbidden):
    code = "missing_scope"


class SessionNotFound(NotFound):
    code = "session_not_found"


class MessageNotFound(NotFound):
    code = "message_not_found"


class CompactionNotFound(NotFound):
    code = "compaction_not_found"


class MemoryNotFound(NotFound):
    code = "memory_not_found"


class FactNotFound(NotFound):
    code = "fact_not_found"


class JobNotFound(NotFound):
    code = "job_not_found"


class ToolNotFound(NotFound):
    code = "tool_not_found"


class RouteNotFound(NotFound):
    code = "route_not_found"


class ReadOnlyBlock(NotAllowed):
    code = "read_only_block"


class IdempotencyKeyReused(Conflict):
    code = "idempotency_key_reused"


class OwnerMismatch(Conflict):
    code = "owner_mismatch"


class SessionExists(Conflict):
    code = "session_exists"


class TranscriptDiverged(Conflict):
    code = "transcript_diverged"


class HistoryMovedOn(Conflict):
    code = "history_moved_on"


class WithdrawalsUnderWay(Conflict):
    code = "withdrawals_under_way"


class JobNotFailed(Conflict):
    code = "job_not_failed"


class NothingToRetry(Conflict):
    code = "nothing_to_retry"


class IsCurrent(Conflict):
    code = "is_current"


class NotCurrent(Conflict):
    code = "not_current"


class TooManyFacts(Conflict):
    code = "too_many_facts"


class BodyTooLarge(TooLarge):
    code = "body_too_large"


class BatchTooLarge(TooLarge):
    code = "batch_too_large"


class MessageTooLarge(TooLarge):
    code = "message_too_large"


class TooManyMessages(TooLarge):
    code = "too_many_messages"


class AnswerTooLarge(TooLarge):
    code = "answer_too_large"


class SettingsTooLarge(TooLarge):
    code = "settings_too_large"


class FactTooLarge(TooLarge):
    code = "fact_too_large"


class BudgetTooSmall(Invalid):
    code = "budget_too_small"


class TranscriptLength(Invalid):
    code = "transcript_length"


class ToolMessageWithoutCall(Invalid):
    code = "tool_message_without_call"


class UnknownModel(Invalid):
    code = "unknown_model"


class ModelNotAllowed(Invalid):
    code = "model_not_allowed"


class NoLongTermMemory(Invalid):
    code = "no_long_term_memory"


class NoVectors(Invalid):
    code = "no_vectors"


class CommitLost(Unavailable):
    code = "commit_lost"


class Contention(Unavailable):
    code = "contention"


class VectorMissing(Unavailable):
    code = "vector"


class NoSuchBlock(Unavailable):
    code = "no_such_block"


class ModelFailed(Unavailable):
    code = "model_failed"


class ModelUnavailable(Unavailable):
    code = "model_unavailable"


class ModelOutputInvalid(Unavailable):
    code = "model_output_invalid"


class ModelRefusedRequest(Unavailable):
    code = "model_refused_request"


class IsPreference(Conflict):
    code = "is_preference"


class TooManyPreferences(Conflict):
    code = "too_many_preferences"


class PreferenceNotFound(NotFound):
    code = "preference_not_found"


class ContentUnreadable(Unavailable):
    code = "content_unreadable"


class ExportNotFound(NotFound):
    code = "export_not_found"


class InvalidImport(Invalid):
    code = "invalid_import"


class InvalidVector(Invalid):
    code = "invalid_vector"


class NotDoneYet(Unavailable):
    code = "not_done_yet"


class OtherDimension(Invalid):
    code = "other_dimension"


class OtherModel(Invalid):
    code = "other_model"


class TooManyNamespaces(Conflict):
    code = "too_many_namespaces"


class TooManyVectors(Conflict):
    code = "too_many_vectors"


class LimitReached(TooManyRequests):
    code = "limit_reached"


class SessionLimit(LimitReached):
    code = "session_limit"


class MemoryLimit(LimitReached):
    code = "memory_limit"


class ModelCostLimit(Unavailable):
    code = "model_cost_limit"


class InvalidPeriod(Invalid):
    code = "invalid_period"


class EntityNotFound(NotFound):
    code = "entity_not_found"


class RelationshipNotFound(NotFound):
    code = "relationship_not_found"


class ReservedType(Invalid):
    code = "reserved_type"


class UnknownEntity(Invalid):
    code = "unknown_entity"


class TooManyEntities(Conflict):
    code = "too_many_entities"


class TooManyRelationships(Conflict):
    code = "too_many_relationships"


class GraphTooVaried(Conflict):
    code = "graph_too_varied"


class IsInGraph(Conflict):
    code = "is_in_graph"


class QueryWrites(Invalid):
    code = "query_writes"


class InvalidQuery(Invalid):
    code = "invalid_query"


class QueryStopped(Invalid):
    code = "query_stopped"


class MissingParameter(Invalid):
    code = "missing_parameter"


class NoGraphEngine(Invalid):
    code = "no_graph_engine"


class GraphUnavailable(Unavailable):
    code = "graph"
