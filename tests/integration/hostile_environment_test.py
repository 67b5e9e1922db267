"""Root's processes open nothing that the environment of their caller names. OpenSSL's configuration (which may load a
library) is here a pipe without a writer, so an attempt to open it would hang for ever."""
import os
import subprocess
import sys
import pathlib
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.certificates import environment  # noqa: E402
from support.target_process import DEADLINE  # noqa: E402
from support.tls_case import TlsCase  # noqa: E402

ADMIN = """
[[identity]]
name = "admin"
common_name = "admin"
user = "root"
root = true
"""


@unittest.skipUnless(os.getuid() == 0, "of others it is their own")
class HostileEnvironment(TlsCase):
    def test_a_configuration_of_openssl_is_not_read(self):
        pipe = self.place.folder / "openssl.cnf"
        os.mkfifo(pipe)
        hostile = {"OPENSSL_CONF": str(pipe), "SSL_CERT_FILE": str(pipe), "https_proxy": "http://127.0.0.1:1/"}
        with mock.patch.dict(os.environ, hostile):
            daemon, address = self.serve(ADMIN, "--multi-user")
            self.addCleanup(daemon.close)
            done = subprocess.run([profiler.BINARY, "captures", "list", "--host", address], text=True, capture_output=True,
                                  env={**os.environ, **environment(self.authority, self.admin)}, timeout=DEADLINE,
                                  stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("there are no captures", done.stderr)


if __name__ == "__main__":
    case.main()
