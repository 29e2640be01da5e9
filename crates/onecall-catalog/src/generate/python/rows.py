from typing import Any


def rows(result: object) -> list[dict[str, Any]]:
    """The list in a result, wherever it is: itself, or the first of its values that is one."""
    if isinstance(result, dict):
        lists = [value for value in result.values() if isinstance(value, list)]
        result = lists[0] if lists else [result]
    if not isinstance(result, list):
        return []
    return [row for row in result if isinstance(row, dict)]
