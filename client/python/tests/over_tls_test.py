"""The client against a ptrace-profd over TLS, on 127.0.0.1 in place of another machine.

PP_CLIENT_TLS: tls://127.0.0.1:PORT. PP_CLIENT_TLS_FOLDER: its files, a .crt and a .key for each name: `authority`
signed `me` (our user), `speaker` (which may speak for our user alone) and `expired`; `other-authority` signed
`stranger`. PP_CLIENT_PID: a process of our user.
"""
import asyncio
import os
import socket
import threading
import unittest
from unittest import mock

import grpc

import ptrace_prof
from ptrace_prof import State, Tls

TARGET, FOLDER, PID = os.environ["PP_CLIENT_TLS"], os.environ["PP_CLIENT_TLS_FOLDER"], int(os.environ["PP_CLIENT_PID"])
ME = os.getuid()


def file(name, kind="crt"):
    return f"{FOLDER}/{name}.{kind}"


def tls(name="me", ca="authority", **more):
    return Tls(ca=file(ca), cert=file(name), key=file(name, "key"), **more)


class OverTls(unittest.TestCase):
    def client(self, target=TARGET, **options):
        client = ptrace_prof.Client(target, **({"tls": tls()} | options))
        self.addCleanup(client.close)
        return client

    def refused(self, code, *words, call=lambda client: client.list_captures(), **options):
        """Checks that a call of either client raises this error, and returns it."""
        async def asynchronously():
            async with ptrace_prof.AsyncClient(**({"target": TARGET, "tls": tls()} | options)) as client:
                await call(client)

        with self.assertRaises(ptrace_prof.PtraceProfError) as caught:
            call(self.client(**options))
        with self.assertRaises(ptrace_prof.PtraceProfError) as again:
            asyncio.run(asynchronously())
        for error in (caught.exception, again.exception):
            self.assertEqual(error.code, code, error)
            self.assertTrue(error.remedy, error)
            for word in words:
                self.assertIn(word, str(error))
        return caught.exception

    def test_what_the_client_can_do_it_can_do_over_tls(self):
        client = self.client()
        self.assertTrue(client.node().name)
        self.assertIn(PID, [process.pid for process in client.processes()])
        self.assertTrue(client.stacks(PID))
        for _ in range(20):  # on a busy machine the target may get no CPU for so long
            trace = client.record(PID, duration=0.3)
            if trace.samples:
                break
        self.assertGreater(trace.samples, 0)
        self.assertIs(trace.capture.state, State.SUCCEEDED)
        capture = client.create_capture(PID, duration=0.2)
        self.addCleanup(client.delete_capture, capture.name, force=True)
        self.assertGreater(client.read_trace(capture.name).samples, 0)
        with client.samples(PID, interval=0.1) as batches:
            self.assertIsNotNone(next(batches))

    def test_the_same_asynchronously(self):
        async def body():
            async with ptrace_prof.AsyncClient(TARGET, tls=tls()) as client:
                for duration in (0.2, 1, 5):  # on a busy machine the target may not have run in so short a time
                    trace = await client.record(PID, duration=duration)
                    if trace.samples > 0:
                        break
                return trace
        self.assertGreater(asyncio.run(body()).samples, 0)

    def test_files_may_be_in_the_environment(self):
        said = {"CA": file("authority"), "CERT": file("me"), "KEY": file("me", "key")}
        with mock.patch.dict(os.environ, {f"PTRACE_PROF_TLS_{name}": path for name, path in said.items()}):
            self.assertTrue(self.client(tls=None).node().name)
            self.assertEqual(self.client(tls=Tls(cert=file("speaker"), key=file("speaker", "key"), user=str(ME)))
                             .list_captures(), [])

    def test_a_certificate_for_several_users_names_the_user(self):
        self.assertTrue(self.client(tls=tls("speaker", user=str(ME))).stacks(PID))
        self.refused("UNAUTHENTICATED", "names none", tls=tls("speaker"))
        self.refused("PERMISSION_DENIED", "may not act as user '54399'", tls=tls("speaker", user="54399"))
        self.refused("PERMISSION_DENIED", "may not act as user '54399'", tls=tls(user="54399"))

    def test_each_bad_certificate_is_refused_by_its_name(self):
        wrong = self.refused("UNAVAILABLE", TARGET, "certificate could not be verified", tls=tls(ca="other-authority"))
        self.assertEqual(wrong.reason, "SERVER_UNREACHABLE")
        self.refused("UNAVAILABLE", "not be verified for elsewhere", tls=tls(server_name="elsewhere"))
        self.refused("UNAUTHENTICATED", TARGET, "does not trust the authority that signed", tls=tls("stranger"))
        self.refused("UNAUTHENTICATED", TARGET, "client certificate has expired", tls=tls("expired"))

    def test_every_kind_of_call_says_why(self):
        for call in (lambda client: client.stacks(PID), lambda client: client.record(PID, duration=0.1)):
            self.refused("UNAUTHENTICATED", "client certificate has expired", tls=tls("expired"), call=call)
        with mock.patch("time.sleep"), self.assertRaises(ptrace_prof.PtraceProfError) as caught:
            self.client(tls=tls("expired")).read_trace("nodes/n/captures/c")
        self.assertIn("client certificate has expired", str(caught.exception))
        with self.assertRaises(ptrace_prof.PtraceProfError) as caught:
            next(self.client(tls=tls("expired")).watch_capture("nodes/n/captures/c"))
        self.assertIn("client certificate has expired", str(caught.exception))

    def test_without_a_certificate_nothing_is_asked(self):
        bare = {f"PTRACE_PROF_TLS_{name}": "" for name in ("CA", "CERT", "KEY", "SERVER_NAME")}
        with mock.patch.dict(os.environ, bare):
            for missing, given in (("ca", Tls()), ("cert", Tls(ca=file("authority"), key=file("me", "key"))),
                                   ("key", Tls(ca=file("authority"), cert=file("me")))):
                self.refused("INVALID_ARGUMENT", f"{TARGET} needs a file for `{missing}`", f"Tls({missing}=FILE)",
                             tls=given)
        self.refused("INVALID_ARGUMENT", "cannot read /nowhere", tls=Tls(file("authority"), "/nowhere", "/nowhere"))
        self.refused("INVALID_ARGUMENT", "Tls needs a target tls://HOST:PORT", "/some/socket", target="/some/socket")

    def test_credentials_of_grpc_without_a_certificate(self):
        with open(file("authority"), "rb") as authority:
            credentials = grpc.ssl_channel_credentials(authority.read())
        with self.assertRaises(ptrace_prof.Unavailable) as caught:
            self.client(tls=None, credentials=credentials).list_captures()
        self.assertIn(TARGET, str(caught.exception))

    def test_no_server_and_another_program(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            other.settimeout(60)
            port = other.getsockname()[1]

            def answer():
                for _ in range(8):
                    try:
                        connection, _ = other.accept()
                    except OSError:
                        return
                    with connection:
                        connection.recv(65536)
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

            thread = threading.Thread(target=answer)
            thread.start()
            try:
                self.refused("UNAVAILABLE", f"127.0.0.1:{port}", "does not speak TLS", target=f"tls://127.0.0.1:{port}")
            finally:
                other.shutdown(socket.SHUT_RDWR)
                thread.join()
        self.refused("UNAVAILABLE", f"127.0.0.1:{port}", "refused", target=f"tls://127.0.0.1:{port}")


if __name__ == "__main__":
    unittest.main()
