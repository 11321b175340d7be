"""The search index of a stage, which is a managed domain, two tables, a file on this machine, or
none.
"""

from collections.abc import Sequence
from typing import cast

from aws_cdk import Acknowledgment, RemovalPolicy, Stack, Validations
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_opensearchservice as opensearch
from constructs import Construct

from infra import paths
from infra.config import Stage
from infra.parts.accepted import accept
from infra.parts.tables import grant_through_dynamodb

ENGINE = "OpenSearch_2.19"
TLS = "Policy-Min-TLS-1-2-PFS-2023-10"
MOST_ZONES = 3
LOOKS = ("es:ESHttpGet", "es:ESHttpHead")
POSTS = ("es:ESHttpPost",)
SEARCHES = ("*/_search", "*/_count")
"""The paths to which a search is posted. Adding documents in bulk is a POST too, but to another
path.
"""
MAKES = ("es:ESHttpPut", "es:ESHttpDelete")  # indexes and aliases
VECTOR_INDEX = "by_meaning"
FILTERS = ("kind", "origin", "subject", "session", "agent")
READS_TABLES = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")
FILLS_TABLES = (
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
    "dynamodb:BatchWriteItem",
    "dynamodb:Scan",
)


class Search(Construct):
    """The search index. `url` is the address that functions get. It names a domain, two tables or a
    file, or is empty.
    """

    def __init__(self, scope: Construct, *, stage: Stage, key: kms.IKey | None) -> None:
        super().__init__(scope, "Search")
        self._policy = iam.PolicyDocument()
        self._key = key
        self.domain = self._domain(stage, key) if stage.search == "opensearch" else None
        self.tables = self._tables(stage.embedding.dimension) if stage.search == "dynamodb" else ()
        if self.domain is not None:
            self.url = (
                f"{'https' if stage.https_only else 'http'}://{self.domain.attr_domain_endpoint}"
            )
        elif self.tables:
            self.url = f"dynamodb://{'/'.join(table.table_name for table in self.tables)}"
        else:
            self.url = (
                (paths.local_state() / "search" / "index.sqlite").as_uri()
                if stage.search == "embedded"
                else ""
            )

    def grant(self, role: iam.Role, *, makes_indexes: bool) -> None:
        """Let the role search. If the role makes indexes, it may also write documents. The domain's
        own policy must name every role that may.
        """
        if self.tables:
            self._grant_tables(role, fills=makes_indexes)
        if self.domain is None:
            return
        if makes_indexes:
            self._let(role, [*LOOKS, *POSTS, *MAKES], ["*"])
        else:
            self._let(role, LOOKS, ["*"])
            self._let(role, POSTS, SEARCHES)

    def _let(self, role: iam.Role, actions: Sequence[str], places: Sequence[str]) -> None:
        arns = [f"{self._arn()}/{place}" for place in places]
        self._policy.add_statements(
            iam.PolicyStatement(
                principals=[iam.ArnPrincipal(role.role_arn)], actions=list(actions), resources=arns
            )
        )
        iam.Grant.add_to_principal(grantee=role, actions=list(actions), resource_arns=arns)
        domain = f"arn:<AWS::Partition>:es:<AWS::Region>:<AWS::AccountId>:domain/{self.domain_name}"
        for place in places:
            accept(
                role,
                f"IAM5[Resource::{domain}/{place}]",
                because="Names of indexes hold a model and a number.",
            )

    def _grant_tables(self, role: iam.Role, *, fills: bool) -> None:
        actions = [*READS_TABLES, *(FILLS_TABLES if fills else ())]
        arns = [table.table_arn for table in self.tables]
        iam.Grant.add_to_principal(grantee=role, actions=actions, resource_arns=arns)
        nearest = f"{arns[-1]}/index/{VECTOR_INDEX}"
        iam.Grant.add_to_principal(
            grantee=role, actions=["dynamodb:SearchVectors"], resource_arns=[nearest]
        )
        if self._key is not None:
            grant_through_dynamodb(self._key, role)

    def _tables(self, dimension: int) -> Sequence[dynamodb.Table]:
        """Return the table of words and the table of vectors. There is another table of vectors for
        each dimension, because an index of vectors can't be changed. The words stay readable while
        a new table is filled.
        """
        words, vectors = self._table("Words"), self._table(f"Vectors{dimension}")
        template = cast("dynamodb.CfnTable", vectors.node.default_child)
        names = ["pk", "sk", "owner", *FILTERS]
        template.attribute_definitions = [
            dynamodb.CfnTable.AttributeDefinitionProperty(attribute_name=name, attribute_type="S")
            for name in names
        ]
        unused = (
            "The attributes of a vector index are defined, too; the check knows only those of keys."
        )
        Validations.of(template).acknowledge(
            Acknowledgment(id="CloudFormation-Validate::E3039", reason=unused)
        )
        roles = {"owner": "HASH", **dict.fromkeys(FILTERS, "INLINE_FILTER")}
        template.vector_indexes = [
            dynamodb.CfnTable.VectorIndexProperty(
                index_name=VECTOR_INDEX,
                vector_attribute=dynamodb.CfnTable.VectorAttributeProperty(attribute_name="vector"),
                search_schema=[
                    dynamodb.CfnTable.SearchSchemaElementProperty(
                        attribute_name=name, search_schema_element_type=kind
                    )
                    for name, kind in roles.items()
                ],
                projection=dynamodb.CfnTable.ProjectionProperty(projection_type="KEYS_ONLY"),
                dimensions=dimension,
                distance_function="COSINE",
            )
        ]
        return (words, vectors)

    def _table(self, name: str) -> dynamodb.Table:
        own = dynamodb.TableEncryption.CUSTOMER_MANAGED
        table = dynamodb.Table(
            self,
            name,
            partition_key=dynamodb.Attribute(name="pk", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="sk", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            time_to_live_attribute="ttl",
            encryption=dynamodb.TableEncryption.DEFAULT if self._key is None else own,
            encryption_key=self._key,
            deletion_protection=False,
            # a projection: `reindex` makes it anew from the tables
            removal_policy=RemovalPolicy.DESTROY,
        )
        accept(table, "DDB3", because="The index can be lost: it is made anew from the tables.")
        return table

    def _arn(self) -> str:
        """Return the domain's ARN, composed from its name, because its policy can't refer to the
        domain itself.
        """
        return Stack.of(self).format_arn(
            service="es", resource="domain", resource_name=self.domain_name
        )

    def _domain(self, stage: Stage, key: kms.IKey | None) -> opensearch.CfnDomain:
        self.domain_name = f"palimpsest-{stage.name}"
        size = stage.domain
        zones = min(size.nodes, MOST_ZONES)
        key_id = key.key_id if key else None
        of_zones = opensearch.CfnDomain.ZoneAwarenessConfigProperty(availability_zone_count=zones)
        domain = opensearch.CfnDomain(
            self,
            "Domain",
            domain_name=self.domain_name,
            engine_version=ENGINE,
            cluster_config=opensearch.CfnDomain.ClusterConfigProperty(
                instance_type=size.instance,
                instance_count=size.nodes,
                dedicated_master_enabled=False,
                zone_awareness_enabled=zones > 1,
                zone_awareness_config=of_zones if zones > 1 else None,
            ),
            ebs_options=opensearch.CfnDomain.EBSOptionsProperty(
                ebs_enabled=True, volume_type="gp3", volume_size=size.volume_gb
            ),
            encryption_at_rest_options=opensearch.CfnDomain.EncryptionAtRestOptionsProperty(
                enabled=True, kms_key_id=key_id
            ),
            node_to_node_encryption_options=opensearch.CfnDomain.NodeToNodeEncryptionOptionsProperty(
                enabled=True
            ),
            domain_endpoint_options=opensearch.CfnDomain.DomainEndpointOptionsProperty(
                enforce_https=True, tls_security_policy=TLS
            ),
            software_update_options=opensearch.CfnDomain.SoftwareUpdateOptionsProperty(
                auto_software_update_enabled=True
            ),
            access_policies=self._policy,
        )
        # a projection: `reindex` makes it anew from the tables
        domain.apply_removal_policy(RemovalPolicy.DESTROY)
        self._accept_findings(domain)
        return domain

    def _accept_findings(self, domain: opensearch.CfnDomain) -> None:
        """Accept two kinds of findings: those for clusters that hold the only copy of their data,
        and those whose remedy would log texts.
        """
        accept(
            domain,
            "OS1",
            because="Functions are in no VPC; every request is signed, and only roles are let in.",
        )
        accept(
            domain,
            "OS3",
            because="Functions have no addresses of their own; roles are named instead.",
        )
        accept(domain, "OS4", because="The index can be lost: it is made anew from the tables.")
        accept(domain, "OS7", because="The index can be lost: a small stage has one node.")
        for kind in ("SEARCH", "INDEX"):
            rule = f"OS9[LogExport::{kind}_SLOW_LOGS]"
            accept(
                domain,
                rule,
                because="Slow logs hold what was searched for; no log of ours holds a text.",
            )
