"""Tests the whole package: its modules have no import cycle, and both clients offer the same calls."""
import ast
import graphlib
import inspect
import pathlib
import unittest

import ptrace_prof

PACKAGE = pathlib.Path(ptrace_prof.__file__).parent
RENAMED = {"__aenter__": "__enter__", "__aexit__": "__exit__"}


def imported(tree):
    """Yields the absolute names that a module of ptrace_prof imports, also for types alone and inside of functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = ".".join(filter(None, ["ptrace_prof" * (node.level == 1), node.module]))
            yield source
            yield from (f"{source}.{one.name}" for one in node.names)


def arrows(texts):
    """Returns {module: modules that it imports} for {module: source}."""
    return {name: {other for other in texts if f"ptrace_prof.{other}" in set(imported(ast.parse(text)))}
            for name, text in texts.items()}


class Imports(unittest.TestCase):
    def test_no_circle(self):
        found = arrows({path.stem: path.read_text(encoding="utf-8") for path in PACKAGE.glob("*.py")
                        if path.stem != "__init__"})
        self.assertLessEqual({"_convert", "model"}, found["aio"])
        graphlib.TopologicalSorter(found).prepare()  # raises CycleError, which names the cycle

    def test_every_form_of_an_import_counts(self):
        for text in ("from . import b", "from .b import x", "import ptrace_prof.b", "from ptrace_prof.b import x",
                     "from ptrace_prof import b", "def f():\n  from .b import x",
                     "if TYPE_CHECKING:\n  from .b import X"):
            with self.subTest(text), self.assertRaises(graphlib.CycleError):
                graphlib.TopologicalSorter(arrows({"a": text, "b": "from . import a"})).prepare()


class Clients(unittest.TestCase):
    def test_same_calls(self):
        synchronous = dict(inspect.getmembers(ptrace_prof.Client, inspect.isfunction))
        asynchronous = {RENAMED.get(name, name): function
                        for name, function in inspect.getmembers(ptrace_prof.AsyncClient, inspect.isfunction)}
        self.assertEqual(set(synchronous), set(asynchronous))
        for name, function in synchronous.items():
            with self.subTest(name):
                self.assertEqual(str(inspect.signature(function)),
                                 str(inspect.signature(asynchronous[name])).replace("Async", ""))
                self.assertTrue(function.__doc__ or name.startswith("_"))
                self.assertFalse(inspect.iscoroutinefunction(function))


if __name__ == "__main__":
    unittest.main()
