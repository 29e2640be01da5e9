"""Serves Python functions as MCP servers over HTTP on this machine, one server for each path.

The functions run in this process, so a driver can look at the state that they changed.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Tool:
    """A tool: its definition, and the function that gets its arguments and returns an MCP result."""

    def __init__(self, name, description, input_schema, call, output_schema=None):
        self.name = name
        self.call = call
        self.definition = {"name": name, "description": description, "inputSchema": input_schema}
        if output_schema is not None:
            self.definition["outputSchema"] = output_schema


def success(value):
    """The result of a call that returned a JSON value."""
    text = value if isinstance(value, str) else json.dumps(value)
    result = {"content": [{"type": "text", "text": text}]}
    if isinstance(value, dict):
        result["structuredContent"] = value
    return result


def text(value):
    """The result of a call that returned text."""
    return {"content": [{"type": "text", "text": value}]}


def failure(message):
    """The result of a call that failed."""
    return {"content": [{"type": "text", "text": message}], "isError": True}


class ToolServers:
    """MCP servers on one port of this machine: `/NAME` is the server NAME with its tools."""

    def __init__(self, servers):
        self._servers = {name: {tool.name: tool for tool in tools} for name, tools in servers.items()}
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.tool_servers = self
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def configuration(self):
        """The `mcpServers` of a gateway that bridges these servers."""
        port = self._http.server_address[1]
        return {name: {"url": f"http://127.0.0.1:{port}/{name}"} for name in self._servers}

    def answer(self, server, request):
        """The response to a request, or None for a notification."""
        method, identity = request.get("method"), request.get("id")
        if identity is None:
            return None
        tools = self._servers.get(server)
        if tools is None:
            return _error(identity, -32600, f"no server {server}")
        if method == "initialize":
            result = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": server, "version": "1"},
            }
        elif method == "ping":
            result = {}
        elif method == "tools/list":
            result = {"tools": [tool.definition for tool in tools.values()]}
        elif method == "tools/call":
            parameters = request["params"]
            tool = tools.get(parameters["name"])
            if tool is None:
                return _error(identity, -32602, f"no tool {parameters['name']}")
            result = tool.call(parameters.get("arguments") or {})
        else:
            return _error(identity, -32601, f"no method {method}")
        return {"jsonrpc": "2.0", "id": identity, "result": result}


def _error(identity, code, message):
    return {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}


class _Server(ThreadingHTTPServer):
    daemon_threads = True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body leave in one packet.
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        response = self.server.tool_servers.answer(self.path.strip("/"), request)
        if response is None:
            self._send(202, b"")
        else:
            self._send(200, json.dumps(response).encode())

    def do_GET(self):
        self._send(405, b"")

    def do_DELETE(self):
        self._send(200, b"")

    def _send(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass
