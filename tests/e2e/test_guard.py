"""Who reaches the local AWS: nobody but who is signed with the key of its start, whatever page or
name they come by.
"""

import http.client
import json
import socket
import stat
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from infra.local import access_key
from tests.e2e import foreign_page
from tests.e2e.stack import PATIENCE, Client, Stack, environment_of
from tests.engines import chromium, npm

pytestmark = pytest.mark.e2e
SECRET = "sk-only-for-the-workers"
FUNCTIONS = "/2015-03-31/functions"
EVIL = "http://evil.example"


@pytest.fixture
def parameter(stack: Stack) -> Iterator[str]:
    """A secret beside the OpenAI key, stored as that is."""
    name, ssm = f"/palimpsest/local/guarded-{uuid.uuid4().hex[:8]}", stack.place.client("ssm")
    ssm.put_parameter(Name=name, Value=SECRET, Type="SecureString")
    yield name
    ssm.delete_parameter(Name=name)


def role_of(stack: Stack) -> str:
    functions = stack.place.client("lambda").list_functions()["Functions"]
    role: str = functions[0]["Role"]
    return role


def asked(
    stack: Stack, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
) -> tuple[int, dict[str, str], str]:
    """The answer to a raw request, sent to the stack's port whatever its headers say; no Host
    unless they name one.
    """
    connection = http.client.HTTPConnection("127.0.0.1", stack.port, timeout=PATIENCE)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return (
            answer.status,
            {name.lower(): value for name, value in answer.getheaders()},
            answer.read().decode(),
        )
    finally:
        connection.close()


def test_a_page_of_another_origin_runs_nothing_reads_nothing_and_resets_nothing(
    stack: Stack, call: Client, parameter: str, tmp_path: Path
) -> None:
    if reason := chromium.install():
        pytest.fail(reason) if npm.required() else pytest.skip(reason)
    call.append("s", "Still here.")
    marker = tmp_path / "ran"
    found = foreign_page.attack(
        stack.place.endpoint or "", role=role_of(stack), parameter=parameter, marker=marker
    )
    assert not marker.exists(), found
    names = {
        function["FunctionName"]
        for function in stack.place.client("lambda").list_functions()["Functions"]
    }
    assert not any(name.startswith(foreign_page.FUNCTION) for name in names)
    assert set(found) == {
        "create", "invoke", "read", "create blindly", "invoke blindly", "reset", "reset blindly",
    }  # fmt: skip
    assert SECRET not in json.dumps(found)
    for name in ("create", "invoke", "read", "reset"):
        assert found[name] == "TypeError: Failed to fetch", (name, found[name])
    assert [row["content"] for row in call.history("s")] == ["Still here."]


FOREIGN = [
    {"Host": "evil.example:{port}"},  # a name that was rebound to this machine
    {"Host": "evil.example"},
    {"Host": "127.0.0.1.evil.example:{port}"},
    {"Host": "localhost.evil.example:{port}"},
    {"Host": "127.0.0.1:1"},  # the right name, a wrong port
    {"Host": "127.0.0.1"},
    {"Host": ""},
    {"Host": "127.0.0.1:{port}", "Origin": EVIL},
    {"Host": "127.0.0.1:{port}", "Origin": "null"},
    {"Host": "127.0.0.1:{port}", "Origin": "http://127.0.0.1:1"},
    {"Host": "127.0.0.1:{port}", "Origin": "http://localhost:{port}"},
    {"Host": "127.0.0.1:{port}", "Sec-Fetch-Site": "cross-site"},
    {"Host": "127.0.0.1:{port}", "Sec-Fetch-Site": "same-site"},
    {"Host": "{api}.execute-api.evil.example:{port}"},
    {"Host": "{api}.execute-api.localhost:1"},
    {"Host": "{api}.execute-api.localhost:{port}", "Origin": EVIL},
    {"Host": "assets.localhost:{port}", "Origin": EVIL},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=lambda headers: " ".join(headers.values()))
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_another_host_or_origin_is_refused_on_every_route(
    stack: Stack, method: str, headers: Mapping[str, str]
) -> None:
    api = stack.outputs["ApiId"]
    filled = {name: value.format(port=stack.port, api=api) for name, value in headers.items()}
    key = {"Authorization": f"Bearer {stack.key}"}
    for path in ("/", "/_ministack/health", "/_ministack/reset", FUNCTIONS, "/v1/sessions",
                 f"/_aws/execute-api/{api}/$default/v1/sessions", "/bucket/object"):  # fmt: skip
        status, answered, text = asked(stack, method, path, key | filled)
        assert status == 403, (path, text)
        assert not [name for name in answered if name.startswith("access-control-")], path
    assert Client(stack.url, stack.key)("GET", "/v1/sessions").status == 200  # nothing was reset


def test_a_request_without_or_with_two_host_headers_is_refused(stack: Stack) -> None:
    for hosts in ("", f"Host: 127.0.0.1:{stack.port}\r\nHost: evil.example\r\n"):
        for version in ("1.0", "1.1"):
            with socket.create_connection(
                ("127.0.0.1", stack.port), timeout=PATIENCE
            ) as connection:
                connection.sendall(
                    f"GET /_ministack/health HTTP/{version}\r\n{hosts}Connection: close\r\n\r\n".encode()
                )
                line = connection.makefile("rb").readline().decode()
            assert line.split()[1] in ("400", "403"), (version, hosts, line)


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "evil.example:{port}"])
def test_a_web_socket_is_refused(stack: Stack, host: str) -> None:
    headers = {
        "Host": host.format(port=stack.port),
        "Origin": EVIL,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    status, _, _ = asked(
        stack, "GET", f"/_aws/execute-api/{stack.outputs['ApiId']}/$default", headers
    )
    assert status == 403


@pytest.mark.parametrize(
    "path",
    [
        "reset",
        "config",
        "ready",
        "sqs/messages",
        "lambda-code/x",
        "cfn-response/x",
        "ses/messages",
        "health/x",
    ],
)
def test_the_local_aws_s_own_routes_are_closed_but_for_health(stack: Stack, path: str) -> None:
    for host in (
        f"127.0.0.1:{stack.port}",
        f"{stack.outputs['ApiId']}.execute-api.localhost:{stack.port}",
    ):
        for method in ("GET", "POST", "PUT"):
            assert asked(stack, method, f"/_ministack/{path}", {"Host": host})[0] == 403
    assert asked(stack, "GET", "/_ministack/health", {"Host": f"127.0.0.1:{stack.port}"})[0] == 200
    assert Client(stack.url, stack.key)("GET", "/v1/sessions").status == 200


def session(key: str, secret: str) -> boto3.Session:
    return boto3.Session(
        aws_access_key_id=key, aws_secret_access_key=secret, region_name="us-east-1"
    )


def test_a_key_of_no_start_and_a_wrong_signature_are_refused(stack: Stack, parameter: str) -> None:
    own = access_key.read(stack.folder).id
    for key, secret in (
        ("test", "test"),
        ("000000000000", "test"),
        ("AKIAIOSFODNN7EXAMPLE", "x"),
        (own, "test"),
    ):
        ssm = session(key, secret).client("ssm", endpoint_url=stack.place.endpoint)
        with pytest.raises(ClientError, match="was not issued by this start"):
            ssm.get_parameter(Name=parameter, WithDecryption=True)
    answer = stack.place.client("ssm").get_parameter(Name=parameter, WithDecryption=True)
    assert answer["Parameter"]["Value"] == SECRET


def test_nothing_unsigned_reaches_an_aws_api(stack: Stack) -> None:
    here = {"Host": f"127.0.0.1:{stack.port}"}
    refused: list[dict[str, str]] = [
        {},
        {"X-Amz-Target": "AmazonSSM.GetParameter"},
        {"Authorization": f"Bearer {stack.key}"},
        {"Authorization": "AWS test:x"},
        {"Authorization": "AWS4-ECDSA-P256-SHA256 Credential=test/"},
    ]
    for headers in refused:
        for method, path in (
            ("POST", "/"),
            ("GET", FUNCTIONS),
            ("GET", "/latest/meta-data/"),
            ("PUT", "/bucket"),
        ):
            assert asked(stack, method, path, here | headers)[0] == 403


def test_a_pre_signed_address_works_until_it_is_changed(stack: Stack) -> None:
    name = f"guarded-{uuid.uuid4().hex[:8]}"
    signing = Config(signature_version="s3v4")
    s3 = stack.place.session.client("s3", endpoint_url=stack.place.endpoint, config=signing)
    s3.create_bucket(Bucket=name)
    s3.put_object(Bucket=name, Key="a b/ü.txt", Body=b"stored")
    url = s3.generate_presigned_url(
        "get_object", Params={"Bucket": name, "Key": "a b/ü.txt"}, ExpiresIn=600
    )
    path, here = (
        url.removeprefix(f"http://127.0.0.1:{stack.port}"),
        {"Host": f"127.0.0.1:{stack.port}"},
    )
    assert asked(stack, "GET", path, here)[::2] == (200, "stored")
    assert asked(stack, "GET", path.replace("Expires=600", "Expires=6000"), here)[0] == 403
    assert asked(stack, "DELETE", path, here)[0] == 403


def test_the_service_is_reached_by_its_own_names_without_a_signature(stack: Stack) -> None:
    api, key = stack.outputs["ApiId"], {"Authorization": f"Bearer {stack.key}"}
    own = f"http://127.0.0.1:{stack.port}"
    page = {"Origin": own, "Sec-Fetch-Site": "same-origin"}  # the page /v1/docs asks like this
    by_path = f"/_aws/execute-api/{api}/$default/v1/sessions"
    assert (
        asked(stack, "GET", by_path, {"Host": own.removeprefix("http://"), **key, **page})[0] == 200
    )
    assert asked(stack, "GET", by_path, {"Host": f"localhost:{stack.port}", **key})[0] == 200
    named = {"Host": f"{api}.execute-api.localhost:{stack.port}", **key}
    assert asked(stack, "GET", "/v1/sessions", named)[0] == 200
    assert asked(stack, "GET", "/v1/sessions", {"Host": named["Host"]})[0] == 401


def test_the_access_key_is_for_its_owner_and_no_function_has_it(stack: Stack) -> None:
    file = stack.folder / "access_key.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    pid = json.loads((stack.folder / "process.json").read_text())["pid"]
    key = json.loads(file.read_text())
    family = [
        process
        for process in Path("/proc").glob("[0-9]*")
        if pid in (int(process.name), parent_of(process))
    ]
    assert len(family) > 1
    for process in family:
        assert key["secret"] not in str(environment_of(process))


def parent_of(process: Path) -> int | None:
    """The id of the process that started it; None if it has ended."""
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None
