"""The Python client (client/python/tests) on one CPython, against a server with a real target.

Usage: python_client_test.py MINOR FOLDER (of python_client_wheel_test.py). The server is PTRACE_PROFD_BIN, else the one
beside PTRACE_PROF_BIN, else client/python/tests/fake_server.py. The first line of output says which. A real server is
also asked over TLS.
"""
import contextlib
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import interpreters, runner  # noqa: E402
from support.certificates import Authority  # noqa: E402
from support.profiler import BINARY  # noqa: E402
from support.target_process import TARGETS, TargetProcess, harm  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "client/python/tests"
DAEMON = pathlib.Path(os.environ.get("PTRACE_PROFD_BIN") or pathlib.Path(BINARY).with_name("ptrace-profd"))


class Server:
    """A running server. Its output is kept, to be shown when something fails."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.said = []
        self._listens = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self._listens.wait()

    def _read(self):
        for line in self.process.stdout:
            self.said.append(line)
            if "ready" in line or "event=listening " in line:  # the last line about where it listens
                self._listens.set()
        self._listens.set()

    def end(self, signal_number):
        """The exit status."""
        self.process.stdin.close()
        if signal_number:
            self.process.send_signal(signal_number)
        return self.process.wait(60)

    def close(self):
        self.process.kill()
        self.process.wait()
        self._reader.join()


@contextlib.contextmanager
def ending_well(server, with_signal):
    """The server must end with status 0 after the block. If anything fails, its output is shown."""
    try:
        yield
        status = server.end(with_signal)
        assert status == 0, f"the server ended with {status}"
    except BaseException:
        sys.stderr.write("".join(server.said))
        raise
    finally:
        server.close()


@contextlib.contextmanager
def daemon(folder):
    """ptrace-profd, or the fake. Yields (which, target)."""
    socket = folder / "ptrace-prof.sock"
    real = os.access(DAEMON, os.X_OK)
    if real:
        command, environment = [str(DAEMON), "--socket", str(socket), "--spool", str(folder / "spool")], os.environ
    else:
        host = next(one for one in interpreters.discover() if not one.in_root and site(one.minor).exists())
        command = [host.path, str(TESTS / "fake_server.py"), str(socket)]
        environment = {**os.environ, "PYTHONPATH": f"{PACKAGE}:{site(host.minor)}", "GRPC_ENABLE_FORK_SUPPORT": "0",
                       "PTRACE_PROF_BIN": BINARY}
    server = Server(command, environment)
    with ending_well(server, signal.SIGTERM if real else None):
        yield "ptrace-profd" if real else "the fake", f"unix:{socket}"


def make_certificates(folder):
    """The certificates that client/python/tests/over_tls_test.py needs, and the daemon's own."""
    authority, other = Authority(folder), Authority(folder, "other-authority")
    for name, made in (("me", authority.sign("me")), ("speaker", authority.sign("speaker")),
                       ("expired", authority.sign("me-once", days=-1)), ("stranger", other.sign("me"))):
        made.file.rename(folder / f"{name}.crt")
        made.key.rename(folder / f"{name}.key")
    return authority.sign("node", "IP:127.0.0.1", usage="serverAuth")


@contextlib.contextmanager
def daemon_over_tls(folder):
    """A ptrace-profd that also listens on TCP. Yields what over_tls_test.py needs to know."""
    certificates = folder / "tls"
    certificates.mkdir()
    node, policy, user = make_certificates(certificates), folder / "policy.toml", os.getuid()
    policy.write_text(f"[[identity]]\nname = 'me'\ncommon_name = ['me', 'me-once']\nuser = {user}\nroot = true\n"
                      f"[[identity]]\nname = 'speaker'\ncommon_name = 'speaker'\nimpersonate = [{user}]\nroot = true\n")
    policy.chmod(0o644)
    server = Server([str(DAEMON), "--socket", str(folder / "tls.sock"), "--spool", str(folder / "tls-spool"), "--policy",
                     str(policy), "--listen-tcp", "127.0.0.1:0", "--tls-cert", str(node.file), "--tls-key", str(node.key),
                     "--tls-client-ca", str(certificates / "authority.crt")], os.environ)
    with ending_well(server, signal.SIGTERM):
        port = re.search(r"event=listening_tcp address=\"?127.0.0.1:(\d+)", "".join(server.said))
        assert port, server.said
        yield {"PP_CLIENT_TLS": f"tls://127.0.0.1:{port.group(1)}", "PP_CLIENT_TLS_FOLDER": str(certificates)}


@contextlib.contextmanager
def no_python():
    process = subprocess.Popen(["sleep", "3600"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def bad_names(python):
    """A process whose names are not UTF-8."""
    process = subprocess.Popen([python, TARGETS / "bad_names.py", b"\xff\xc3("], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def site(minor):
    return interpreters.CACHE / f"client-{minor}"


def inside_root(root, folders, environment, arguments):
    """The command that runs in another root file system, with these folders below /mnt."""
    lines = ["mount --make-rprivate /", f"mkdir -p {root}/mnt {root}/proc {root}/dev {root}/tmp",
             f"mount -t tmpfs tmpfs {root}/mnt", f"mount --rbind /proc {root}/proc", f"mount --rbind /dev {root}/dev",
             f"mount -t tmpfs tmpfs {root}/tmp"]
    names = {}
    for number, folder in enumerate(folders):
        names[str(folder)] = f"/mnt/{number}"
        lines += [f"mkdir {root}/mnt/{number}", f"mount --bind {shlex.quote(str(folder))} {root}/mnt/{number}"]

    def there(text):
        for folder, name in names.items():
            text = text.replace(folder, name)
        return text
    given = shlex.join(f"{name}={there(value)}" for name, value in environment.items())
    lines.append(f"exec env -i {given} $(command -v chroot) {root} {shlex.join(there(word) for word in arguments)}")
    return ["unshare", "--mount", "sh", "-ec", "\n".join(lines)]


def run_tests(interpreter, folder, environment, names):
    failed = []
    for name in names:
        command = [interpreter.path, "-B", "-X", "dev", "-W", "error::ResourceWarning", str(TESTS / name)]
        given = {"PYTHONPATH": f"{PACKAGE}:{site(interpreter.minor)}", "HOME": "/", **environment}
        if interpreter.in_root:
            folders = [PACKAGE, site(interpreter.minor), TESTS, folder]
            done = subprocess.run(inside_root(interpreter.root, folders, given, command), check=False)
        else:
            given = {**os.environ, **given, "PTRACE_PROF_BIN": BINARY}
            done = subprocess.run(command, env=given, cwd=TESTS, check=False)
        if done.returncode != 0:
            failed.append(f"{name}: {done.returncode}")
    return failed


def main(minor):
    found = interpreters.of_minor(minor)
    if not found or not site(minor).exists():
        print(f"CPython {minor} is not available here: not tested" if not found else
              f"{site(minor)} is not there (./dev setup test makes it): not tested")
        return runner.SKIPPED
    if found[0].in_root and not list(pathlib.Path(found[0].root).glob("usr/lib/*/libstdc++.so.6")):
        print(f"{found[0].root} has no libstdc++.so.6, which gRPC needs (./dev setup test unpacks it): not tested")
        return runner.SKIPPED
    target_python = next(one for one in interpreters.discover() if not one.in_root)
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        os.chmod(name, 0o755)  # the daemon of root gives up its rights
        server, address = stack.enter_context(daemon(pathlib.Path(name)))
        target = stack.enter_context(TargetProcess("busycalls.py", target_python))
        sleep = stack.enter_context(no_python())
        bad = stack.enter_context(bad_names(target_python.path))
        print(f"server: {server}; client: CPython {found[0]}; target: CPython {target_python}", flush=True)
        names = ["architecture_test.py", "faults_test.py", "against_server_test.py"]
        environment = {"PP_CLIENT_TARGET": address, "PP_CLIENT_SERVER": server, "PP_CLIENT_PID": str(target.pid),
                       "PP_CLIENT_SLEEP": str(sleep.pid), "PP_CLIENT_BAD_NAMES": str(bad.pid)}
        if server == "ptrace-profd":
            environment |= stack.enter_context(daemon_over_tls(pathlib.Path(name)))
            names.append("over_tls_test.py")
        failed = run_tests(found[0], pathlib.Path(name), environment, names)
        failed += harm(target.pid)
        if failed:
            raise SystemExit("\n".join(failed))
    return 0


if __name__ == "__main__":
    PACKAGE = pathlib.Path(sys.argv[2]).resolve() / "package"
    sys.exit(main(sys.argv[1]))
