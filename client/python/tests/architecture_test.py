"""The package as a whole: both clients offer the same calls."""
import inspect
import unittest

import ptrace_prof

RENAMED = {"__aenter__": "__enter__", "__aexit__": "__exit__"}


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
