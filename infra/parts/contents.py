"""The bucket for what an item of a table can't hold, and the permissions that functions get on it."""

from typing import cast

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.config import Stage
from infra.parts.accepted import accept

READ, ADD, REMOVE = "s3:GetObject", "s3:PutObject", "s3:DeleteObject"
RESTORED_DAYS = 34
"""Removed contents can be brought back as long as a table can be restored; S3 removes them within a day after that."""


class Contents(Construct):
    """Large contents of conversations, and exports for as long as their links work.

    Functions can only remove an object's current version; nobody reads older ones without an operator's rights.
    """

    def __init__(self, scope: Construct, *, stage: Stage, key: kms.IKey | None) -> None:
        super().__init__(scope, "Contents")
        self._key = key
        self.bucket = s3.Bucket(
            self, "Bucket",
            encryption=s3.BucketEncryption.S3_MANAGED if key is None else s3.BucketEncryption.KMS,
            encryption_key=key,
            bucket_key_enabled=key is not None,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=stage.https_only,
            versioned=True,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="Removed", noncurrent_version_expiration=Duration.days(RESTORED_DAYS),
                    expired_object_delete_marker=True, abort_incomplete_multipart_upload_after=Duration.days(1),
                ),
                s3.LifecycleRule(
                    id="Exports", prefix="exports/", expiration=Duration.days(7),
                    noncurrent_version_expiration=Duration.days(1),
                ),
            ],
            removal_policy=RemovalPolicy.RETAIN if stage.keeps_data else RemovalPolicy.DESTROY,
        )  # fmt: skip
        accept(self, "S1", because="The functions alone reach it; CloudTrail's data events log each call if wanted.")
        if not stage.https_only:
            accept(self, "S10", because="The local AWS listens on loopback and speaks plain HTTP only.")

    def grant(self, user: iam.Role, *actions: str) -> None:
        """Allow those actions (`READ`, `ADD`, `REMOVE`) on the objects; who removes may also list them."""
        iam.Grant.add_to_principal(
            grantee=user, actions=list(actions), resource_arns=[self.bucket.arn_for_objects("*")]
        )
        bucket = Stack.of(self).get_logical_id(cast(s3.CfnBucket, self.bucket.node.default_child))
        accept(user, f"IAM5[Resource::<{bucket}.Arn>/*]", because="The tenant begins an object's key.")
        if REMOVE in actions:
            iam.Grant.add_to_principal(grantee=user, actions=["s3:ListBucket"], resource_arns=[self.bucket.bucket_arn])
        if self._key is not None:
            self._key.grant(user, "kms:Decrypt", "kms:GenerateDataKey")
