"""Measures the first steps of a new process, and their CPU time. It is run by path, so that nothing
but what is measured is loaded.

python -S -P benchmarks/load/first_answers.py handler|boto3 < two events as JSON
"""

import json
import sys
import time


class Context:
    function_name = "fresh"
    memory_limit_in_mb = "512"
    invoked_function_arn = "arn:aws:lambda:us-east-1:123456789012:function:fresh"
    aws_request_id = "first"


def handler(events: list[dict[str, object]]) -> dict[str, float]:
    begun = time.process_time()
    import handler  # type: ignore[import-not-found] # the function's folder is on the path; builds what it needs

    spent = {"init": time.process_time() - begun}
    for name, event in zip(("first request", "second request"), events, strict=True):
        before = time.process_time()
        answer = handler.handler(event, Context())
        spent[name] = time.process_time() - before
        if answer.get("statusCode", 200) >= 300:
            raise RuntimeError(answer["body"])
    return spent


def boto3(_: list[dict[str, object]]) -> dict[str, float]:
    begun = time.process_time()
    import boto3 as sdk

    client = sdk.client("dynamodb")
    made = time.process_time()
    client.list_tables()
    return {"init": made - begun, "first request": time.process_time() - made}


if __name__ == "__main__":
    measured = {"handler": handler, "boto3": boto3}[sys.argv[1]](json.load(sys.stdin))
    print(json.dumps(measured))
