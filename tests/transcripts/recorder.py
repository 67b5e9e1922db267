"""The recorder of CUPTI (recorder.h) as a stand-in for a given libcupti.

It is a copy with the name of that library, and without the functions that the library lacks, so a lookup fails as it
does there. The library itself is copied beside it under another name, so that it is not mistaken for the one that the
process has, with links to the files around it.
"""
import os
import pathlib
import re
import shutil
import struct

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDER = pathlib.Path(os.environ.get("PP_CUPTI_RECORDER", ROOT / "build/bin/tests/cupti_recorder.so"))
PLACEHOLDER = b"libcupti.so.to-be-named-by-recorder.py"
FUNCTION = re.compile(rb"\0(cupti\w+)(?=\0)")
LOAD, DYNAMIC, STRING_TABLE, STRING_SIZE, SONAME = 1, 2, 5, 10, 14


class Names:
    """The name of an ELF file (64 bits, little endian), and the names that it has for the loader."""

    def __init__(self, path):
        self.bytes = pathlib.Path(path).read_bytes()
        if self.bytes[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no shared library for this machine")
        entries = dict(self._dynamic())
        begin = self._offset(entries[STRING_TABLE])
        self.table = self.bytes[begin:begin + entries[STRING_SIZE]]
        self.soname = self._text(entries[SONAME]) if SONAME in entries else pathlib.Path(path).name.encode()
        self.all = set(self.table.split(b"\0"))

    def _segments(self):
        at, size, count = struct.unpack_from("<Q", self.bytes, 32)[0], *struct.unpack_from("<HH", self.bytes, 54)
        return [struct.unpack_from("<IIQQQQ", self.bytes, at + number * size) for number in range(count)]

    def _offset(self, address):
        return next(address - start + offset for kind, _, offset, start, _, length in self._segments()
                    if kind == LOAD and start <= address < start + length)

    def _dynamic(self):
        _, _, offset, _, _, length = next(one for one in self._segments() if one[0] == DYNAMIC)
        return struct.iter_unpack("<QQ", self.bytes[offset:offset + length // 16 * 16])

    def _text(self, at):
        return self.table[at:self.table.index(b"\0", at)]


def put_before(library, folder):
    """(path of the stand-in, its environment except for PP_CUPTI_TRANSCRIPT)"""
    library, folder, names = pathlib.Path(library).resolve(), pathlib.Path(folder), Names(library)
    folder.mkdir(parents=True, exist_ok=True)
    ours = RECORDER.read_bytes()
    for function in set(FUNCTION.findall(ours)) - names.all:
        ours = ours.replace(b"\0" + function + b"\0", b"\0" + b"-" * len(function) + b"\0")
    if len(names.soname) > len(PLACEHOLDER):
        raise ValueError(f"the name of {library} is too long: {names.soname.decode()}")
    stand_in, behind = folder / names.soname.decode(), folder / "behind-cupti.so"
    stand_in.write_bytes(ours.replace(PLACEHOLDER, names.soname.ljust(len(PLACEHOLDER), b"\0")))
    shutil.copyfile(library, behind)
    for beside in library.parent.iterdir():
        if not beside.name.startswith("libcupti.so") and not (folder / beside.name).exists():
            (folder / beside.name).symlink_to(beside)
    return stand_in, {"PP_CUPTI_LIBRARY": str(stand_in), "PP_CUPTI_BEHIND": str(behind)}
