"""Generates the messages of ptraceprof.v1 and of the trace format, and the synchronous client, during the build.

The .proto files are those of the repository; a source distribution contains them in proto/. The output of protoc goes
into ptrace_prof/_proto, without subfolders. client.py is generated from aio.py, _capture_options.py from the table of
options. None of the generated files is ever committed.
"""
import pathlib
import re
import shutil
import sys
import tempfile

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from generate_options import generate  # noqa: E402

ROOT = HERE / "proto" if (HERE / "proto").is_dir() else HERE.parents[1]
API = tuple(f"ptraceprof/v1/{name}.proto" for name in ("option", "capture", "capture_service", "node_service"))
ERRORS = ("google/rpc/status.proto",)  # for imports only: googleapis-common-protos has the module
TRACE = ("daemon/trace/perfetto.proto", "daemon/trace/extension.proto")
_IMPORT = re.compile(r"^from (?:ptraceprof\.v1|daemon\.trace) import ", re.MULTILINE)
# (pattern in aio.py, replacement in client.py), also in docstrings.
SYNCHRONOUS = (
    (r'\A""".*?"""', '"""The synchronous client of ptrace-profd, generated from aio.py."""'),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\b_async\b", "_sync"),
    (r"\b(?:async|await) ", ""),
    (r"\b__a(?=enter__|exit__)", "__"),
)


def stage(folder):
    """Copies the sources of protoc. Renames our Perfetto package, as Perfetto's own may be loaded beside it."""
    for name in API + ERRORS + TRACE:
        destination = folder / name
        destination.parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / name if name in TRACE else ROOT / "rpc/proto" / name).read_text(encoding="utf-8")
        destination.write_text(text.replace("perfetto.protos", "ptraceprof.perfetto"), encoding="utf-8")


def generate_messages(package):
    import grpc_tools
    from grpc_tools import protoc

    package.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        source, out = pathlib.Path(temporary, "source"), pathlib.Path(temporary, "out")
        out.mkdir()
        stage(source)
        descriptors = pathlib.Path(temporary, "descriptors")
        arguments = ["protoc", f"-I{source}", f"-I{pathlib.Path(grpc_tools.__file__).parent / '_proto'}",
                     f"--python_out={out}", f"--pyi_out={out}", f"--grpc_python_out={out}",
                     f"--descriptor_set_out={descriptors}", "--include_source_info", *API, *TRACE]
        if protoc.main(arguments) != 0:
            raise SystemExit("protoc failed (above)")
        for path in sorted(out.rglob("*_pb2*.py*")):
            if path.name.endswith("_grpc.py") and "_service_" not in path.name:
                continue  # it has no service
            text = _IMPORT.sub("from ptrace_prof._proto import ", path.read_text(encoding="utf-8"))
            (package / path.name).write_text(text, encoding="utf-8")
        (package.parent / "_capture_options.py").write_text(
            generate(descriptors, out / "ptraceprof/v1/option_pb2.py"), encoding="utf-8")
    (package / "__init__.py").write_text('"""Generated from rpc/proto and daemon/trace."""\n', encoding="utf-8")


def generate_synchronous_client(package):
    text = (HERE / "src/ptrace_prof/aio.py").read_text(encoding="utf-8")
    for pattern, replacement in SYNCHRONOUS:
        text = re.sub(pattern, replacement, text)
    (package / "client.py").write_text(text, encoding="utf-8")


class BuildPy(build_py):
    def run(self):
        super().run()
        package = pathlib.Path("src" if getattr(self, "editable_mode", False) else self.build_lib, "ptrace_prof")
        generate_messages(package / "_proto")
        generate_synchronous_client(package)


class Sdist(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        shutil.copyfile(HERE / "generate_options.py", pathlib.Path(base_dir, "generate_options.py"))
        for name in API + ERRORS + TRACE:
            inside = name if name in TRACE else f"rpc/proto/{name}"
            destination = pathlib.Path(base_dir, "proto", inside)
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / inside, destination)


setup(cmdclass={"build_py": BuildPy, "sdist": Sdist})
