"""Signatures as JSON Schema."""

import enum
import typing
import unittest
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Union

import support  # noqa: F401  (finds the package)
from onecall_client import Tool
from onecall_client.schema import input_schema, output_schema, type_schema


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: float = 0.0


class Options(typing.TypedDict):
    deep: bool


class Schemas(unittest.TestCase):
    def test_types(self):
        cases = [
            (str, {"type": "string"}),
            (bool, {"type": "boolean"}),
            (List[int], {"type": "array", "items": {"type": "integer"}}),
            (Dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
            (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
            (typing.Literal["a", 1], {"enum": ["a", 1]}),
            (Colour, {"enum": ["red"]}),
            (typing.Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
            (Any, {}),
            (object, {}),
            (
                Point,
                {
                    "type": "object",
                    "properties": {"x": {"type": "integer"}, "y": {"type": "number"}},
                    "required": ["x"],
                },
            ),
            (
                Options,
                {
                    "type": "object",
                    "properties": {"deep": {"type": "boolean"}},
                    "required": ["deep"],
                },
            ),
        ]
        for annotation, expected in cases:
            with self.subTest(annotation):
                self.assertEqual(type_schema(annotation), expected)

    def test_a_function(self):
        def find(query: str, limit: int = 10, *, exact=False):
            """Finds things.

            Quickly.
            """

        expected = {
            "name": "find",
            "description": "Finds things.\n\nQuickly.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                    "limit": {"type": "integer", "default": 10},
                    "exact": {"default": False},
                },
                "required": ["query"],
                "additionalProperties": False,
            },
        }
        self.assertEqual(Tool.of(find).definition(), expected)

    def test_results(self):
        class Lamp(enum.Enum):
            OUT = object()

        def unknown() -> "Nowhere":  # noqa: F821
            pass

        def lamp() -> Lamp:
            return Lamp.OUT

        def nothing() -> None:
            pass

        def points() -> List[Point]:
            return []

        point = type_schema(Point)
        cases = [
            (points, {"type": "array", "items": point}),
            (nothing, {"type": "null"}),
            (unknown, None),
            (lamp, None),
            (print, None),
        ]
        for function, expected in cases:
            with self.subTest(function.__name__):
                self.assertEqual(output_schema(function), expected)

    def test_what_cannot_be_passed_by_keyword(self):
        def many(*things):
            pass

        with self.assertRaisesRegex(TypeError, "many: 'things' cannot be passed by keyword"):
            input_schema(many)
        self.assertNotIn("additionalProperties", input_schema(lambda **more: None))


if __name__ == "__main__":
    unittest.main()
