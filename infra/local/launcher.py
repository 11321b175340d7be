"""Runs MiniStack with the guard in front, in MiniStack's own virtual environment.

python -m infra.local.launcher KEY_FILE FOLDER
"""

import hashlib
import hmac
import json
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ministack.app
from ministack.core import lambda_runtime
from ministack.core.iam_evaluator import ResolvedCredential, resolve_credential
from ministack.core.responses import _account_from_sts_session
from ministack.core.router import extract_access_key_id
from ministack.core.sigv4 import (
    HeaderSignature,
    header_signature_failure,
    parse_header_signature,
    parse_query_signature,
    presigned_request_is_expired,
    request_time_failure,
)  # fmt: skip
from ministack.services import apigateway, lambda_svc, sts

from infra.local import decoding, function_processes, snapshots, throttling, vector_search
from infra.local.guard import Guard, Request

ALGORITHM = "AWS4-HMAC-SHA256"
ACCOUNT = "000000000000"


def claims_key(request: Request) -> bool:
    """Return whether the local AWS could take anything in the request for a credential or a
    signature.
    """
    names = {name.lower() for name in request.query}
    return (
        request.headers.get("authorization", "").startswith("AWS")
        or "awsaccesskeyid" in names
        or any(name.startswith("x-amz-") for name in names)
    )


def is_signed(request: Request) -> bool:
    """Return whether the request is signed, and in time, with the key of this start or with an
    issued key of a role.

    The local AWS itself checks no signature of its root keys, and accepts any 12 digits as a key.
    """
    in_query = "authorization" not in request.headers
    if not _is_signature_4(request, in_query=in_query):
        return False
    signature = (
        parse_query_signature(request.query)
        if in_query
        else parse_header_signature(request.headers)
    )
    if not isinstance(signature, HeaderSignature) or _is_late(
        request, signature, in_query=in_query
    ):
        return False
    if extract_access_key_id(request.headers, request.query) != signature.access_key_id:
        return False
    headers, query = request.headers, request.query
    token = (
        _first(query, "X-Amz-Security-Token")
        if in_query
        else headers.get("x-amz-security-token", "")
    )
    secret = _secret(signature.access_key_id, token)
    return secret is not None and not header_signature_failure(
        signature,
        secret,
        request.method,
        request.path,
        query,
        headers,
        request.body,
        presigned=in_query,
    )


def role_credentials(config: Mapping[str, Any]) -> dict[str, str]:
    """Return credentials of a function's role. They replace MiniStack's, which anybody can compute
    from two ARNs.
    """
    arn, role_arn = config["FunctionArn"], config.get("Role", "")
    id_, secret, token = (
        hmac.new(_SALT, f"{purpose}:{arn}:{role_arn}".encode(), hashlib.sha256).hexdigest()
        for purpose in ("id", "secret", "token")
    )
    role, session = role_arn.rpartition("/")[2], config.get("FunctionName", "function")[:64]
    access_key = f"ASIA{id_[:16].upper()}"
    sts.register_session(
        access_key,
        {
            "Arn": f"arn:aws:sts::{arn.split(':')[4]}:assumed-role/{role}/{session}",
            "UserId": f"{role}:{session}",
            "SecretAccessKey": secret,
            "SessionToken": token,
        },
    )
    return {
        "AWS_ACCESS_KEY_ID": access_key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_SESSION_TOKEN": token,
    }


_SALT = secrets.token_bytes(32)


def _is_signature_4(request: Request, *, in_query: bool) -> bool:
    if in_query:
        return _first(request.query, "X-Amz-Algorithm") == ALGORITHM
    return request.headers["authorization"].startswith(f"{ALGORITHM} ")


def _is_late(request: Request, signature: HeaderSignature, *, in_query: bool) -> bool:
    if not in_query:
        return request_time_failure(signature) is not None
    try:
        late: bool = presigned_request_is_expired(
            signature.amz_date, _first(request.query, "X-Amz-Expires")
        )
    except ValueError:
        return True
    return late


def _secret(access_key: str, token: str) -> str | None:
    """Return the secret of the key of this start, or of a role's session. Return None for every
    other key.
    """
    if access_key == os.environ["AWS_ACCESS_KEY_ID"]:
        return None if token else os.environ["AWS_SECRET_ACCESS_KEY"]
    if access_key not in sts._sessions:  # noqa: SLF001 - MiniStack has no public way to ask
        return None
    credential = resolve_credential(
        access_key, _account_from_sts_session(access_key) or ACCOUNT, token
    )
    return credential.secret_access_key if isinstance(credential, ResolvedCredential) else None


def _first(query: Mapping[str, list[str]], name: str) -> str:
    return query.get(name, [""])[0]


def main() -> None:
    key_file, folder = sys.argv[1:]
    del sys.argv[1:]  # MiniStack reads the rest
    os.chdir(folder)
    key = json.loads(Path(key_file).read_text())
    # Not in the environment that the process was given. Functions have their roles' credentials
    # under these names.
    os.environ |= {"AWS_ACCESS_KEY_ID": key["id"], "AWS_SECRET_ACCESS_KEY": key["secret"]}
    lambda_runtime.execution_credentials = lambda_svc.execution_credentials = role_credentials
    snapshots.install()
    function_processes.install()
    vector_search.install()
    decoding.install(apigateway)
    port = int(os.environ["GATEWAY_PORT"])
    app = throttling.installed(ministack.app.app, Path(folder))
    saving = snapshots.Saving(app)
    ministack.app.app = Guard(saving, port=port, claims_key=claims_key, is_signed=is_signed)
    ministack.app.main()


if __name__ == "__main__":
    main()
