"""The alarms that notify a person, and the dashboard to look at then."""

from collections.abc import Mapping, Sequence

from aws_cdk import Duration, Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.config import Choices, Stage
from infra.parts.accepted import accept
from infra.parts.queues import Queues
from infra.parts.tables import Tables

FIVE_MINUTES = Duration.minutes(5)
SLOW_MS = 3_000
STREAM_LAG_MS = 300_000


class Monitoring(Construct):
    """Alarms notify a topic. A metric without data counts as healthy."""

    def __init__(
        self, scope: Construct, *, stage: Stage, choices: Choices, key: kms.Key | None
    ) -> None:
        super().__init__(scope, "Monitoring")
        self.topic = sns.Topic(self, "Alarms", enforce_ssl=stage.https_only, master_key=key)
        if not stage.https_only:
            accept(
                self.topic,
                "SNS3",
                because="The local AWS listens on loopback and speaks plain HTTP only.",
            )
        if key is not None:
            own = {"StringEquals": {"aws:SourceAccount": Stack.of(self).account}}
            alarms = iam.ServicePrincipal("cloudwatch.amazonaws.com", conditions=own)
            key.grant(alarms, "kms:Decrypt", "kms:GenerateDataKey*")
        if choices.alarm_email:
            self.topic.add_subscription(subscriptions.EmailSubscription(choices.alarm_email))
        self._dashboard = cloudwatch.Dashboard(
            self,
            "Dashboard",
            dashboard_name=Stack.of(self).stack_name,
            default_interval=Duration.hours(6),
        )

    def watch_queues(self, queues: Queues) -> None:
        """Work that a worker gives up on becomes a dead letter, so workers need no alarm of their
        own.
        """
        self._alarm(
            "DeadLetters",
            _waiting(queues.dead_letters),
            above=0,
            description="Work failed for good.",
        )
        self._alarm(
            "Parked", _waiting(queues.parked), above=0, description="Stream records were set aside."
        )
        working = [*queues.of.values(), queues.events]
        ages = [queue.metric_approximate_age_of_oldest_message() for queue in working]
        self._row(
            (
                "Messages waiting",
                [_waiting(queue) for queue in (*working, queues.dead_letters, queues.parked)],
            ),
            ("Age of the oldest message", ages),
        )

    def watch_api(self, api: gateway.HttpApi) -> None:
        failed = api.metric_server_error(period=FIVE_MINUTES, statistic="Sum")
        slow = api.metric_latency(period=FIVE_MINUTES, statistic="p99")
        self._alarm("ServerErrors", failed, above=4, description="The API answers with 5xx.")
        self._alarm(
            "Latency",
            slow,
            above=SLOW_MS,
            periods=3,
            description="One request in a hundred is slow.",
        )
        self._row(
            ("Requests", [api.metric_count(), api.metric_client_error(), failed]),
            ("Latency", [api.metric_latency(statistic="p50"), slow]),
        )

    def watch_functions(
        self, functions: Mapping[str, lambda_.Function], *, alone: Sequence[str]
    ) -> None:
        """Errors of those that stand alone get an alarm; what fails behind the API is its 5xx,
        behind a queue its dead letters.
        """
        errors = {
            name: function.metric_errors(period=FIVE_MINUTES)
            for name, function in functions.items()
        }
        for name in alone:
            self._alarm(
                f"{name.capitalize()}Errors",
                errors[name],
                above=4,
                description=f"The function {name} fails.",
            )
        throttles = lambda_.Function.metric_all_throttles(period=FIVE_MINUTES, statistic="Sum")
        self._alarm(
            "Throttles",
            throttles,
            above=0,
            periods=3,
            description="The account's functions are throttled.",
        )
        self._row(
            ("Errors", [*errors.values()]),
            ("Throttles", [function.metric_throttles() for function in functions.values()]),
            (
                "Duration, p99",
                [function.metric_duration(statistic="p99") for function in functions.values()],
            ),
        )

    def watch_stream(self, reader: lambda_.Function) -> None:
        lag = reader.metric("IteratorAge", statistic="Maximum", period=FIVE_MINUTES)
        self._alarm(
            "StreamLag",
            lag,
            above=STREAM_LAG_MS,
            description="Work starts late: the stream lags behind.",
        )
        self._row(("Stream lag", [lag]))

    def watch_tables(self, tables: Tables) -> None:
        used = [
            metric
            for table in (tables.sessions, tables.memories, tables.tenants)
            for metric in (
                table.metric_consumed_read_capacity_units(),
                table.metric_consumed_write_capacity_units(),
            )
        ]
        self._row(("Capacity used", used), ("User errors", [tables.sessions.metric_user_errors()]))

    def _alarm(
        self,
        name: str,
        metric: cloudwatch.IMetric,
        *,
        above: float,
        description: str,
        periods: int = 1,
    ) -> None:
        alarm = cloudwatch.Alarm(
            self,
            name,
            metric=metric,
            threshold=above,
            evaluation_periods=periods,
            alarm_description=description,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(actions.SnsAction(self.topic))

    def _row(self, *graphs: tuple[str, Sequence[cloudwatch.IMetric]]) -> None:
        width = 24 // len(graphs)
        self._dashboard.add_widgets(
            *(
                cloudwatch.GraphWidget(title=title, left=list(lines), width=width)
                for title, lines in graphs
            )
        )


def _waiting(queue: sqs.Queue) -> cloudwatch.Metric:
    return queue.metric_approximate_number_of_messages_visible(
        statistic="Maximum", period=FIVE_MINUTES
    )
