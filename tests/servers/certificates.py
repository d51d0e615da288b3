"""Throw-away authorities and certificates, valid for an hour and for this machine only."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class Pair:
    certificate: Path
    key: Path


class Authority:
    """A certificate authority that lives in a folder."""

    def __init__(self, folder, name):
        self.folder = folder / name
        self.folder.mkdir()
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = self._signed(self._name, self._key, is_authority=True)
        self.certificate = self._written("ca.crt", self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name):
        """Return a certificate for localhost, good for servers and clients."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), key)
        plain = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return Pair(
            certificate=self._written(f"{name}.crt", certificate.public_bytes(serialization.Encoding.PEM)),
            key=self._written(f"{name}.key", plain),
        )

    def _signed(self, subject, key, *, is_authority=False):
        now = dt.datetime.now(dt.UTC)
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(minutes=5))
            .not_valid_after(now + dt.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .add_extension(_usage(is_authority=is_authority), critical=True)
        )
        return builder.sign(self._key, hashes.SHA256())

    def _written(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path


def _usage(*, is_authority):
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


@dataclass
class Trust:
    """What a test of one boundary needs: our authority, a stranger's, and a pair for each end."""

    ours: Authority
    strangers: Authority
    server: Pair
    client: Pair

    def query(self, *, authority=None, with_client=True):
        """Return the options of a URL that make a client trust an authority and show its certificate."""
        parts = [f"tls_ca_path={(authority or self.ours).certificate}"]
        if with_client:
            parts += [f"tls_cert_path={self.client.certificate}", f"tls_key_path={self.client.key}"]
        return "&".join(parts)


def new_trust(folder):
    ours, strangers = Authority(folder, "ours"), Authority(folder, "strangers")
    return Trust(ours=ours, strangers=strangers, server=ours.issue("server"), client=ours.issue("client"))
