"""The bucket for contents that an item of a table can't hold, and the permissions of functions on
it.
"""

from typing import cast

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.config import Stage
from infra.parts.accepted import accept
from infra.parts.emptying import log_in_the_stack
from infra.parts.retention import removal_policy

READ, ADD, REMOVE, LIST = "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"
RESTORED_DAYS = 34
"""The days for which removed contents can be restored, which is as long as a table can be restored.
S3 removes them within a day after that.
"""
EXPORTS = "exports/"
"""The prefix of exports. A removal also removes the exports that hold the removed data, even if no
job removes them.
"""
REVIEWS = "reviews/"
"""The prefix of open reviews, which a request closes."""
CALLS = "calls/"
"""The prefix of kept model calls. A removal of data of a user also removes the kept calls of that
user.
"""
PASSING, PASSING_DAYS = "passing/", 30
"""The prefix of contents that wait to be extracted, and their days. They are removed after
extraction. If extraction fails, they are kept as long as the failed job.
"""


class Contents(Construct):
    """The bucket for large contents of conversations, for exports as long as their links work, and
    for contents that wait to be extracted.

    Functions can only remove an object's current version. Older versions can be read only with an
    operator's rights.
    """

    def __init__(self, scope: Construct, *, stage: Stage, key: kms.IKey | None) -> None:
        super().__init__(scope, "Contents")
        self._key = key
        managed, own = s3.BucketEncryption.S3_MANAGED, s3.BucketEncryption.KMS
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            encryption=managed if key is None else own,
            encryption_key=key,
            bucket_key_enabled=key is not None,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=stage.https_only,
            # A table can be restored to any second, and then needs the contents of that time
            # (docs/adr/0027).
            versioned=True,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="Removed",
                    noncurrent_version_expiration=Duration.days(RESTORED_DAYS),
                    expired_object_delete_marker=True,
                    # Parts of an unfinished upload are billed, and no list shows them.
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                ),
                *(
                    s3.LifecycleRule(
                        id=prefix.capitalize(),
                        prefix=f"{prefix}/",
                        expiration=Duration.days(7),
                        noncurrent_version_expiration=Duration.days(1),
                    )
                    for prefix in ("calls", "exports", "imports")
                ),
                s3.LifecycleRule(
                    id="Passing",
                    prefix=PASSING,
                    expiration=Duration.days(PASSING_DAYS),
                    noncurrent_version_expiration=Duration.days(1),
                ),
            ],
            removal_policy=removal_policy(stage),
            # CloudFormation deletes no bucket that has objects.
            auto_delete_objects=stage.is_on_aws and not stage.keeps_data,
        )
        if stage.is_on_aws and not stage.keeps_data:
            log_in_the_stack(self, stage=stage, key=key)
        accept(
            self,
            "S1",
            because="The functions alone reach it; CloudTrail's data events log each call if "
            "wanted.",
        )
        if not stage.https_only:
            accept(
                self, "S10", because="The local AWS listens on loopback and speaks plain HTTP only."
            )

    @property
    def _name(self) -> str:
        """Return the bucket's name in the template."""
        return Stack.of(self).get_logical_id(cast(s3.CfnBucket, self.bucket.node.default_child))

    def grant(self, user: iam.Role, *actions: str, under: str = "") -> None:
        """Allow those actions (`READ`, `ADD`, `REMOVE`, `LIST`) on the bucket's objects `under` a
        prefix.
        """
        on_objects = [action for action in actions if action != LIST]
        objects = [self.bucket.arn_for_objects(f"{under}*")]
        iam.Grant.add_to_principal(grantee=user, actions=on_objects, resource_arns=objects)
        accept(
            user,
            f"IAM5[Resource::<{self._name}.Arn>/{under}*]",
            because="Objects come and go; the bucket is the stack's.",
        )
        if LIST in actions:
            iam.Grant.add_to_principal(
                grantee=user, actions=[LIST], resource_arns=[self.bucket.bucket_arn]
            )
        if self._key is not None:
            self._key.grant(user, "kms:Decrypt", "kms:GenerateDataKey")
