"""A published MCP server, FastMCP, that accepts the tokens of the authorization server in the first
argument, for the address in the second. Its tool says whose token a call came with."""

import sys
import urllib.parse

from fastmcp import FastMCP
from fastmcp.server.auth import RemoteAuthProvider
from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp.server.dependencies import get_access_token

issuer, url = sys.argv[1:]
address = urllib.parse.urlsplit(url)
verifier = JWTVerifier(
    jwks_uri=f"{issuer}/jwks", issuer=issuer, audience=url, required_scopes=["tools"]
)
server = FastMCP(
    "guarded",
    auth=RemoteAuthProvider(verifier, [issuer], f"{address.scheme}://{address.netloc}"),
)


@server.tool(annotations={"readOnlyHint": True})
def whoami() -> str:
    return get_access_token().claims["sub"]


server.run(
    "http", host=address.hostname, port=address.port, path=address.path, show_banner=False
)
