"""The configurations of MCP clients, ready to be pasted into their files."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from palimpsest_client.calls import checked_id
from palimpsest_client.connection import Endpoint

JSON = dict[str, Any]


class ClientName(StrEnum):
    """An MCP client that has a configuration here."""

    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CLINE = "cline"
    CODEX = "codex"
    CURSOR = "cursor"
    GEMINI_CLI = "gemini-cli"
    LM_STUDIO = "lm-studio"
    VS_CODE = "vs-code"
    WINDSURF = "windsurf"
    ZED = "zed"


@dataclass(frozen=True, slots=True)
class Server:
    """The memory of a user, as a server."""

    where: Endpoint
    user: str

    def address(self, field: str, **more: str) -> JSON:
        """Return the entry of a client that sends headers. `field` is its name for the address."""
        url = f"{self.where.url}/v1/users/{quote(checked_id(self.user), safe='')}/mcp"
        return {**more, field: url, "headers": {"Authorization": f"Bearer {self.where.api_key}"}}

    def program(self) -> JSON:
        """Return the entry of a client that starts a program. Desktop programs do not have the
        shell's search path, so the program is named in full.
        """
        path = shutil.which("palimpsest")
        begun = [path] if path else [sys.executable, "-m", "palimpsest_client.cli"]
        environment = {"PALIMPSEST_URL": self.where.url, "PALIMPSEST_API_KEY": self.where.api_key}
        arguments = [*begun[1:], "mcp", "--user", checked_id(self.user)]
        return {"command": begun[0], "args": arguments, "env": environment}


def file_of(client: ClientName) -> str:
    """Return the place of the client's configuration, in words."""
    return _CLIENTS[client][0]


def configuration(client: ClientName, server: Server) -> str:
    """Return the contents of the client's file."""
    _, write = _CLIENTS[client]
    return write(server)


def _json(key: str, entry: Callable[[Server], JSON]) -> Callable[[Server], str]:
    return lambda server: json.dumps({key: {"palimpsest": entry(server)}}, indent=2)


def _toml(server: Server) -> str:
    entry = server.program()
    lines = [f"{name} = {json.dumps(entry[name])}" for name in ("command", "args")]
    environment = [f"{name} = {json.dumps(value)}" for name, value in entry["env"].items()]
    return "\n".join(
        ["[mcp_servers.palimpsest]", *lines, "", "[mcp_servers.palimpsest.env]", *environment]
    )


_CLIENTS: dict[ClientName, tuple[str, Callable[[Server], str]]] = {
    ClientName.CLAUDE_CODE: (
        ".mcp.json in the project's folder",
        _json("mcpServers", lambda server: server.address("url", type="http")),
    ),
    ClientName.CLAUDE_DESKTOP: (
        "claude_desktop_config.json (Settings, Developer, Edit Config)",
        _json("mcpServers", Server.program),
    ),
    ClientName.CLINE: (
        "cline_mcp_settings.json (MCP Servers, Configure)",
        _json("mcpServers", lambda server: server.address("url", type="streamableHttp")),
    ),
    ClientName.CODEX: ("~/.codex/config.toml", _toml),
    ClientName.CURSOR: (
        "~/.cursor/mcp.json, or .cursor/mcp.json in the project's folder",
        _json("mcpServers", lambda server: server.address("url")),
    ),
    ClientName.GEMINI_CLI: (
        "~/.gemini/settings.json",
        _json("mcpServers", lambda server: server.address("httpUrl")),
    ),
    ClientName.LM_STUDIO: (
        "mcp.json (Program, Install, Edit mcp.json)",
        _json("mcpServers", lambda server: server.address("url")),
    ),
    ClientName.VS_CODE: (
        ".vscode/mcp.json in the project's folder",
        _json("servers", lambda server: server.address("url", type="http")),
    ),
    ClientName.WINDSURF: (
        "~/.codeium/windsurf/mcp_config.json",
        _json("mcpServers", lambda server: server.address("serverUrl")),
    ),
    ClientName.ZED: (
        "settings.json (zed: open settings file)",
        _json("context_servers", lambda server: server.address("url")),
    ),
}
