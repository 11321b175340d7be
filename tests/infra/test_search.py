"""The search tiers: what each adds to the stack, and who may ask a managed domain."""

import json
from pathlib import Path
from typing import Any

from palimpsest.engines.dynamodb.search.index import FILTERS, VECTOR_INDEX

from infra import paths
from tests.infra.conftest import Synthesized, Template

INDEXES = {"es:ESHttpPut", "es:ESHttpDelete"}


def domain_of(template: Template) -> dict[str, Any]:
    (domain,) = template.of_type("AWS::OpenSearchService::Domain").values()
    return domain


def names(template: Template) -> set[str]:
    """Resources by their logical ids, without what the CDK adds to say what they hold."""
    return set(template.body["Resources"]) - {"CDKMetadata"}


def kinds(template: Template, only: set[str]) -> set[str]:
    return {each["Type"] for name, each in template.body["Resources"].items() if name in only}


def url(template: Template, function: str) -> Any:
    return template.functions()[function]["Environment"]["Variables"]["SEARCH_URL"]


def test_a_domain_encrypts_at_rest_between_nodes_and_on_the_way_to_it(
    with_domains: Synthesized,
) -> None:
    for template in (with_domains.local, with_domains.dev, with_domains.prod):
        domain = domain_of(template)
        assert domain["EncryptionAtRestOptions"]["Enabled"] is True
        assert domain["NodeToNodeEncryptionOptions"] == {"Enabled": True}
        assert domain["DomainEndpointOptions"]["EnforceHTTPS"] is True
        assert domain["DomainEndpointOptions"]["TLSSecurityPolicy"].startswith("Policy-Min-TLS-1-2")


def test_prod_uses_the_accounts_own_key_and_two_zones(prod: Template) -> None:
    domain = domain_of(prod)
    assert domain["EncryptionAtRestOptions"]["KmsKeyId"]["Ref"].startswith("Key")
    assert domain["ClusterConfig"]["InstanceCount"] == 2
    assert domain["ClusterConfig"]["ZoneAwarenessConfig"] == {"AvailabilityZoneCount": 2}


def test_a_domain_lets_in_the_roles_of_functions_and_nobody_else(prod: Template) -> None:
    statements = domain_of(prod)["AccessPolicies"]["Statement"]
    roles = {
        statement["Principal"]["AWS"]["Fn::GetAtt"][0].split("Role")[0] for statement in statements
    }
    assert roles == {
        name.capitalize()
        for name, each in prod.functions().items()
        if "SEARCH_URL" in variables(each)
    }
    for statement in statements:
        assert statement["Effect"] == "Allow"
        assert all(place.startswith("*") for place in places(statement))


def places(statement: dict[str, Any]) -> set[str]:
    """What a statement is about within the domain."""
    named = (
        statement["Resource"]
        if isinstance(statement["Resource"], list)
        else [statement["Resource"]]
    )
    return {
        json.dumps(each).partition(":domain/palimpsest-prod/")[2].partition('"')[0]
        for each in named
    }


def test_what_only_searches_may_not_write_documents(prod: Template) -> None:
    posts = {
        function: {
            place
            for statement in prod.statements(function)
            if "es:ESHttpPost" in statement["Action"]
            for place in places(statement)
        }
        for function in ("memories", "embed", "reindex")
    }
    assert posts == {"memories": {"*/_search", "*/_count"}, "embed": {"*"}, "reindex": {"*"}}


def variables(function: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = function["Environment"]["Variables"]
    return found


def test_only_who_fills_the_index_may_make_and_drop_indexes(prod: Template) -> None:
    may = {
        function
        for function in prod.functions()
        for statement in prod.statements(function)
        if INDEXES & set(statement["Action"])
    }
    assert may == {"embed", "reindex"}


def test_functions_are_told_the_domains_address(prod: Template) -> None:
    scheme, endpoint = url(prod, "embed")["Fn::Join"][1]
    assert (scheme, endpoint["Fn::GetAtt"][1]) == ("https://", "DomainEndpoint")


def test_plain_http_is_for_the_local_stage_alone(with_domains: Synthesized) -> None:
    assert url(with_domains.local, "embed")["Fn::Join"][1][0] == "http://"
    assert url(with_domains.dev, "embed")["Fn::Join"][1][0] == "https://"


def test_functions_of_one_machine_share_a_file(synthesized: Synthesized) -> None:
    assert (
        url(synthesized.local, "embed")
        == (paths.local_state() / "search" / "index.sqlite").as_uri()
    )
    assert Path(paths.local_state()).is_absolute()
    assert "AWS::OpenSearchService::Domain" not in kinds(
        synthesized.local, names(synthesized.local)
    )


def test_without_search_there_is_nothing_that_would_index_or_cost(
    without_search: Template, synthesized: Synthesized, with_domains: Synthesized
) -> None:
    nothing, tables, domain = names(without_search), names(synthesized.dev), names(with_domains.dev)
    assert nothing < tables
    assert kinds(with_domains.dev, domain - tables) == {
        "AWS::OpenSearchService::Domain",
        "AWS::CloudWatch::Alarm",
    }
    assert kinds(synthesized.dev, tables - domain) == {"AWS::DynamoDB::Table"}
    assert kinds(synthesized.dev, tables - nothing) == {
        "AWS::CloudWatch::Alarm",
        "AWS::DynamoDB::Table",
        "AWS::Lambda::Function",
        "AWS::IAM::Role",
        "AWS::IAM::Policy",
        "AWS::Logs::LogGroup",
        "AWS::SQS::Queue",
        "AWS::SQS::QueuePolicy",
        "AWS::Lambda::EventSourceMapping",
    }


def test_the_vector_index_is_there_from_the_first_deployment_and_as_the_library_asks_it(
    synthesized: Synthesized,
) -> None:
    tables = {
        name: each
        for name, each in synthesized.dev.of_type("AWS::DynamoDB::Table").items()
        if "Search" in name
    }
    (vectors,) = (table for table in tables.values() if "VectorIndexes" in table)
    (index,) = vectors["VectorIndexes"]
    assert index["IndexName"] == VECTOR_INDEX
    assert index["SearchSchema"][0] == {"AttributeName": "owner", "SearchSchemaElementType": "HASH"}
    assert [each["AttributeName"] for each in index["SearchSchema"][1:]] == list(FILTERS)
    dimension = variables(synthesized.dev.functions()["embed"])["EMBEDDING_DIMENSION"]
    assert (str(index["Dimensions"]), index["DistanceFunction"]) == (dimension, "COSINE")
    defined = {attribute["AttributeName"] for attribute in vectors["AttributeDefinitions"]}
    assert defined == {"pk", "sk", "owner", *FILTERS}
    assert {table["BillingMode"] for table in tables.values()} == {"PAY_PER_REQUEST"}
    assert all(name.endswith(tuple("0123456789ABCDEF")) for name in tables)
    assert any(dimension in name for name in tables), "another dimension is another table"


def test_functions_are_given_both_tables_and_search_vectors_of_the_index_alone(
    synthesized: Synthesized,
) -> None:
    scheme, words, slash, vectors = url(synthesized.dev, "memories")["Fn::Join"][1]
    assert (scheme, slash) == ("dynamodb://", "/")
    assert "Words" in words["Ref"]
    assert "Vectors" in vectors["Ref"]
    for function in ("memories", "embed", "reindex"):
        (allowed,) = (
            statement
            for statement in synthesized.dev.statements(function)
            if "dynamodb:SearchVectors" in statement["Action"]
        )
        assert json.dumps(allowed["Resource"]).endswith(f'/index/{VECTOR_INDEX}"]]}}')


def test_who_only_searches_writes_to_no_table_of_the_index(synthesized: Synthesized) -> None:
    for statement in synthesized.dev.statements("memories"):
        if "SearchWords" in json.dumps(statement["Resource"]):
            assert set(statement["Action"]) == {
                "dynamodb:GetItem",
                "dynamodb:BatchGetItem",
                "dynamodb:Query",
            }


def test_tables_of_the_index_use_the_accounts_own_key_where_the_stage_has_one(
    prod_on_tables: Template,
) -> None:
    tables = prod_on_tables.of_type("AWS::DynamoDB::Table")
    assert all(
        each["SSESpecification"]["SSEEnabled"] for name, each in tables.items() if "Search" in name
    )
    assert sum("Search" in name for name in tables) == 2


def test_a_lost_index_is_no_loss(prod: Template) -> None:
    (domain,) = (
        resource
        for resource in prod.body["Resources"].values()
        if resource["Type"] == "AWS::OpenSearchService::Domain"
    )
    assert domain["DeletionPolicy"] == "Delete"  # it is made anew from the tables
