"""Certificates in the form that an Oppi server makes: a private CA and a leaf signed by it (oppi.md#tls)."""

import base64
import datetime
import hashlib
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID


class Certificates:
    """`ca.pem` and `leaf.pem` in the directory; each new leaf has the same CA."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self._ca_key = rsa.generate_private_key(65537, 2048)
        self._ca = self._certificate("Oppi CA", self._ca_key, 3650, None)
        self.ca_file = self.directory / "ca.pem"
        self.ca_file.write_bytes(self._ca.public_bytes(serialization.Encoding.PEM))
        self.renew()

    def renew(self):
        key = rsa.generate_private_key(65537, 2048)
        leaf = self._certificate("potting-shed", key, 825, self._ca)
        pem = leaf.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        (self.directory / "leaf.pem").write_bytes(pem)
        digest = hashlib.sha256(leaf.public_bytes(serialization.Encoding.DER)).digest()
        self.pin = "sha256:" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.directory / "leaf.pem")

    def _certificate(self, name, key, days, issuer):
        now = datetime.datetime.now(datetime.UTC)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = (x509.CertificateBuilder().subject_name(subject).public_key(key.public_key())
                   .issuer_name(issuer.subject if issuer else subject).serial_number(x509.random_serial_number())
                   .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=days))
                   .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
                   .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
                   .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._ca_key.public_key()), critical=False))
        if issuer is None:
            builder = builder.add_extension(
                x509.KeyUsage(True, False, False, False, False, True, True, False, False), critical=True)
        else:
            names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._ca_key, hashes.SHA256())
