"""Creates, lists and revokes the API keys of tenants. A key is shown once, and only its hash is
stored.

    python -m infra.operate.api_keys create --tenant acme --scopes read,write --expires-days 90
    python -m infra.operate.api_keys list --tenant acme
    python -m infra.operate.api_keys revoke KEY_ID
"""

import argparse
import base64
import hashlib
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from botocore import xform_name
from palimpsest_tables.model import bound
from palimpsest_tables.tenants import ApiKeyItem, key_place, whole
from pynamodb.exceptions import DoesNotExist, PynamoDBException, UpdateError

from infra.operate import target
from infra.operate.target import Target

SCOPES = ("read", "write", "admin")
TENANT = re.compile(r"[A-Za-z0-9._:@+|=-]{1,128}")
OPERATOR = "palimpsest.operator"  # the tenant of the operator's own jobs: no key is made for it
DAY = 24 * 3600


@dataclass(frozen=True, slots=True)
class Key:
    """A stored key. `id` is its SHA-256. `expires_at` is in seconds since 1970."""

    id: str
    tenant: str
    scopes: tuple[str, ...]
    label: str
    created_at: str
    expires_at: int | None
    revoked: bool

    @property
    def works(self) -> bool:
        return not self.revoked and (self.expires_at is None or self.expires_at > time.time())


class ApiKeys:
    """The API keys in the table of a stack."""

    def __init__(self, place: Target, table: str) -> None:
        client: Any = place.client("dynamodb")

        def call(operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
            answer: dict[str, Any] = getattr(client, xform_name(operation))(**arguments)
            return answer

        self._items = bound(ApiKeyItem, table, call)

    def create(
        self,
        tenant: str,
        *,
        scopes: tuple[str, ...],
        label: str = "",
        expires_days: float | None = None,
        secret: str | None = None,
    ) -> str:
        """Store a new key and return it. It can't be read again. With `secret`, store that key,
        which the table has lost.
        """
        secret = secret or "pal_" + base64.urlsafe_b64encode(
            secrets.token_bytes(32)
        ).decode().rstrip("=")
        item = self._items(
            *key_place(key_id(secret)),
            type="api_key",
            tenant=tenant,
            scopes=list(scopes),
            label=label,
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            expires_at=None if expires_days is None else int(time.time() + expires_days * DAY),
        )
        item.save(condition=ApiKeyItem.pk.does_not_exist())
        return secret

    def works(self, secret: str) -> bool:
        """Return whether the service accepts the key now."""
        item = self._item(secret)
        return item is not None and _key(item).works

    def knows(self, secret: str) -> bool:
        """Return whether the table has the key, even if it is revoked."""
        return self._item(secret) is not None

    def _item(self, secret: str) -> ApiKeyItem | None:
        try:
            return self._items.get(*key_place(key_id(secret)), consistent_read=True)
        except DoesNotExist:
            return None

    def list(self, tenant: str | None = None) -> Iterator[Key]:
        """Yield all keys, or those of a tenant. This scans the table, which is small. Nothing else
        scans it.
        """
        keys = map(_key, self._items.scan(ApiKeyItem.pk.startswith("key#")))
        return (key for key in keys if tenant is None or key.tenant == tenant)

    def meant_by(self, text: str) -> tuple[Key, ...]:
        """Return the keys that are not revoked and whose id begins with the text or whose label is
        the text.
        """
        usable = (key for key in self.list() if not key.revoked)
        return tuple(
            key for key in usable if text and (key.id.startswith(text) or key.label == text)
        )

    def revoke(self, identity: str) -> bool:
        """Revoke the key, and return whether it exists. The authorizer caches its answers for a
        minute.
        """
        item = self._items(*key_place(identity))
        try:
            item.update([ApiKeyItem.revoked.set(True)], condition=ApiKeyItem.pk.exists())
        except UpdateError as error:
            if error.cause_response_code != "ConditionalCheckFailedException":
                raise
            return False
        return True

    def remove(self, identity: str) -> None:
        """Delete the key, whether or not it exists. Revoked keys stay in the list, deleted keys do
        not.
        """
        self._items(*key_place(identity)).delete()


def key_id(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _key(item: ApiKeyItem) -> Key:
    return Key(
        id=item.id,
        tenant=item.tenant,
        scopes=tuple(map(str, item.scopes)),
        label=item.label,
        created_at=item.created_at,
        expires_at=whole(item.expires_at),
        revoked=item.revoked,
    )


def main(arguments: list[str] | None = None) -> None:
    parsed = parser().parse_args(arguments)
    place = target.chosen(parsed)
    keys = ApiKeys(place, place.outputs()["TenantsTable"])
    try:
        parsed.run(keys, parsed)
    except PynamoDBException as error:
        raise SystemExit(f"The table of API keys could not be read or written: {error}") from error


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m infra.operate.api_keys", description="API keys of tenants"
    )
    commands = made.add_subparsers(required=True)
    create = commands.add_parser("create", help="make a key; it is shown once")
    create.add_argument("--tenant", required=True, type=tenant_id)
    create.add_argument(
        "--scopes", type=_scopes, default=("read", "write"), help="read,write,admin or some of them"
    )
    create.add_argument("--expires-days", type=float)
    create.add_argument("--label", default="")
    create.set_defaults(run=_create)
    listing = commands.add_parser("list", help="list keys by their ids, without their secrets")
    listing.add_argument("--tenant", type=tenant_id)
    listing.set_defaults(run=_list)
    revoke = commands.add_parser("revoke", help="refuse a key from now on")
    revoke.add_argument(
        "key",
        help="the id, the beginning of it, or the label; it must mean one key that is not revoked",
    )
    revoke.set_defaults(run=_revoke)
    for command in (create, listing, revoke):
        target.add_argument(command)
    return made


def tenant_id(text: str) -> str:
    """Return the id of a tenant that was given as an argument of a command."""
    if text == OPERATOR:
        raise argparse.ArgumentTypeError(
            f"{text!r} is the name that the service uses for its operator"
        )
    if not TENANT.fullmatch(text) or not text.strip("."):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a tenant id: up to 128 characters of A-Z a-z 0-9 . _ : @ + | = -"
        )
    return text


def _scopes(text: str) -> tuple[str, ...]:
    scopes = tuple(dict.fromkeys(filter(None, text.split(","))))
    if not scopes or set(scopes) - set(SCOPES):
        raise argparse.ArgumentTypeError(f"scopes must be among {', '.join(SCOPES)}")
    return scopes


def _create(keys: ApiKeys, parsed: argparse.Namespace) -> None:
    secret = keys.create(
        parsed.tenant, scopes=parsed.scopes, label=parsed.label, expires_days=parsed.expires_days
    )
    print(f"{secret}\n\nStore it now: it is not shown again. Its id is {key_id(secret)}.")


def _list(keys: ApiKeys, parsed: argparse.Namespace) -> None:
    for key in sorted(keys.list(parsed.tenant), key=lambda key: (key.tenant, key.created_at)):
        until = "never expires"
        if key.expires_at is not None:
            until = f"expires {datetime.fromtimestamp(key.expires_at, UTC):%Y-%m-%d}"
        state = "revoked" if key.revoked else until
        print(
            f"{key.id}  {key.tenant}  {' '.join(key.scopes)}  {key.created_at}  {state}  "
            f"{key.label}"
        )


def _revoke(keys: ApiKeys, parsed: argparse.Namespace) -> None:
    meant = keys.meant_by(parsed.key)
    if not meant:
        raise SystemExit(f"There is no unrevoked key with this id or label: {parsed.key!r}.")
    if len(meant) > 1:
        several = "\n".join(f"{key.id}  {key.tenant}  {key.label}" for key in meant)
        raise SystemExit(f"{parsed.key!r} means {len(meant)} keys; nothing was revoked:\n{several}")
    keys.revoke(meant[0].id)
    print(f"Revoked: {meant[0].id} of {meant[0].tenant} is refused within a minute.")


if __name__ == "__main__":
    main()
