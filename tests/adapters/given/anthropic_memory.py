"""Anthropic's API on loopback: asked for the first time the model writes a file, then it says
so.
"""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

CREATE = {"command": "create", "path": "/memories/anton.md", "file_text": "Anton lives in Hamburg."}
CALLS: list[dict[str, Any]] = [{"type": "tool_use", "id": "t1", "name": "memory", "input": CREATE}]
SAYS: list[dict[str, Any]] = [{"type": "text", "text": "I have noted it down."}]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content, stop = (
            (CALLS, "tool_use") if "tool_result" not in str(request) else (SAYS, "end_turn")
        )
        head = {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "stop_sequence": None,
        }
        usage = {"input_tokens": 1, "output_tokens": 1}
        body = json.dumps(
            {**head, "content": content, "stop_reason": stop, "usage": usage}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ |= {
    "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
    "ANTHROPIC_API_KEY": "test",
}
