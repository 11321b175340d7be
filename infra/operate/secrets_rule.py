"""Shows or sets how secrets in a tenant's messages are handled: the tenant's setting `secrets`.

python -m infra.operate.secrets_rule --tenant acme
python -m infra.operate.secrets_rule --tenant acme --set mask [--stack Palimpsest-prod]
"""

import argparse
from typing import Any

from botocore import xform_name
from palimpsest_tables.model import bound
from palimpsest_tables.tenants import SETTINGS, SettingsItem, tenant_place
from pynamodb.exceptions import DoesNotExist, PutError, PynamoDBException, UpdateError

from infra.operate import target
from infra.operate.api_keys import tenant_id
from infra.operate.target import Target

RULES = ("keep_in_message", "mask", "refuse")
DEFAULT = "keep_in_message"
RETENTION_DAYS, MEMORY_DAYS = 30, 365
"""How long the service keeps the data of a tenant that has stored no settings."""


class SecretsRules:
    """The setting `secrets` of each tenant, in the table of a stack."""

    def __init__(self, place: Target, table: str) -> None:
        client: Any = place.client("dynamodb")

        def call(operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
            answer: dict[str, Any] = getattr(client, xform_name(operation))(**arguments)
            return answer

        self._items = bound(SettingsItem, table, call)

    def of(self, tenant: str) -> str:
        try:
            item = self._items.get(*tenant_place(tenant, SETTINGS), consistent_read=True)
        except DoesNotExist:
            return DEFAULT
        return item.secrets or DEFAULT

    def set(self, tenant: str, rule: str) -> None:
        """Set the rule. The tenant's other settings stay. Messages that are already stored are not
        changed.
        """
        if self._changed(tenant, rule):
            return
        item = self._items(
            *tenant_place(tenant, SETTINGS),
            type="settings",
            memory={},
            retention_days=RETENTION_DAYS,
            memory_days=MEMORY_DAYS,
            days_by_type={},
            secrets=rule,
        )
        try:
            item.save(condition=SettingsItem.pk.does_not_exist())
        except PutError as error:
            if error.cause_response_code != "ConditionalCheckFailedException":
                raise
            self._changed(tenant, rule)  # the tenant stored its settings meanwhile

    def _changed(self, tenant: str, rule: str) -> bool:
        """Set the rule in the tenant's settings, if it has settings. Return whether it has."""
        item = self._items(*tenant_place(tenant, SETTINGS))
        try:
            item.update([SettingsItem.secrets.set(rule)], condition=SettingsItem.pk.exists())
        except UpdateError as error:
            if error.cause_response_code != "ConditionalCheckFailedException":
                raise
            return False
        return True


def main(arguments: list[str] | None = None) -> None:
    parsed = parser().parse_args(arguments)
    place = target.chosen(parsed)
    rules = SecretsRules(place, place.outputs()["TenantsTable"])
    try:
        if parsed.set is not None:
            rules.set(parsed.tenant, parsed.set)
        print(f"Secrets in messages of {parsed.tenant}: {rules.of(parsed.tenant)}")
    except PynamoDBException as error:
        raise SystemExit(f"The table of tenants refused: {error}") from error


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m infra.operate.secrets_rule", description=(__doc__ or "").splitlines()[0]
    )
    made.add_argument("--tenant", required=True, type=tenant_id)
    made.add_argument("--set", choices=RULES, help="the new setting (default: show it)")
    target.add_argument(made)
    return made


if __name__ == "__main__":
    main()
