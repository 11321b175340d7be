"""A stage with a graph of Neptune Analytics: private, no larger than it must be, and asked by those who need it."""

from pathlib import Path
from typing import Any

import pytest

from infra.config import stage_named
from tests.infra.conftest import Template, findings_of, of_one_stage

ASKS = {"memories", "extract", "embed", "reindex"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cdk.out")


@pytest.fixture(scope="module")
def with_graph(folder: Path) -> Template:
    return of_one_stage(folder, "prod", graph="neptune")


def one(template: Template, kind: str) -> dict[str, Any]:
    (found,) = template.of_type(kind).values()
    return found


def named(function: dict[str, Any]) -> Any:
    return function["Environment"]["Variables"].get("NEPTUNE_GRAPH")


def test_the_graph_is_private_small_encrypted_and_kept_as_the_stage_keeps_data(with_graph: Template) -> None:
    graph = one(with_graph, "AWS::NeptuneGraph::Graph")
    assert (graph["PublicConnectivity"], graph["ProvisionedMemory"], graph["ReplicaCount"]) == (False, 16, 0)
    assert graph["DeletionProtection"] is True
    assert graph["KmsKeyIdentifier"]["Fn::GetAtt"][0].startswith("Key")
    (resource,) = (each for each in with_graph.body["Resources"].values() if each["Type"] == "AWS::NeptuneGraph::Graph")
    assert resource["DeletionPolicy"] == "Retain"


def test_who_asks_the_graph_stands_in_its_network_and_nobody_else_does(with_graph: Template) -> None:
    functions = with_graph.functions()
    assert {name for name, each in functions.items() if named(each)} == ASKS
    assert {name for name, each in functions.items() if "VpcConfig" in each} == ASKS
    way = one(with_graph, "AWS::NeptuneGraph::PrivateGraphEndpoint")
    subnets = {str(functions[name]["VpcConfig"]["SubnetIds"]) for name in ASKS}
    assert subnets == {str(way["SubnetIds"])}
    rule = one(with_graph, "AWS::EC2::SecurityGroupIngress")
    assert (rule["FromPort"], rule["ToPort"]) == (443, 443)
    gateways = with_graph.of_type("AWS::EC2::VPCEndpoint").values()
    assert {each["ServiceName"]["Fn::Join"][1][-1] for each in gateways} == {".dynamodb", ".s3"}


def test_only_who_fills_the_graph_may_write_to_it(with_graph: Template) -> None:
    may = {
        name: {
            action.rpartition(":")[2]
            for each in with_graph.statements(name)
            for action in ([each["Action"]] if isinstance(each["Action"], str) else each["Action"])
            if action.startswith("neptune-graph:")
        }
        for name in with_graph.functions()
    }
    reads, writes = {"ReadDataViaQuery"}, {"ReadDataViaQuery", "WriteDataViaQuery", "DeleteDataViaQuery"}
    fills = {"embed": writes, "reindex": writes, "memories": reads, "extract": reads}
    assert {name: actions for name, actions in may.items() if actions} == fills


def test_no_rule_of_security_is_broken(with_graph: Template, folder: Path) -> None:
    assert with_graph.body["Resources"]
    assert findings_of(folder) == []


def test_without_it_there_is_no_network_and_nothing_that_costs(prod: Template) -> None:
    kinds = {each["Type"] for each in prod.body["Resources"].values()}
    assert not [kind for kind in kinds if kind.startswith(("AWS::EC2", "AWS::NeptuneGraph"))]
    assert {named(each) for name, each in prod.functions().items() if name in ASKS} == {""}


@pytest.mark.parametrize(
    ("stage", "context"),
    [("local", {"graph": "neptune"}), ("dev", {"graph": "x"}), ("dev", {"graph": "neptune", "search": "none"})],
)
def test_where_it_can_not_be_it_is_refused(stage: str, context: dict[str, str]) -> None:
    with pytest.raises(SystemExit):
        stage_named(stage, context.get)
    assert stage_named("dev", {"graph": "neptune"}.get).graph == "neptune"
