"""Builds the Python client: a source distribution, and from that the wheel. Checks both, and unpacks the wheel for
tests.

Usage: python_client_wheel_test.py FOLDER. What is left in FOLDER: package/ (the wheel, unpacked), dist/.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("PTRACE_PROF_CACHE", "/var/cache/ptrace-prof"))
PYTHON = CACHE / "venv-client/bin/python"
STUBS = ("capture_pb2.py", "capture_pb2.pyi", "capture_service_pb2.py", "capture_service_pb2_grpc.py",
         "node_service_pb2.py", "node_service_pb2_grpc.py", "perfetto_pb2.py", "extension_pb2.py")


def run(*command, cwd):
    done = subprocess.run([str(word) for word in command], cwd=cwd, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout}\n{command} ended with {done.returncode}")


def copy_sources(tree):
    """A copy of the package to build in, because building writes into its source tree."""
    for folder in ("client/python", "rpc/proto", "daemon/trace"):
        shutil.copytree(ROOT / folder, tree / folder,
                        ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "*.cc", "*.h"))


def check(sdist, wheel):
    names = tarfile.open(sdist).getnames()
    committed = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "ls-files", "*_pb2*", "*/ptrace_prof/client.py"],
                               cwd=ROOT, check=False, capture_output=True, text=True).stdout
    assert not committed, f"generated files are committed: {committed}"
    assert any(name.endswith("proto/rpc/proto/ptraceprof/v1/capture.proto") for name in names), names
    generated = [name for name in names if "_pb2" in name or name.endswith("/client.py")]
    assert not generated, f"generated files in the source distribution: {generated}"
    inside = zipfile.ZipFile(wheel).namelist()
    for name in ("py.typed", "client.py", *(f"_proto/{stub}" for stub in STUBS)):
        assert f"ptrace_prof/{name}" in inside, f"the wheel has no {name}: {inside}"
    assert {name.split("/")[0].split("-")[0] for name in inside} == {"ptrace_prof"}, inside
    assert wheel.name.endswith("-py3-none-any.whl"), wheel
    version = re.search(r"project\(ptrace_prof VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert wheel.name.startswith(f"ptrace_prof-{version}-"), f"{wheel.name}, but the project is {version}"


def main(out):
    if not PYTHON.exists():
        print(f"{PYTHON} is not there (./dev setup test makes it): not tested")
        return 77
    shutil.rmtree(out, ignore_errors=True)
    copy_sources(out / "source")
    dist = out / "dist"
    dist.mkdir()
    run(PYTHON, "-c", f"from setuptools import build_meta; build_meta.build_sdist({str(dist)!r})",
        cwd=out / "source/client/python")
    sdist = next(dist.glob("*.tar.gz"))
    run(PYTHON, "-m", "pip", "-q", "--disable-pip-version-check", "wheel", "--no-build-isolation", "--no-deps",
        "--no-index", "-w", dist, sdist, cwd=out)
    wheel = next(dist.glob("*.whl"))
    check(sdist, wheel)
    zipfile.ZipFile(wheel).extractall(out / "package")
    shutil.rmtree(out / "source")
    print(f"{wheel.name}: {wheel.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
