"""Interpreters whose executable was renamed, deleted, stripped, or replaced by another one while they run."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.target_process import copy_of  # noqa: E402


def _prefix(path):
    return subprocess.run([path, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True,
                          check=True).stdout.strip()


def _libpython(path):
    """The shared libpython that the interpreter loads, or None."""
    listing = subprocess.run(["ldd", os.path.realpath(path)], capture_output=True, text=True, check=False).stdout
    for line in listing.splitlines():
        if "libpython" in line and "=> /" in line:
            return line.split("=> ")[1].split(" ")[0]
    return None


class Executables(case.Case):
    def setUp(self):
        self.outside = [one for one in self.interpreters if not one.in_root]
        if not self.outside:
            self.skipTest(f"every CPython {self.minor} here lives in a root file system")
        self.interpreter = self.outside[0]
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start_copy(self, name, change=lambda path: None):
        """longsleep.py run by a changed copy of the executable, and of libpython if there is one."""
        executable = copy_of(self.interpreter.path, self.folder, name)
        change(executable)
        environment = {"PYTHONHOME": _prefix(self.interpreter.path)}
        self.copies = [executable]
        library = _libpython(self.interpreter.path)
        if library:
            copied = copy_of(library, self.folder, os.path.basename(library))
            change(copied)
            self.copies.append(copied)
            environment["LD_LIBRARY_PATH"] = self.folder
        return self.start_waiting("longsleep.py", python=str(executable), env=environment)

    def assertReads(self, target):
        threads = profiler.dump(target.pid)
        self.assertIn("longsleep", [frame.plain for frame in threads[0].stack])
        self.assertUnharmed(target.pid)
        self.assertEqual(target.finish(), 0, target.stderr())

    def test_renamed(self):
        self.assertReads(self.start_copy("some service"))

    def test_deleted(self):
        target = self.start_copy("python3")
        for path in self.copies:
            path.unlink()
        self.assertReads(target)

    def test_replaced(self):
        target = self.start_copy("python3")
        for path in self.copies:
            path.unlink()
            path.write_bytes(b"\x7fELF" + b"not what is running" * 100)
        self.assertReads(target)

    def test_stripped(self):
        self.assertReads(self.start_copy("python3", lambda path: subprocess.run(["strip", path], check=True)))

    def test_stripped_of_sections(self):
        def strip(path):
            subprocess.run(["strip", path], check=True)
            data = bytearray(path.read_bytes())
            data[0x28:0x30] = bytes(8)   # e_shoff
            data[0x3C:0x40] = bytes(4)   # e_shnum, e_shstrndx
            path.write_bytes(data)
        self.assertReads(self.start_copy("python3", strip))


if __name__ == "__main__":
    case.main()
