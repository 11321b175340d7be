"""The graph of Neptune Analytics in which users' graphs are searched, where a stage has one, and the way to it."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_neptunegraph as neptunegraph
from constructs import Construct

from infra.config import Stage
from infra.parts.accepted import accept
from infra.parts.python_function import Network

SMALLEST = 16  # m-NCU
READS = ("neptune-graph:ReadDataViaQuery",)
WRITES = ("neptune-graph:WriteDataViaQuery", "neptune-graph:DeleteDataViaQuery")


class Graph(Construct):
    """`id` is that of the graph, an empty string where there is none. The graph is private: functions reach it by
    standing in `network`, from which a gateway leads to everything else that they call.
    """

    def __init__(self, scope: Construct, *, stage: Stage, key: kms.IKey | None) -> None:
        super().__init__(scope, "Graph")
        self.network: Network | None = None
        self.id = self._arn = ""
        if stage.graph == "neptune":
            self.network = self._network()
            graph = self._graph(stage, key)
            self._add_way(graph, self.network)
            self.id, self._arn = graph.attr_graph_id, graph.attr_graph_arn

    def grant(self, role: iam.Role, *, writes: bool) -> None:
        """Let the role query the graph, where there is one."""
        if self._arn:
            actions = [*READS, *(WRITES if writes else ())]
            iam.Grant.add_to_principal(grantee=role, actions=actions, resource_arns=[self._arn])

    def _graph(self, stage: Stage, key: kms.IKey | None) -> neptunegraph.CfnGraph:
        graph = neptunegraph.CfnGraph(
            self, "Users",
            graph_name=f"palimpsest-{stage.name}",
            provisioned_memory=SMALLEST,
            public_connectivity=False,
            replica_count=0,  # it can be lost: `reindex` makes it anew from the tables
            deletion_protection=stage.keeps_data,
            kms_key_identifier=key.key_arn if key else None,
        )  # fmt: skip
        graph.apply_removal_policy(RemovalPolicy.RETAIN if stage.keeps_data else RemovalPolicy.DESTROY)
        return graph

    def _network(self) -> Network:
        vpc = ec2.Vpc(self, "Network", max_azs=2, nat_gateways=1, restrict_default_security_group=False)
        accept(vpc, "VPC7", because="Calls of functions are in CloudTrail and in their own logs.")
        for service in (ec2.GatewayVpcEndpointAwsService.DYNAMODB, ec2.GatewayVpcEndpointAwsService.S3):
            vpc.add_gateway_endpoint(service.name.rpartition(".")[2].capitalize(), service=service)
        return Network(vpc, ec2.SecurityGroup(self, "Functions", vpc=vpc, description="Functions that query the graph"))

    def _add_way(self, graph: neptunegraph.CfnGraph, network: Network) -> None:
        """Add the endpoint through which the functions, and nothing else, reach the graph."""
        group = ec2.SecurityGroup(
            self, "Way", vpc=network.vpc, allow_all_outbound=False, description="The way to the graph"
        )
        group.add_ingress_rule(network.group, ec2.Port.tcp(443), "Functions that query the graph")
        neptunegraph.CfnPrivateGraphEndpoint(
            self, "Endpoint",
            graph_identifier=graph.attr_graph_id,
            vpc_id=network.vpc.vpc_id,
            subnet_ids=network.vpc.select_subnets(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS).subnet_ids,
            security_group_ids=[group.security_group_id],
        )  # fmt: skip
