import json
import re
from pathlib import Path
from typing import Any

import pytest
from palimpsest.graph.ports import GraphLimits
from palimpsest.jobs.attempts import MAX_TRIES
from palimpsest.memory.removal.users import BACKUP_DAYS
from palimpsest.model_calls.kept import KEPT_DAYS
from palimpsest_graph.ladybug.graphs import HELD
from palimpsest_graph.ladybug.worker import POOL

from benchmarks.load.memory import GRAPH, LIBRARY, MODELS, TITLE
from infra.parts.http_api import DESCRIPTION
from infra.pythons import DECLARED
from tests.documents.test_figures import cell
from tests.infra.conftest import Synthesized, Template

MB = 1024 * 1024
RECEIVES = {"summarize": 8, "extract": 8, "embed": 480, "reindex": 8, "sweep": 8}
WORKERS = set(RECEIVES)
FUNCTIONS = WORKERS | {"authorize", "sessions", "memories", "dispatch", "site"}
CALL_OR_SEARCH = {"sessions", "memories", "summarize", "extract", "embed", "reindex"}


def name_of(logical_id: str) -> str:
    """A queue's name in its part: logical ids begin with it and end with eight digits of a hash."""
    return logical_id.removeprefix("Queues")[:-8]


def test_every_working_queue_has_dead_letters(prod: Template) -> None:
    queues = {
        name_of(logical_id): queue for logical_id, queue in prod.of_type("AWS::SQS::Queue").items()
    }
    assert set(queues) == {"DeadLetters", "Parked", "Events"} | {
        name.capitalize() for name in WORKERS
    }
    for name, queue in queues.items():
        if name in ("DeadLetters", "Parked"):
            assert "RedrivePolicy" not in queue
        else:
            assert (
                queue["RedrivePolicy"]["maxReceiveCount"]
                == (RECEIVES | {"events": 480})[name.lower()]
            )
            assert (
                name_of(queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0])
                == "DeadLetters"
            )


def test_throttled_receives_make_no_dead_letter_of_a_job_that_may_be_tried_again(
    prod: Template,
) -> None:
    for queue in prod.of_type("AWS::SQS::Queue").values():
        if "RedrivePolicy" in queue:
            assert queue["RedrivePolicy"]["maxReceiveCount"] >= max(6, MAX_TRIES + 2)


def test_every_queue_is_a_standard_queue_so_that_message_groups_mean_fairness_and_not_order(
    prod: Template,
) -> None:
    assert not [
        name for name, queue in prod.of_type("AWS::SQS::Queue").items() if "FifoQueue" in queue
    ]


def test_a_message_stays_hidden_six_times_as_long_as_its_function_may_run(prod: Template) -> None:
    queues = prod.of_type("AWS::SQS::Queue")
    timeouts = {name: function["Timeout"] for name, function in prod.functions().items()}
    mappings = prod.mappings(streams=False)
    assert len(mappings) == len(WORKERS) + 1  # dispatch publishes what the bus did not take
    for mapping in mappings:
        queue = queues[mapping["EventSourceArn"]["Fn::GetAtt"][0]]
        function = mapping["FunctionName"]["Ref"].split("Function")[0].lower()
        assert queue["VisibilityTimeout"] >= 6 * timeouts[function]


def test_queue_workers_report_single_failures_and_are_limited(prod: Template) -> None:
    for mapping in prod.mappings(streams=False):
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert mapping["ScalingConfig"] == {"MaximumConcurrency": 5}


def test_only_what_costs_no_model_call_a_message_takes_many_at_once(prod: Template) -> None:
    sizes = {
        mapping["FunctionName"]["Ref"]: mapping["BatchSize"]
        for mapping in prod.mappings(streams=False)
    }
    assert sizes.pop("EmbedFunction") == sizes.pop("DispatchFunction") == 10
    assert sizes == {f"{name.capitalize()}Function": 1 for name in WORKERS - {"embed"}}


def test_streams_park_what_fails_and_go_on(prod: Template) -> None:
    mappings = prod.mappings(streams=True)
    assert {each["FunctionName"]["Ref"] for each in mappings} == {"DispatchFunction"}
    for mapping in mappings:
        assert mapping["StartingPosition"] == "TRIM_HORIZON"
        assert mapping["ParallelizationFactor"] == 10
        assert mapping["MaximumRetryAttempts"] == 10
        assert mapping["BisectBatchOnFunctionError"] is True
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert (
            name_of(mapping["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"][0])
            == "Parked"
        )


UPDATE = "dynamodb:UpdateItem"
JOBS = {"eventName": ["INSERT"], "dynamodb": {"NewImage": {"type": {"S": ["job"]}}}}
FAILED = {
    "eventName": ["MODIFY"],
    "dynamodb": {"NewImage": {"type": {"S": ["job"]}, "state": {"S": ["failed"]}}},
}
COMPACTIONS = {"eventName": ["INSERT"], "dynamodb": {"NewImage": {"type": {"S": ["compaction"]}}}}
POINTERS = {"eventName": ["MODIFY"], "dynamodb": {"NewImage": {"type": {"S": ["pointer"]}}}}
NEW_RECORDS = {"eventName": ["INSERT"], "dynamodb": {"NewImage": {"type": {"S": ["record"]}}}}
MESSAGES = [
    {"eventName": ["INSERT", "MODIFY"], "dynamodb": {"NewImage": {"type": {"S": ["message"]}}}},
    {"eventName": ["REMOVE"], "dynamodb": {"OldImage": {"type": {"S": ["message"]}}}},
]
RECORDS = [
    {
        "eventName": ["INSERT", "MODIFY"],
        "dynamodb": {"NewImage": {"type": {"S": ["record"]}, "index_state": {"S": ["pending"]}}},
    },
    {"eventName": ["REMOVE"], "dynamodb": {"OldImage": {"type": {"S": ["record"]}}}},
]


def filters_of(template: Template) -> dict[str, list[Any]]:
    """What is let through of each table's stream."""
    return {
        mapping["EventSourceArn"]["Fn::GetAtt"][0].removeprefix("Tables")[:-8]: [
            json.loads(each["Pattern"]) for each in mapping["FilterCriteria"]["Filters"]
        ]
        for mapping in template.mappings(streams=True)
    }


def test_streams_tell_of_new_jobs_of_events_and_of_what_the_index_must_learn_and_of_nothing_else(
    prod: Template,
) -> None:
    sessions = [JOBS, FAILED, COMPACTIONS, *MESSAGES]
    assert filters_of(prod) == {"Sessions": sessions, "Memories": [*RECORDS, POINTERS]}


def test_a_stage_without_search_is_told_of_jobs_of_events_and_of_messages_to_count(
    without_search: Template,
) -> None:
    told = {
        "Sessions": [JOBS, FAILED, COMPACTIONS, MESSAGES[0]],
        "Memories": [NEW_RECORDS, RECORDS[1], POINTERS],
    }
    assert filters_of(without_search) == told


def test_every_table_can_be_restored_to_any_second(prod: Template) -> None:
    tables = prod.of_type("AWS::DynamoDB::Table")
    assert len(tables) == 3
    for table in tables.values():
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
        assert table["BillingMode"] == "PAY_PER_REQUEST"
        assert [key["AttributeName"] for key in table["KeySchema"]] == ["pk", "sk"]


def table_of(template: Template, name: str) -> dict[str, Any]:
    (found,) = (
        each for id_, each in template.of_type("AWS::DynamoDB::Table").items() if name in id_
    )
    return found


@pytest.mark.parametrize("name", ["Sessions", "Memories"])
def test_tables_that_start_work_stream_whole_items_and_forget_what_is_over(
    prod: Template, name: str
) -> None:
    table = table_of(prod, name)
    assert table["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert table["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}


def test_keys_of_tenants_stream_nowhere(prod: Template) -> None:
    streamed = {"StreamSpecification", "TimeToLiveSpecification", "GlobalSecondaryIndexes"}
    assert not streamed & set(table_of(prod, "Tenants"))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        (
            "Sessions",
            {
                "by_user": ["tenant_bucket", "listed"],
                "by_owner": ["job_owner", "created"],
                "due": ["due_shard", "due_at"],
            },
        ),
        (
            "Memories",
            {
                "by_created": ["owner", "created"],
                "by_tenant": ["tenant_bucket", "user_id"],
                "due": ["due_shard", "due_at"],
            },
        ),
    ],
)
def test_indexes_hold_keys_alone(prod: Template, name: str, wanted: dict[str, list[str]]) -> None:
    table = table_of(prod, name)
    indexes = {index["IndexName"]: index for index in table["GlobalSecondaryIndexes"]}
    assert {
        index: [key["AttributeName"] for key in each["KeySchema"]]
        for index, each in indexes.items()
    } == wanted
    assert {each["Projection"]["ProjectionType"] for each in indexes.values()} == {"KEYS_ONLY"}
    types = {
        attribute["AttributeName"]: attribute["AttributeType"]
        for attribute in table["AttributeDefinitions"]
    }
    assert {attribute for attribute, kind in types.items() if kind == "N"} == {"due_at"} & set(
        types
    )


def test_every_function_runs_as_declared(prod: Template) -> None:
    assert set(prod.functions()) == FUNCTIONS
    for function in prod.functions().values():
        assert function["Runtime"] == "python3.13"
        assert function["Architectures"] == ["arm64"]
        assert function["Handler"] == "handler.handler"
        assert (
            "ReservedConcurrentExecutions" not in function
        )  # it breaks deployments in new accounts
        assert "TracingConfig" not in function
        assert "LogGroup" in function["LoggingConfig"]


def test_every_log_is_kept_for_a_time(prod: Template) -> None:
    groups = prod.of_type("AWS::Logs::LogGroup")
    assert len(groups) == len(FUNCTIONS) + 1  # and the access log
    assert {group["RetentionInDays"] for group in groups.values()} == {90}


def layers_of(template: Template) -> dict[str, set[str]]:
    """The layers of each function by name: logical ids begin with `Layers` and end with a hash."""
    found = {
        name: [layer["Ref"] for layer in each["Layers"]]
        for name, each in template.functions().items()
    }
    return {name: {ref.removeprefix("Layers")[:-8] for ref in refs} for name, refs in found.items()}


def test_only_what_calls_a_model_or_searches_carries_their_clients(prod: Template) -> None:
    for name, layers in layers_of(prod).items():
        clients = {"Embedding"} if name in ("memories", "embed", "reindex") else {"Models"}
        expected = {"Core", "Runtime"} | (clients if name in CALL_OR_SEARCH else set())
        assert layers - {"Console", "Description", "Graph"} == expected


def test_pages_and_the_graph_are_in_the_one_function_that_serves_them(prod: Template) -> None:
    every = layers_of(prod).items()
    assert [name for name, layers in every if "Console" in layers] == ["site"]
    assert [name for name, layers in every if "Description" in layers] == ["site"]
    assert [name for name, layers in every if "Graph" in layers] == ["memories"]


def test_the_engine_of_graphs_is_carried_by_the_function_that_queries_them_alone(
    synthesized: Synthesized, with_openai: Template
) -> None:
    for template in (synthesized.local, synthesized.dev, synthesized.prod, with_openai):
        assert {name for name, layers in layers_of(template).items() if "Graph" in layers} == {
            "memories"
        }


def test_models_that_ship_with_the_functions_are_carried_by_those_alone_that_run_them(
    synthesized: Synthesized, with_openai: Template
) -> None:
    for template in (synthesized.local, synthesized.dev, synthesized.prod):
        carry = {name for name, layers in layers_of(template).items() if "Embedding" in layers}
        assert carry == {"memories", "embed", "reindex"}  # no function of the hot path
        (asks,) = (
            statement
            for statement in template.statements("sessions")
            if "lambda:InvokeFunction" in statement["Action"]
        )
        assert asks["Resource"] == {"Fn::GetAtt": ["EmbedFunction", "Arn"]}
    assert not any("Embedding" in layers for layers in layers_of(with_openai).values())


def test_the_function_of_every_turn_has_its_vectors_made_by_embed_whichever_model_makes_them(
    synthesized: Synthesized, with_openai: Template, without_search: Template
) -> None:
    for template in (synthesized.local, synthesized.dev, synthesized.prod, with_openai):
        told = template.functions()["sessions"]["Environment"]["Variables"]["EMBED_FUNCTION"]
        assert told == {"Ref": "EmbedFunction"}
    told = without_search.functions()["sessions"]["Environment"]["Variables"]["EMBED_FUNCTION"]
    assert told == ""


def readers_of_the_key(template: Template) -> set[str]:
    return {name for name in FUNCTIONS if "ssm:GetParameter" in actions_of(template, name)}


def test_only_functions_that_call_a_model_server_read_its_key_and_never_that_of_every_turn(
    prod: Template, with_openai: Template
) -> None:
    chatting = {"memories", "extract", "summarize"}
    assert readers_of_the_key(prod) == chatting
    assert readers_of_the_key(with_openai) == chatting | {"embed", "reindex"}


def test_what_waits_for_a_vector_or_runs_two_models_and_two_graphs_has_a_whole_processor(
    prod: Template,
) -> None:
    sizes = {name: function["MemorySize"] for name, function in prod.functions().items()}
    assert {name for name, size in sizes.items() if size >= 1_769} == {"embed", "memories"}


def test_two_models_and_two_graphs_fit_into_the_function_that_has_them(prod: Template) -> None:
    """The parts as they were measured, and what a graph's pages and a query may take besides."""
    library, models, process = (cell(TITLE, part, "MB")() for part in (LIBRARY, MODELS, GRAPH))
    graph = process + (POOL + GraphLimits().memory) / MB
    needed = library + models + HELD * graph
    assert needed < 0.9 * prod.functions()["memories"]["MemorySize"]
    assert HELD == 2


def test_refused_calls_end_in_small_functions(prod: Template) -> None:
    authorize, site = (prod.functions()[name] for name in ("authorize", "site"))
    assert authorize["MemorySize"] <= 512
    assert site["MemorySize"] <= 256
    assert 0 < int(authorize["Environment"]["Variables"]["REFUSALS_ANSWERED"]) <= 60


def test_every_route_but_the_open_ones_asks_who_calls(prod: Template) -> None:
    routes = {
        each["RouteKey"]: each["AuthorizationType"]
        for each in prod.of_type("AWS::ApiGatewayV2::Route").values()
    }
    open_routes = {route for route, kind in routes.items() if kind == "NONE"}
    assert open_routes == {
        "GET /v1/health", "GET /v1/openapi.json", "GET /v1/docs", "GET /v1/console", "$default",
        "GET /.well-known/oauth-protected-resource",
    }  # fmt: skip
    assert {kind for route, kind in routes.items() if route not in open_routes} == {"CUSTOM"}


def test_every_operation_of_the_description_reaches_the_function_that_serves_it(
    prod: Template,
) -> None:
    described = json.loads(DESCRIPTION.read_text())["paths"]
    integrations = prod.of_type("AWS::ApiGatewayV2::Integration")
    reached = {
        route["RouteKey"]: json.dumps(
            integrations[route["Target"]["Fn::Join"][1][1]["Ref"]]["IntegrationUri"]
        )
        for route in prod.of_type("AWS::ApiGatewayV2::Route").values()
    }
    for path, methods in described.items():
        for method, operation in methods.items():
            whole = f"{method.upper()} {path}"
            resource = "/".join(path.split("/")[:3])
            routes = (
                key
                for key in (whole, f"ANY {path}", f"ANY {resource}/{{proxy+}}")
                if key in reached
            )
            assert f'"{operation["x-function"].capitalize()}' in reached[next(routes)], whole


def test_the_gateway_answers_nobody_in_the_authorizers_place(prod: Template) -> None:
    (authorizer,) = prod.of_type("AWS::ApiGatewayV2::Authorizer").values()
    assert authorizer["EnableSimpleResponses"] is True
    assert authorizer["AuthorizerResultTtlInSeconds"] == 0
    assert (
        authorizer["IdentitySource"] == []
    )  # without the one it names, the gateway would refuse by itself


def test_the_front_door_is_throttled_and_logged(prod: Template) -> None:
    (stage,) = prod.of_type("AWS::ApiGatewayV2::Stage").values()
    assert stage["StageName"] == "$default"
    assert stage["DefaultRouteSettings"] == {
        "ThrottlingBurstLimit": 200,
        "ThrottlingRateLimit": 100,
    }
    assert "$context.requestId" in stage["AccessLogSettings"]["Format"]
    assert "authorization" not in stage["AccessLogSettings"]["Format"].lower().replace(
        "authorizer", ""
    )


def test_logs_are_encrypted_with_the_stacks_key_and_only_its_own_account_uses_it_for_others(
    prod: Template,
) -> None:
    for group in prod.of_type("AWS::Logs::LogGroup").values():
        assert group["KmsKeyId"]
    (key,) = prod.of_type("AWS::KMS::Key").values()
    services = [each for each in key["KeyPolicy"]["Statement"] if "Service" in each["Principal"]]
    assert len(services) >= 2
    for statement in services:
        conditions = json.dumps(statement["Condition"])
        assert (
            "aws:SourceAccount" in conditions or "kms:EncryptionContext:aws:logs:arn" in conditions
        )
        assert "AWS::AccountId" in conditions


def test_no_role_may_do_anything_by_a_wildcard(prod: Template) -> None:
    kinds_of_key_use = {"kms:ReEncrypt*", "kms:GenerateDataKey*"}
    for function in FUNCTIONS:
        for statement in prod.statements(function):
            actions = statement["Action"]
            wide = {
                each for each in ([actions] if isinstance(actions, str) else actions) if "*" in each
            }
            assert wide <= kinds_of_key_use
            assert statement["Resource"] != "*" or statement["Action"] == "dynamodb:ListStreams"


LEAST_FOR_DYNAMODB = {
    "kms:Encrypt",
    "kms:Decrypt",
    "kms:ReEncrypt*",
    "kms:GenerateDataKey*",
    "kms:DescribeKey",
    "kms:CreateGrant",
}


@pytest.mark.parametrize("function", sorted(set(FUNCTIONS) - {"site"}))
def test_a_function_has_the_documented_key_rights_through_dynamodb_alone(
    prod: Template, function: str
) -> None:
    through = [
        statement
        for statement in prod.statements(function)
        if "dynamodb." in json.dumps(statement.get("Condition", {}))
    ]
    assert through
    for statement in through:
        assert set(statement["Action"]) == LEAST_FOR_DYNAMODB
        assert "kms:ViaService" in statement["Condition"]["StringEquals"]


@pytest.mark.parametrize(
    ("function", "services"),
    [
        ("site", {"logs"}),
        ("authorize", {"logs", "dynamodb", "kms"}),
        ("sessions", {"logs", "dynamodb", "kms", "es", "s3", "lambda"}),
        ("memories", {"logs", "dynamodb", "kms", "ssm", "es", "s3"}),
        ("dispatch", {"logs", "dynamodb", "kms", "sqs", "events"}),
        ("extract", {"logs", "dynamodb", "kms", "sqs", "ssm", "s3"}),
        ("embed", {"logs", "dynamodb", "kms", "sqs", "es"}),
        ("reindex", {"logs", "dynamodb", "kms", "sqs", "es"}),
        ("summarize", {"logs", "dynamodb", "kms", "s3", "sqs", "ssm"}),
        ("sweep", {"logs", "dynamodb", "kms", "sqs", "s3"}),
    ],
)
def test_a_function_reaches_only_the_services_it_works_with(
    prod: Template, function: str, services: set[str]
) -> None:
    assert {action.split(":")[0] for action in actions_of(prod, function)} == services


def actions_of(template: Template, function: str) -> set[str]:
    listed = [statement["Action"] for statement in template.statements(function)]
    return {
        action
        for actions in listed
        for action in ([actions] if isinstance(actions, str) else actions)
    }


def test_who_may_delete_items_of_which_tables(prod: Template) -> None:
    found = {
        (function, table)
        for function in FUNCTIONS
        for statement in prod.statements(function)
        for table in ("Tenants", "Sessions", "Memories")
        if "dynamodb:DeleteItem" in statement["Action"] and table in str(statement["Resource"])
    }
    assert found == {
        ("sweep", "Sessions"),
        ("sweep", "Memories"),
        ("memories", "Memories"),
        ("memories", "Tenants"),
        ("extract", "Memories"),
        ("dispatch", "Sessions"),
        ("summarize", "Sessions"),
        ("extract", "Sessions"),
    }


def test_embed_reads_tables_and_only_notes_what_is_indexed_and_what_is_redacted(
    prod: Template,
) -> None:
    writing = {
        (table, action)
        for statement in prod.statements("embed")
        for table in ("Tenants", "Sessions", "Memories")
        for action in (
            [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]
        )
        if table in str(statement["Resource"])
        and action in ("dynamodb:PutItem", "dynamodb:UpdateItem")
    }
    assert writing == {("Memories", "dynamodb:UpdateItem"), ("Sessions", "dynamodb:UpdateItem")}


def test_who_lists_a_users_memories_may_query_the_index_that_lists_them(prod: Template) -> None:
    listing = {
        function
        for function in FUNCTIONS
        for statement in prod.statements(function)
        if "dynamodb:Query" in statement["Action"] and "/index/by_created" in str(statement)
    }
    assert listing == {"sessions", "memories", "extract", "sweep", "reindex"}


def test_only_reindex_and_sweep_look_through_what_belongs_to_every_tenant_and_there_through_keys(
    prod: Template,
) -> None:
    scanned = {
        (function, str(statement["Resource"]).rpartition("/index/")[2].strip("]}'"))
        for function in FUNCTIONS
        for statement in prod.statements(function)
        if "dynamodb:Scan" in statement["Action"]
    }
    assert scanned == {("reindex", "by_user"), ("reindex", "by_tenant"), ("sweep", "due")}


def test_reindex_writes_jobs_and_notes_what_is_indexed_and_deletes_nothing(prod: Template) -> None:
    changing = {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"}
    writing = {
        (table, action.removeprefix("dynamodb:"))
        for statement in prod.statements("reindex")
        for table in ("Tenants", "Sessions", "Memories")
        for action in statement["Action"]
        if table in str(statement["Resource"]) and action.removeprefix("dynamodb:") in changing
    }
    assert writing == {
        ("Sessions", "PutItem"),
        ("Sessions", "UpdateItem"),
        ("Memories", "UpdateItem"),
    }


def test_nobody_sees_an_api_key_but_authorize_and_authorize_nothing_else(prod: Template) -> None:
    seen = dict.fromkeys(("sessions", "memories", "summarize", "extract", "sweep"), "tenant#*") | {
        "authorize": "key#*"
    }
    for function, leading in seen.items():
        (statement,) = (
            each for each in prod.statements(function) if "Tenants" in str(each["Resource"])
        )
        assert statement["Condition"] == {
            "ForAllValues:StringLike": {"dynamodb:LeadingKeys": [leading]}
        }


def test_dispatch_writes_nothing_but_counts_and_who_has_a_place_in_a_queue(prod: Template) -> None:
    writing = [
        statement for statement in prod.statements("dispatch") if UPDATE in str(statement["Action"])
    ]
    assert all("Sessions" in str(each["Resource"]) for each in writing)
    assert sorted(leading_of(each) for each in writing) == ["*#share#*", "*#usage#*"]


@pytest.mark.parametrize("function", ["dispatch", "summarize", "extract"])
def test_what_sends_jobs_deletes_of_sessions_nothing_but_their_places_in_a_queue(
    prod: Template, function: str
) -> None:
    deleting = [
        statement
        for statement in prod.statements(function)
        if "dynamodb:DeleteItem" in statement["Action"]
    ]
    of_sessions = [each for each in deleting if "Sessions" in str(each["Resource"])]
    assert [leading_of(each) for each in of_sessions] == ["*#share#*"]


def leading_of(statement: dict[str, Any]) -> str:
    (leading,) = statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
    return str(leading)


def test_one_tenant_never_has_all_workers_of_a_queue(prod: Template) -> None:
    mappings = prod.of_type("AWS::Lambda::EventSourceMapping").values()
    limits = {
        mapping["ScalingConfig"]["MaximumConcurrency"]
        for mapping in mappings
        if "ScalingConfig" in mapping
    }
    shares = {
        int(function["Environment"]["Variables"]["TENANT_JOBS_AT_ONCE"])
        for function in prod.functions().values()
        if "TENANT_JOBS_AT_ONCE" in function["Environment"]["Variables"]
    }
    assert max(shares) < min(limits)


def test_embed_writes_of_sessions_nothing_but_ends_of_jobs_and_counts(prod: Template) -> None:
    writing = [
        statement for statement in prod.statements("embed") if UPDATE in str(statement["Action"])
    ]
    of_sessions = [each for each in writing if "Sessions" in str(each["Resource"])]
    leading = [
        each["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"] for each in of_sessions
    ]
    assert sorted(leading) == [["*#job#*"], ["*#usage#*"]]


@pytest.mark.parametrize("function", ["extract", "memories", "summarize"])
def test_the_key_of_the_models_is_the_one_parameter_that_is_read(
    prod: Template, function: str
) -> None:
    (statement,) = (
        each for each in prod.statements(function) if each["Action"] == "ssm:GetParameter"
    )
    assert str(statement["Resource"]).endswith(":parameter/palimpsest/prod/openai-api-key']]}")


def test_dead_letters_and_parked_records_wake_someone(prod: Template) -> None:
    alarms = prod.of_type("AWS::CloudWatch::Alarm").values()
    depths = [
        alarm for alarm in alarms if alarm["MetricName"] == "ApproximateNumberOfMessagesVisible"
    ]
    queues = {name_of(alarm["Dimensions"][0]["Value"]["Fn::GetAtt"][0]) for alarm in depths}
    assert queues == {"DeadLetters", "Parked"}
    assert {alarm["Threshold"] for alarm in depths} == {0}


def test_the_sweep_runs_every_minute(prod: Template) -> None:
    (rule,) = prod.of_type("AWS::Events::Rule").values()
    assert rule["ScheduleExpression"] == "rate(1 minute)"
    assert "SweepFunction" in str(rule["Targets"][0]["Arn"])


def test_everything_at_rest_is_encrypted_with_the_accounts_own_key(prod: Template) -> None:
    (key,) = prod.of_type("AWS::KMS::Key").values()
    assert key["EnableKeyRotation"] is True
    for queue in prod.of_type("AWS::SQS::Queue").values():
        assert queue["KmsMasterKeyId"]["Fn::GetAtt"][0].startswith("Key")
    for table in prod.of_type("AWS::DynamoDB::Table").values():
        assert table["SSESpecification"]["KMSMasterKeyId"]["Fn::GetAtt"][0].startswith("Key")
    (topic,) = prod.of_type("AWS::SNS::Topic").values()
    assert "KmsMasterKeyId" in topic


def test_the_bucket_is_closed_encrypted_and_forgets_what_was_removed(prod: Template) -> None:
    (bucket,) = prod.of_type("AWS::S3::Bucket").values()
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"]["KMSMasterKeyID"]["Fn::GetAtt"][0].startswith(
        "Key"
    )
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    rules = {rule["Id"]: rule for rule in bucket["LifecycleConfiguration"]["Rules"]}
    assert rules["Removed"]["NoncurrentVersionExpiration"]["NoncurrentDays"] < BACKUP_DAYS
    assert "ExpirationInDays" not in rules["Removed"]
    assert (rules["Calls"]["Prefix"], rules["Calls"]["ExpirationInDays"]) == ("calls/", KEPT_DAYS)
    passing = rules["Passing"]
    assert (passing["Prefix"], passing["ExpirationInDays"]) == ("passing/", 30)
    assert passing["NoncurrentVersionExpiration"] == {"NoncurrentDays": 1}
    (policy,) = prod.of_type("AWS::S3::BucketPolicy").values()
    (refusal,) = policy["PolicyDocument"]["Statement"]
    assert (refusal["Effect"], refusal["Condition"]) == (
        "Deny",
        {"Bool": {"aws:SecureTransport": "false"}},
    )


def test_functions_reach_only_the_contents_that_they_work_with_and_nobody_reads_removed_ones(
    prod: Template,
) -> None:
    may = {
        name: {act for act in actions_of(prod, name) if act.startswith("s3:")} for name in FUNCTIONS
    }
    assert {name: actions for name, actions in may.items() if actions} == {
        "sessions": {"s3:GetObject", "s3:PutObject", "s3:ListBucket"},
        "memories": {"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"},
        "extract": {"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"},
        "summarize": {"s3:PutObject", "s3:DeleteObject", "s3:ListBucket"},
        "sweep": {"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"},
    }  # fmt: skip
    assert "/passing/*" in str(prod.statements("extract"))
    for writer in ("extract", "summarize"):
        adding = [
            statement
            for statement in prod.statements(writer)
            if "s3:PutObject" in str(statement["Action"])
        ]
        assert ["/calls/*" in str(each["Resource"]) for each in adding] == [True]
    removing = [
        statement
        for statement in prod.statements("memories")
        if "s3:DeleteObject" in str(statement["Action"])
    ]
    removed = str([each["Resource"] for each in removing])
    assert "/exports/*" in removed
    assert "/reviews/*" in removed
    assert "/calls/*" in removed
    assert len(removing) == 3


def test_the_outputs_name_what_operators_need(prod: Template) -> None:
    tables = {"TenantsTable", "SessionsTable", "MemoriesTable", "ContentsBucket"}
    wanted = tables | {
        "Endpoint",
        "ApiId",
        "ParkedQueueUrl",
        "DeadLettersUrl",
        "OpenAiKeyParameter",
        "KeyArn",
    }
    queues = {f"{name.capitalize()}QueueUrl" for name in WORKERS}
    assert wanted | queues <= set(prod.body["Outputs"])


def test_agents_of_the_account_can_take_the_client_as_a_layer_and_no_function_of_ours_does(
    prod: Template,
) -> None:
    layer = prod.body["Outputs"]["ClientLayer"]["Value"]["Ref"]
    shipped = prod.of_type("AWS::Lambda::LayerVersion")[layer]
    assert shipped["CompatibleRuntimes"] == ["python3.11", "python3.12", "python3.13"]
    assert "CompatibleArchitectures" not in shipped  # it has no compiled code
    assert not any("Client" in layers for layers in layers_of(prod).values())


def test_nothing_built_or_cached_is_part_of_an_asset_but_the_librarys_bytecode(
    prod_on_tables: Template,
) -> None:
    assets = prod_on_tables.path.parent
    ours = [
        path
        for path in assets.glob("asset.*/**/*")
        if "palimpsest" in path.parts or _is_of_a_function(path)
    ]
    shipped = {path.relative_to(assets) for path in ours if path.is_file()}
    assert {"handler.py", "errors.py"} <= {path.name for path in shipped}
    of_its_python = re.compile(rf"(\w+)\.cpython-{DECLARED.replace('.', '')}\.pyc")
    for path in (path for path in shipped if re.search(r"__pycache__|\.pyc$|/\.", str(path))):
        source = of_its_python.fullmatch(path.name)
        assert source, path
        assert path.parents[1] / f"{source[1]}.py" in shipped, path
        assert "palimpsest" in path.parts, path


def _is_of_a_function(path: Path) -> bool:
    return (path.parent / "handler.py").exists()
