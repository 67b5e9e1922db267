"""A certificate authority for one test, and certificates signed by it. openssl makes them, and all are deleted
afterwards."""
import os
import subprocess

_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def _openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, stdin=subprocess.DEVNULL)


class Authority:
    """`file`: its own certificate. `above`: the authority that signed it, else itself."""

    def __init__(self, folder, name="authority", above=None):
        self.folder, self.name, self.above = folder, name, above
        self.file = folder / f"{name}.crt"
        self._key = folder / f"{name}.key"
        if above is None:
            _openssl("req", "-x509", *_CURVE, "-keyout", self._key, "-out", self.file, "-subj", f"/CN={name}", "-days", 2)
        else:
            own = above.sign(name, extensions="basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign,cRLSign\n")
            os.rename(own.file, self.file)
            os.rename(own.key, self._key)

    def sign(self, name, alternatives="", days=2, usage="clientAuth", extensions=""):
        """A certificate with that common name, followed by its chain up to a root."""
        key, request, wishes, file = (self.folder / f"{self.name}-{name}.{kind}" for kind in ("key", "csr", "ext", "crt"))
        names = f"subjectAltName={alternatives}\n" if alternatives else ""
        wishes.write_text(extensions or f"extendedKeyUsage={usage}\n{names}")
        _openssl("req", "-new", *_CURVE, "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        _openssl("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self._key, "-days", days, "-extfile",
                 wishes, "-out", file)
        if self.above is not None:
            file.write_text(file.read_text() + self.file.read_text())
        os.chmod(key, 0o600)
        return Certificate(file, key)

    def revoke(self, *certificates, days=2):
        """The file with the authority's list of revoked certificates, to which these are added."""
        stem = self.folder / self.name
        config, index, file = (stem.with_name(f"{stem.name}.{kind}") for kind in ("cnf", "index", "crl"))
        if not config.exists():
            index.write_text("")
            config.write_text(f"[ca]\ndefault_ca = it\n[it]\ndatabase = {index}\ncertificate = {self.file}\n"
                              f"private_key = {self._key}\ndefault_md = sha256\n")
        for certificate in certificates:
            _openssl("ca", "-config", config, "-revoke", certificate.file)
        _openssl("ca", "-config", config, "-gencrl", "-crldays", days, "-out", file)
        return file


class Certificate:
    def __init__(self, file, key):
        self.file, self.key = file, key


def environment(authority, certificate=None, user=None):
    """The environment variables that a client gets."""
    said = {"PTRACE_PROF_TLS_CA": str(authority.file)}
    if certificate is not None:
        said |= {"PTRACE_PROF_TLS_CERT": str(certificate.file), "PTRACE_PROF_TLS_KEY": str(certificate.key)}
    return said | ({"PTRACE_PROF_AS": str(user)} if user is not None else {})
