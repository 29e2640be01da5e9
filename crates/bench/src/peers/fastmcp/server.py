"""FastMCP's code mode in front of another server, as its documentation has it, but for
two limits that the work measured here would run into.

Arguments: the command of that other server.
"""

import sys

from fastmcp.experimental.transforms.code_mode import CodeMode, MontySandboxProvider
from fastmcp.server import create_proxy

code_mode = CodeMode(
    sandbox_provider=MontySandboxProvider(limits=None),  # 30 s and 100 MB by default
    max_tool_calls=None,  # 50 by default
)
downstream = {"fixture": {"command": sys.argv[1], "args": sys.argv[2:]}}
server = create_proxy({"mcpServers": downstream}, name="fastmcp", transforms=[code_mode])
server.run(show_banner=False, log_level="ERROR")
