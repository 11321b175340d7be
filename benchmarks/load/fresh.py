"""What a fresh process does first, and the CPU it takes. Run by path, so that nothing but what is measured is loaded.

python -S -P benchmarks/fresh.py sessions|boto3  < two events as JSON
"""

import json
import sys
import time


class Context:
    function_name = "sessions"
    memory_limit_in_mb = "512"
    invoked_function_arn = "arn:aws:lambda:us-east-1:123456789012:function:sessions"
    aws_request_id = "first"


def sessions(events: list[dict[str, object]]) -> dict[str, float]:
    begun = time.process_time()
    import handler  # type: ignore[import-not-found] # functions/sessions is on the path

    imported = time.process_time()
    handler.app.warm()
    warm = time.process_time()
    spent = {"import": imported - begun, "init": warm - imported}
    for name, event in zip(("first request", "second request"), events, strict=True):
        before = time.process_time()
        answer = handler.handler(event, Context())
        spent[name] = time.process_time() - before
        if answer["statusCode"] >= 300:
            raise RuntimeError(answer["body"])
    return spent


def boto3(_: list[dict[str, object]]) -> dict[str, float]:
    begun = time.process_time()
    import boto3 as sdk

    imported = time.process_time()
    client = sdk.client("dynamodb")
    made = time.process_time()
    client.list_tables()
    return {"import": imported - begun, "init": made - imported, "first request": time.process_time() - made}


if __name__ == "__main__":
    measured = {"sessions": sessions, "boto3": boto3}[sys.argv[1]](json.load(sys.stdin))
    print(json.dumps(measured))
