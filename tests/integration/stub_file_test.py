#!/usr/bin/env python3
"""The built tracer stub, GPU shim and torch hook as files: they must load into any interpreter without needing any other library.
"""
import os
import pathlib
import re
import struct
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUB = pathlib.Path(os.environ.get("PP_STUB", ROOT / "build/release/attach/ptrace_prof_stub.so"))


class StubFile(unittest.TestCase):
    path, init, header, magic = STUB, "PyInit__ptrace_prof_stub", "attach/abi/boot.h", "PP_BOOT_MAGIC"
    most = 40 << 10

    def readelf(self, *options):
        return subprocess.run(["readelf", "-W", *options, str(self.path)], capture_output=True, text=True, check=True).stdout

    def segments(self):
        """(type, flags) of each program header."""
        pattern = r"^  ([A-Z_]+) +0x\w+ 0x\w+ 0x\w+ 0x\w+ 0x\w+ ([R ][W ][E ])"
        found = re.findall(pattern, self.readelf("--segments"), re.MULTILINE)
        return [(kind, flags.replace(" ", "")) for kind, flags in found]

    def test_needs_nothing(self):
        dynamic = self.readelf("--dynamic")
        self.assertIn("SYMTAB", dynamic)
        for tag in ("NEEDED", "VERNEED", "VERDEF", "TEXTREL", "INIT", "FINI", "PLTREL"):
            self.assertNotRegex(dynamic, rf"\({tag}", "neither libraries, versions, constructors nor calls elsewhere")

    def test_one_symbol(self):
        symbols = [line.split()[3:] for line in self.readelf("--dyn-syms").splitlines() if re.match(r" +\d+:", line)]
        self.assertEqual([(one[0], one[1], one[-1]) for one in symbols if one[3] != "UND"], [("FUNC", "GLOBAL", self.init)])
        self.assertEqual([one for one in symbols if one[3] == "UND" and one[1] != "LOCAL"], [])

    def test_relocations_are_relative(self):
        kinds = set(re.findall(r"R_\w+", self.readelf("--relocs")))
        self.assertEqual(len(kinds), 1, kinds)
        self.assertTrue(kinds.pop().endswith("_RELATIVE"))

    def test_segments(self):
        found = self.segments()
        self.assertIn(("GNU_STACK", "RW"), found)
        self.assertNotIn("TLS", [kind for kind, _ in found])
        self.assertIn(("LOAD", "RE"), found)
        self.assertEqual([one for one in found if "W" in one[1] and "E" in one[1]], [])

    def test_boot_block(self):
        """The boot block is where the collector looks for it: once, aligned, in writable data."""
        image = self.path.read_bytes()
        header = (ROOT / self.header).read_text()
        words = [int(word, 16) for word in re.findall(rf"{self.magic}_[01] 0x(\w+)ull", header)]
        at = image.find(struct.pack("<2Q", *words))
        self.assertEqual(at % 8, 0)
        for word in words:
            self.assertEqual(image.count(struct.pack("<Q", word)), 1)
        loads = re.findall(r"LOAD +0x(\w+) 0x\w+ 0x\w+ 0x(\w+) 0x\w+ ([R ][W ][E ])", self.readelf("--segments"))
        (start, size), = [(int(offset, 16), int(size, 16)) for offset, size, flags in loads if "W" in flags]
        self.assertTrue(start <= at < start + size)

    def test_is_small(self):
        self.assertLess(self.path.stat().st_size, self.most)


class GpuShimFile(StubFile):
    path, init = STUB.with_name("ptrace_prof_gpu.so"), "PyInit__ptrace_prof_gpu"
    header, magic = "attach/abi/gpu_boot.h", "PP_GPU_BOOT_MAGIC"
    most = 32 << 10

    def test_names_no_function_of_cuda_but_by_text(self):
        """Functions of CUPTI that it calls are looked up where the job has mapped CUPTI."""
        self.assertIn(b"cuptiSubscribe\0", self.path.read_bytes())


class TorchHookFile(StubFile):
    path, init = STUB.with_name("ptrace_prof_torch.so"), "PyInit__ptrace_prof_torch"
    header, magic = "attach/abi/torch_boot.h", "PP_TORCH_BOOT_MAGIC"
    most = 24 << 10

    @unittest.skipUnless(os.uname().machine == "x86_64", "the hook is for x86-64")
    def test_leads_on_with_a_jump(self):
        """No C++ exception can pass through the hook, so none of its functions may wait for one that throws: what a slot
        led to is called last, by a jump."""
        code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", self.path], capture_output=True, text=True, check=True)
        self.assertEqual(re.findall(r"call +\*%\w+", code.stdout), [])
        self.assertGreaterEqual(len(re.findall(r"jmp +\*%\w+", code.stdout)), 3)


if __name__ == "__main__":
    unittest.main()
