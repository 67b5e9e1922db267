#!/usr/bin/env python3
"""The checks of this folder find the faults that they are for: each runs on a made-up tree with such a fault."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_layers  # noqa: E402
import check_reasons  # noqa: E402
import check_sizes  # noqa: E402
import check_versions  # noqa: E402
import check_words  # noqa: E402

TABLE = """
Text before.

| folder | may include | home of |
|---|---|---|
| attach/abi | `<stdint.h>` | shared bytes |
| attach/base | – | results |
| attach/proc | base | proc |
| daemon/trace | base | traces |
| daemon/collector | proc, trace, base | sampling |
| client/cli | trace, base | terminal |

Composition roots: `client/cli/embedded.cc`, and no other
file.
"""


class Tree(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.root = pathlib.Path(self._folder.name)
        self.write("ARCHITECTURE.md", TABLE)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def layers(self):
        return check_layers.violations(self.root)[0]


class Layers(Tree):
    def test_an_allowed_tree_is_clean(self):
        self.write("attach/proc/maps.cc", '#include <vector>\n#include "attach/proc/maps.h"\n#include "attach/base/result.h"\n')
        self.write("attach/abi/ring.h", "#include <stdint.h>\n")
        self.write("daemon/collector/a.cc", '#include "daemon/trace/writer.h"\n#include "attach/proc/maps.h"\n')
        self.write("client/cli/embedded.cc", '#include "daemon/collector/a.h"\n')
        self.assertEqual(self.layers(), [])

    def test_an_include_up_the_layers_is_found(self):
        self.write("attach/base/result.h", '#include "attach/proc/maps.h"\n')
        self.assertEqual(len(self.layers()), 1)
        self.assertIn("attach/base may include nothing of ours", self.layers()[0])

    def test_an_include_with_odd_spacing_is_found(self):
        self.write("client/cli/main.cc", '  #  include "attach/proc/maps.h"\n')
        self.assertEqual(len(self.layers()), 1)

    def test_only_a_composition_root_may_plug_layers_together(self):
        self.write("client/cli/other.cc", '#include "daemon/collector/a.h"\n')
        self.assertEqual(len(self.layers()), 1)

    def test_a_folder_without_a_row_is_found(self):
        self.write("attach/utils/strings.h", "\n")
        self.write("daemon/stray.cc", "\n")
        self.assertEqual(len(self.layers()), 2)

    def test_a_system_header_outside_the_list_is_found(self):
        self.write("attach/abi/ring.h", "#include <string.h>\n")
        self.assertEqual(len(self.layers()), 1)

    def test_protobuf_outside_its_homes_is_found(self):
        self.write("daemon/collector/a.cc", "#include <google/protobuf/message.h>\n")
        self.write("client/cli/b.cc", '#include "proto/trace.pb.h"\n')
        self.write("daemon/trace/c.cc", "#include <google/protobuf/message.h>\n")
        self.write("attach/proc/d.cc", "#include <grpcpp/grpcpp.h>\n")
        self.assertEqual(len(self.layers()), 3)

    def test_a_cycle_between_folders_is_found(self):
        self.write("ARCHITECTURE.md", TABLE.replace("| attach/base | –", "| attach/base | trace"))
        self.write("attach/base/a.h", '#include "daemon/trace/b.h"\n')
        self.write("daemon/trace/b.h", '#include "attach/base/a.h"\n')
        found, edges = check_layers.violations(self.root)
        self.assertEqual(found, [])
        self.assertEqual(check_layers.cycles(edges), [["attach/base", "daemon/trace"]])

    def test_a_table_that_names_no_folder_is_refused(self):
        self.write("ARCHITECTURE.md", TABLE.replace("| attach/proc | base", "| attach/proc | bass"))
        with self.assertRaises(SystemExit):
            self.layers()

    def test_a_document_without_table_is_refused(self):
        self.write("ARCHITECTURE.md", "nothing\n")
        self.assertEqual(len(self.layers()), 1)


class Sizes(Tree):
    def found(self):
        return check_sizes.measure(self.root)[0]

    def test_small_files_are_clean(self):
        self.write("attach/base/a.cc", "int a() {\n  return 1;\n}\n")
        self.assertEqual(self.found(), [])

    def test_a_long_file_is_found_and_a_table_is_not(self):
        for number in range(20):
            self.write(f"attach/base/small{number}.h", "\n")
        self.write("attach/base/long.h", "// x\n" * 601)
        self.write("attach/base/opcode_table.cc", "// x\n" * 2000)
        self.assertEqual(self.found(), ["attach/base/long.h: 601 lines, more than 600"])

    def test_a_large_median_is_found(self):
        for number in range(3):
            self.write(f"attach/base/a{number}.h", "// x\n" * 101)
        self.assertEqual(self.found(), ["the median file has 101 lines, more than 100"])

    def test_a_large_ninetieth_percentile_is_found(self):
        for number in range(10):
            self.write(f"attach/base/a{number}.h", "// x\n" * (401 if number > 7 else 10))
        self.assertEqual(self.found(), ["the 90th percentile of files has 401 lines, more than 400"])

    def test_a_privileged_part_that_grows_is_found(self):
        for number in range(19):
            self.write(f"daemon/launcher/a{number}.cc", "// x\n" * 100)
        self.assertEqual(self.found(), ["daemon/launcher: 1900 lines, more than 1800"])

    def test_a_long_python_function_is_found(self):
        self.write("tests/a.py", "def f():\n" + "    pass\n" * 60)
        self.assertEqual(self.found(), ["tests/a.py: f has 61 lines, more than 60"])

    def test_a_long_cxx_function_is_found(self):
        if check_sizes.cxx_functions(self.root, ["x.cc"]) is None:
            self.skipTest("universal-ctags is not installed")
        self.write("attach/base/a.cc", "namespace n {\nstruct S { int f(int x); };\nint S::f(int x) {\n" + "  x++;\n" * 59 +
                   "  return x;\n}\nint g() { return 0; }\n}\n")
        self.assertEqual(self.found(), ["attach/base/a.cc: f has 62 lines, more than 60"])


class Reasons(Tree):
    TABLE = ('{Reason::kUnknown, "UNKNOWN", Code::kUnknown},\n'
             '{Reason::kTargetExited, "TARGET_EXITED", Code::kGone},\n'
             '{Reason::kNotPython, "NOT_PYTHON", Code::kFailedPrecondition},\n')

    def setUp(self):
        super().setUp()
        self.say("NOT_PYTHON")

    def say(self, word, code="FAILED_PRECONDITION"):
        self.write("attach/base/reason.cc", self.TABLE)
        self.write("rpc/proto/ptraceprof/v1/capture_service.proto",
                   f"// Errors.\n//   UNKNOWN              UNKNOWN\n//   ABORTED              TARGET_EXITED,\n//   {code}  {word}\n")
        self.write("docs/api.md", f"\n## Errors\n| code | reason | when |\n| `UNKNOWN` | `UNKNOWN` | ? |\n"
                                  f"| `ABORTED` | `TARGET_EXITED` | |\n| | `{word}` | |\n")
        self.write("client/python/src/ptrace_prof/errors.py",
                   '"""All."""\nclass A:\n    code, reason = "UNKNOWN", "UNKNOWN"\n'
                   f'    also: tuple[str, ...] = ("TARGET_EXITED",)\nclass B(A):\n    reason = "{word}"\n')

    def found(self):
        return check_reasons.check(self.root)

    def test_the_same_everywhere_is_clean(self):
        self.assertEqual(self.found(), [])

    def test_another_word_is_found_in_each_place(self):
        self.say("NO_PYTHON")
        self.assertEqual(len(self.found()), 6, self.found())

    def test_another_code_is_found(self):
        self.say("NOT_PYTHON", "NOT_FOUND")
        self.assertEqual(len(self.found()), 1)

    def test_a_word_beside_the_table_is_found(self):
        self.write("rpc/a.cc", '// "NOT_PYTHON"\nconst char* a = "UNKNOWN";\n')
        self.assertEqual(self.found(), [])
        self.write("rpc/b.cc", 'const char* b = "NOT_PYTHON";\n')
        self.assertEqual(len(self.found()), 1)


class Versions(Tree):
    def setUp(self):
        super().setUp()
        self.list("3.8  -  no  pyenv\n3.9  -  yes  bullseye\n3.10  3.10.1  yes  forky sid\n")

    def list(self, rows):
        self.write("symbolizer/cpython/versions.txt", "# version  free-threaded  client  interpreter\n" + rows)

    def found(self):
        return check_versions.check(self.root)

    def assertFound(self, path, text, count=1):
        self.write(path, text)
        self.assertEqual(len(self.found()), count, f"{text!r}: {self.found()}")
        (self.root / path).unlink()

    def test_what_asks_the_table_is_clean(self):
        self.write("daemon/collector/a.cc", "// From 3.9 on, version.minor >= 9.\nreturn FactsOf(layout.version).has_monitoring;\n")
        self.write("daemon/collector/b.cc", "if (release.minor < 0 || said.abi_version != PP_ABI_VERSION || minor(device) < 3) {}\n")
        self.write("symbolizer/cpython/a.cc", "return version.minor >= 9 || version == PythonVersion{3, 8};\n")
        self.write("README.md", "CPython 3.8 and later, on 3.9 or 3.10; Python 3.8.1, 3.8.2, 3.8.3, 3.8.4, 3.8.5\n")
        self.assertEqual(self.found(), [])

    def test_numbers_of_versions_outside_their_home_are_found(self):
        for code in ("bool b = version.minor >= 12;", "if (process.layout.version.major == 3) {}", "v = python_version().minor < 9;",
                     "find(kRows, facts.minor);", "return FactsOf(version).minor > 9;", "if (hex >= 0x030c0000) {}",
                     "uint32_t python_hex;", "text = \"sys.hexversion>>16>777\";", "text = \"sys.version_info>(3,9)\";",
                     "return layout.version < PythonVersion{3, 9};", "PythonVersion::FromHex(word);"):
            for path in ("daemon/collector/a.cc", "attach/target/python/a.c", "client/cli/a.h"):
                self.write(path, code + "\n")
                self.assertTrue(self.found() and all(path in one for one in self.found()), f"{code}: {self.found()}")
                (self.root / path).unlink()

    def test_a_second_list_is_found(self):
        every = ("3.8", "3.9", "3.10", "3.11", "3.12")
        self.assertFound("tests/support/a.py", f"MINORS = {every}\n")
        self.assertFound("tests/support/a.py", "MINORS = (" + ",\n          ".join(f'"{one}"' for one in every) + ")\n")
        self.assertFound("dev.d/a.sh", "for minor in " + " ".join(every) + "; do\n")
        self.assertFound("cmake/a.cmake", "set(FREE_THREADED " + " ".join(one + "t" for one in every) + ")\n")
        self.assertFound("README.md", "On " + ", ".join(every[:-1]) + " and 3.12.\n")
        self.assertFound("docs/a.md", "| " + " | ".join(every) + " |\n")
        self.assertFound("tests/unit/a.cc", "for (int minor : {8, 9, 10, 11, 12}) {}\n")

    def test_from_which_to_which_is_said_nowhere_else(self):
        for text in ("3.8 to 3.10", "3.8–3.10", "3.8-3.10", "3.9–3.10", "(3, 8) <= sys.version_info[:2] <= (3, 10)"):
            self.assertFound("docs/a.md", text + "\n")
        for text in ("3.8 to 3.9", "3.8.1 to 3.10.2", "13.8 to 3.10"):
            self.assertFound("docs/a.md", text + "\n", 0)
        self.assertFound("CHANGELOG.md", "3.8 to 3.10\n", 0)

    def test_a_list_that_cannot_be_read_is_found(self):
        for rows in ("3.8  -  perhaps  pyenv\n", "3.8  -  no\n", "3.8  -  no  pyenv\n3.10  -  no  pyenv\n", ""):
            self.list(rows)
            self.assertTrue(self.found(), rows)

    def test_the_client_begins_with_its_first_version(self):
        self.assertFound("client/python/pyproject.toml", 'requires-python = ">=3.9"\n', 0)
        self.assertFound("client/python/pyproject.toml", 'requires-python = ">=3.8"\n')


class Words(Tree):
    def found(self, **ceilings):
        return check_words.check(self.root, ceilings)[0]

    def assertFound(self, path, text, count=1):
        self.write(path, text)
        self.assertEqual(sum(fault.startswith(path) for fault in self.found()), count, f"{text!r}: {self.found()}")
        (self.root / path).unlink()

    def test_each_pattern_is_found_in_markdown_and_in_comments(self):
        for sentence in ("Of a child only the name is kept.", "Who comes second is refused.", "Ends: whoever reads, waits.",
                         "Nobody reads the ring.", "The stub is told to go.", "It tells of each call."):
            self.assertFound("README.md", f"Some text. {sentence}\n")
            self.assertFound("docs/a.md", f"| a | {sentence} |\n")
            self.assertFound("attach/base/a.h", f"// Some text. {sentence}\n")
            self.assertFound("attach/base/a.cc", f"int a;  // {sentence}\n")
            self.assertFound("tests/a.py", f'def f():\n    """{sentence}"""\n')
            self.assertFound("dev.d/a.sh", f"# {sentence}\n")

    def test_a_sentence_may_span_lines(self):
        self.write("README.md", "Text.\nThe stub is\ntold to go.\n")
        self.assertRegex(self.found()[0], r"README\.md:2: ")

    def test_plain_text_is_clean(self):
        for sentence in ("Of course it ends.", "Who may connect?", "The file of nobody is `whoever`.", "They are told apart."):
            self.assertFound("README.md", sentence + "\n", 0)
        self.assertFound("README.md", "## Who is asking\n\n```\nOf this output nothing is changed.\n```\n", 0)
        self.assertFound("attach/base/a.cc", 'const char* a = "// Of this";\nint who_is_told;\n', 0)
        self.assertFound("tests/a.py", 'SAID = """Of this."""\n', 0)

    def test_lines_of_markdown_are_short(self):
        self.assertFound("README.md", "word " * 25 + "\n")
        for text in ("| " + "word " * 30 + "|", "https://a.b/" + "c" * 120, "```\n" + "word " * 30 + "\n```"):
            self.assertFound("README.md", text + "\n", 0)

    def test_the_number_in_code_may_only_fall(self):
        self.write("daemon/a.h", "// Of a.\n\n// Of b.\n")
        self.assertEqual(self.found(daemon=2), [])
        self.assertEqual(len(self.found(daemon=1)), 3)
        self.assertRegex(self.found(daemon=3)[0], "daemon: 2 such comments, fewer than 3: lower its number")


if __name__ == "__main__":
    unittest.main()
