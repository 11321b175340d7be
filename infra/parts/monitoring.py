"""The alarms that notify a person, and the dashboard for that person."""

from collections.abc import Mapping, Sequence

from aws_cdk import Duration, Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_budgets as budgets
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
REFUSED = 5_000
"""The number of refused calls in five minutes, which is 17 a second. At this rate, somebody tries
keys, or a client calls in a loop.
"""
WAITED_SECONDS = 900
MB_A_GB = 1024
DOMAIN_ALARMS = (
    ("SearchRed", "ClusterStatus.red", 0, "Data of the search domain is away."),
    ("SearchBlocked", "ClusterIndexWritesBlocked", 0, "The domain takes no writes."),
    ("SearchMemory", "JVMMemoryPressure", 85, "The search domain lacks memory (%)."),
)
MISSING_IS_HEALTHY = cloudwatch.TreatMissingData.NOT_BREACHING
MISSING_IS_FAILURE = cloudwatch.TreatMissingData.BREACHING


class Monitoring(Construct):
    """Alarms that notify a topic. Unless an alarm says otherwise, a metric without data is
    healthy.
    """

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
        for service in ("cloudwatch", "budgets"):
            self._let_publish(service, key)
        if stage.is_on_aws and choices.budget_usd:
            self._add_budget(choices.budget_usd)
        if choices.alarm_email:
            self.topic.add_subscription(subscriptions.EmailSubscription(choices.alarm_email))
        self.alarms: dict[str, cloudwatch.Alarm] = {}
        self._dashboard = cloudwatch.Dashboard(
            self,
            "Dashboard",
            dashboard_name=Stack.of(self).stack_name,
            default_interval=Duration.hours(6),
        )

    def _let_publish(self, service: str, key: kms.Key | None) -> None:
        """Let a service publish to the topic. A topic with a policy of its own no longer has the
        default policy, which lets everything in the account publish.
        """
        own = {"StringEquals": {"aws:SourceAccount": Stack.of(self).account}}
        publisher = iam.ServicePrincipal(f"{service}.amazonaws.com", conditions=own)
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                actions=["sns:Publish"], principals=[publisher], resources=[self.topic.topic_arn]
            )
        )
        if key is not None:
            key.grant(publisher, "kms:Decrypt", "kms:GenerateDataKey*")

    def _add_budget(self, dollars: int) -> None:
        """Notify the topic when the account's costs of the month exceed the budget, or are forecast
        to exceed it.
        """
        notifications = [
            budgets.CfnBudget.NotificationWithSubscribersProperty(
                notification=budgets.CfnBudget.NotificationProperty(
                    comparison_operator="GREATER_THAN",
                    notification_type=kind,
                    threshold=percent,
                    threshold_type="PERCENTAGE",
                ),
                subscribers=[
                    budgets.CfnBudget.SubscriberProperty(
                        subscription_type="SNS", address=self.topic.topic_arn
                    )
                ],
            )
            for kind, percent in (("ACTUAL", 80), ("FORECASTED", 100))
        ]
        budgets.CfnBudget(
            self,
            "Budget",
            budget=budgets.CfnBudget.BudgetDataProperty(
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=budgets.CfnBudget.SpendProperty(amount=dollars, unit="USD"),
            ),
            notifications_with_subscribers=notifications,
        )

    def watch_queues(self, queues: Queues) -> None:
        """Add the alarms for queues. Work that a worker gives up becomes a dead letter, so workers
        need no alarm of their own.
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
        for name, queue in (queues.of | {"events": queues.events}).items():
            self._alarm(
                f"{name.capitalize()}Age",
                queue.metric_approximate_age_of_oldest_message(period=FIVE_MINUTES),
                above=WAITED_SECONDS,
                description=f"Work of {name} has waited for a quarter of an hour.",
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
        # Some calls wait for a job on purpose, so only the faster half shows that the service is
        # slow.
        half = api.metric_latency(period=FIVE_MINUTES, statistic="p50")
        refused = api.metric_client_error(period=FIVE_MINUTES, statistic="Sum")
        self._alarm("ServerErrors", failed, above=4, description="The API answers with 5xx.")
        self._alarm(
            "Latency",
            half,
            above=SLOW_MS,
            periods=3,
            description="Half of the requests are slow. Calls that wait for a job are too few to "
            "cause this.",
        )
        self._alarm(
            "ClientErrors",
            refused,
            above=REFUSED,
            description="Very many calls are refused, and each of them costs money.",
        )
        self._row(
            ("Requests", [api.metric_count(), refused, failed]),
            ("Latency", [half, api.metric_latency(statistic="p99")]),
        )

    def watch_functions(self, functions: Mapping[str, lambda_.Function]) -> None:
        """Add the alarms for functions. Failures of the API's functions show as 5xx, and those of
        workers as dead letters. Failures of `dispatch` show as lag of the streams and as parked
        records, because a stream keeps failed records. Only the sweep needs alarms of its own.
        """
        errors = {
            name: function.metric_errors(period=FIVE_MINUTES)
            for name, function in functions.items()
        }
        self._alarm(
            "SweepErrors", errors["sweep"], above=4, description="The function sweep fails."
        )
        self._alarm(
            "SweepStopped",
            functions["sweep"].metric_invocations(period=FIVE_MINUTES),
            below=1,
            periods=3,
            missing=MISSING_IS_FAILURE,
            description="The sweep has not run for a quarter of an hour.",
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
            ("Throttles", [throttles]),
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

    def watch_domain(self, name: str, *, volume_gb: int) -> None:
        """Watch a managed search domain by metrics that AWS recommends alarms for.

        Source: "Recommended CloudWatch alarms for Amazon OpenSearch Service".
        """

        def metric(metric_name: str, statistic: str) -> cloudwatch.Metric:
            return cloudwatch.Metric(
                namespace="AWS/ES",
                metric_name=metric_name,
                statistic=statistic,
                period=FIVE_MINUTES,
                dimensions_map={"DomainName": name, "ClientId": Stack.of(self).account},
            )

        for alarm, named, above, description in DOMAIN_ALARMS:
            watched = metric(named, "Maximum")
            self._alarm(alarm, watched, above=above, description=description)
        self._alarm(
            "SearchStorage",
            metric("FreeStorageSpace", "Minimum"),
            below=volume_gb * MB_A_GB / 4,
            description="A node of the search domain has less than a quarter of its storage left.",
        )

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
        description: str,
        above: float = 0,
        below: float | None = None,
        periods: int = 1,
        missing: cloudwatch.TreatMissingData = MISSING_IS_HEALTHY,
    ) -> None:
        """Notify if the metric is `above` or `below` a threshold in each of this number of
        periods.
        """
        threshold, comparison = above, cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
        if below is not None:
            threshold, comparison = below, cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
        alarm = cloudwatch.Alarm(
            self,
            name,
            metric=metric,
            threshold=threshold,
            evaluation_periods=periods,
            alarm_description=description,
            comparison_operator=comparison,
            treat_missing_data=missing,
        )
        alarm.add_alarm_action(actions.SnsAction(self.topic))
        self.alarms[name] = alarm

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
