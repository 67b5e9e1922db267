"""What a target needs to act as the collector for the tracer stub (tests/targets/stub_collector.py): the built stub,
the names in its boot block from the header, and the layout of its interpreter as our own readers see it."""
import base64
import json
import os
import pathlib
import re
import subprocess
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUB = pathlib.Path(os.environ.get("PP_STUB", ROOT / "build/release/attach/ptrace_prof_stub.so"))
LAYOUT = os.environ.get("PP_STUB_LAYOUT", str(ROOT / "build/bin/tests/stub_layout"))


def _names_in_boot_block():
    header = (ROOT / "attach/abi/boot.h").read_text()
    for macro in ("PP_FOR_EACH_FUNCTION", "PP_FOR_EACH_OFFSET"):
        text = header[header.index(f"#define {macro}(X)"):]
        yield re.findall(r"\bX\((\w+)\)", text[text.index("\n"):text.index("\n\n")])


def tags():
    """The kinds of records by their numbers, and how many bits such a number has."""
    header = (ROOT / "attach/abi/record.h").read_text()
    found = re.findall(r"\bX\(with, (\w+), (\d+),", header)
    return {int(tag): name for name, tag in found}, int(re.search(r"PP_TAG_BITS (\d+)u", header).group(1))


def environment():
    """The settings that the target gets when it starts."""
    functions, offsets = _names_in_boot_block()
    names, tag_bits = tags()
    version = re.search(r"PP_ABI_VERSION (\d+)", (ROOT / "attach/abi/abi.h").read_text()).group(1)
    given = {"image": base64.b64encode(STUB.read_bytes()).decode(), "functions": functions, "offsets": offsets,
             "abi_version": int(version), "tags": names, "tag_bits": tag_bits}
    return {"PP_STUB_TEST": base64.b64encode(zlib.compress(json.dumps(given).encode())).decode()}


def tell_layout(target):
    """Answers the question that the target asks first."""
    target.expect("layout")
    done = subprocess.run([LAYOUT, str(target.pid)], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"stub_layout: {done.stderr}")
    target.tell(done.stdout)
