"""The queues between the streams and the workers, and the two queues in which failures wait for a
person.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.config import Stage
from infra.parts.accepted import accept

# The visibility timeout is this many times as long as the function may run. AWS advises six,
# because a received message also waits while its function is throttled (docs/adr/0172).
HIDDEN_FACTOR = 6
# The longest time that SQS allows, because a person looks at failures.
KEPT = Duration.days(14)
RECEIVES = 8
"""How often a message is received before it becomes a dead letter. A job counts its own failed
tries, of which it may have four. The queue allows more receives, because it also counts those for a
function that is throttled and never runs.
"""


@dataclass(frozen=True, slots=True)
class Line:
    """The settings of a worker's queue: how many seconds a step may take, how many messages are in
    a batch, and after how many receives a message is a dead letter.
    """

    seconds: int
    batch: int = 1
    receives: int = RECEIVES


UNTOLD = Line(seconds=30, batch=10, receives=480)
"""The queue of events that the bus refused. Each is tried again every three minutes."""


class Queues(Construct):
    """One queue for each worker, with the worker's name. `events` holds events that the bus
    refused, which are published from it for a day. `parked` holds stream records that the
    dispatcher could not read.

    All queues share one dead-letter queue. Each message names its kind of work, and one alarm
    covers all messages.
    """

    def __init__(
        self, scope: Construct, *, stage: Stage, key: kms.IKey | None, lines: Mapping[str, Line]
    ) -> None:
        super().__init__(scope, "Queues")
        self._stage = stage
        self._key = key
        self.dead_letters = self._queue("DeadLetters")
        self.of = {name: self._queue(name.capitalize(), line) for name, line in lines.items()}
        self.events = self._queue("Events", UNTOLD)
        self.parked = self._queue("Parked")
        accept(
            self.parked,
            "SQS3",
            because="It is itself where messages wait for a person; an alarm watches it.",
        )
        if not stage.https_only:
            accept(
                self,
                "SQS4",
                because="The local AWS listens on loopback and speaks plain HTTP only.",
            )

    def grant_send(self, queue: sqs.Queue, sender: iam.IGrantable) -> None:
        self._grant(queue, sender, "sqs:SendMessage")

    def grant_back_off(self, queue: sqs.Queue, worker: iam.IGrantable) -> None:
        """Let the worker hide a message until its next attempt."""
        self._grant(queue, worker, "sqs:ChangeMessageVisibility")

    def _grant(self, queue: sqs.Queue, grantee: iam.IGrantable, action: str) -> None:
        queue.grant(grantee, action)
        if self._key is not None:
            self._key.grant(grantee, "kms:Decrypt", "kms:GenerateDataKey")

    def _queue(self, name: str, line: Line | None = None) -> sqs.Queue:
        """Return a worker's queue. Without `line`, return a queue whose messages wait for a
        person.
        """
        failed = (
            sqs.DeadLetterQueue(queue=self.dead_letters, max_receive_count=line.receives)
            if line
            else None
        )
        managed, own = sqs.QueueEncryption.SQS_MANAGED, sqs.QueueEncryption.KMS
        hidden = HIDDEN_FACTOR * line.seconds if line else 60
        return sqs.Queue(
            self, name,
            encryption=own if self._key else managed,
            encryption_master_key=self._key,
            enforce_ssl=self._stage.https_only,
            retention_period=KEPT,
            visibility_timeout=Duration.seconds(hidden),
            dead_letter_queue=failed,
        )  # fmt: skip
