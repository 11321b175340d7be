"""The processes in which the local AWS runs functions."""

import subprocess

from infra import paths
from infra.local import ministack

PROGRAM = """
import io, os, time, zipfile
from infra.local import function_processes

code, read = io.BytesIO(), os.read
with zipfile.ZipFile(code, "w") as archive:
    archive.writestr("app.py", "def handler(event, context):\\n    for n in range(3): print(event, n, flush=True)")


def slowly(descriptor, count):
    time.sleep(0.3)
    return read(descriptor, 4)


os.read = slowly
arn = "arn:aws:lambda:us-east-1:000000000000:function:app"
config = {"FunctionName": "app", "FunctionArn": arn, "Handler": "app.handler", "Runtime": "python3.13"}
process = function_processes.SharingWorker("app", config, code.getvalue())
for event in ("a", "b"):
    print(process.invoke(event, event)["log"].split("\\n"))
process.kill()
"""


def test_all_lines_of_a_call_are_in_its_log_however_slowly_they_are_read() -> None:
    ran = subprocess.run(  # noqa: S603
        [ministack.install(), "-c", PROGRAM],
        cwd=paths.PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines() == ["['a 0', 'a 1', 'a 2']", "['b 0', 'b 1', 'b 2']"]
