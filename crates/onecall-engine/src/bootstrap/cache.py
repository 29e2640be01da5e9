"""The object `cache` of a program: what it can do about answers that are kept."""

from _onecall_tools import ToolError, ask


class Count(int):
    """A number that may also be awaited, for programs that await every call."""

    def __await__(self):
        return int(self)
        yield


class Stats(dict):
    """A dict that may also be awaited, for programs that await every call."""

    def __await__(self):
        return dict(self)
        yield


class Cache:
    """Answers of tools that are kept and used again, if the configuration says so."""

    def fresh(self, tool, /, *args, **kwargs):
        """Calls a tool that is to answer anew: `await cache.fresh(mcp__sales__orders, region="EU")`.
        Its answer takes the place of the one that is kept."""
        fresh_tool = getattr(tool, "_onecall_fresh", None)
        if fresh_tool is None:
            raise TypeError(
                "cache.fresh() takes a tool and then its arguments: "
                "await cache.fresh(mcp__server__tool, name=value)"
            )
        return fresh_tool()(*args, **kwargs)

    def clear(self, pattern="*"):
        """Forgets the answers of the tools whose names fit; returns how many those were."""
        if not isinstance(pattern, str):
            raise ToolError("'cache.clear' failed: it takes a pattern, such as 'mcp__sales__*'")
        return Count(ask("cache_clear", pattern=pattern))

    def stats(self):
        """What is kept, and how often that was of use."""
        return Stats(ask("cache_stats"))

    def __repr__(self):
        return "<cache: fresh(tool, ...), clear(pattern), stats()>"


cache = Cache()
