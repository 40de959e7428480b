"""A program that gets webhooks: a real one, with TLS and a certificate of its own."""

from __future__ import annotations

import datetime
import http.server
import ipaddress
import ssl
import threading
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.patience import PATIENCE


@dataclass
class Receiver:
    """Answers with the next of `answers`, the last one again and again; and waits while it is `held`."""

    folder: Path
    answers: list[int] = field(default_factory=lambda: [204])
    location: str = ""
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)
    drips: bool = False
    """It never ends its answer."""
    stopped: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        self.go_on.set()
        self.certificate = self.folder / "certificate.pem"
        _make_certificate(self.certificate)
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://localhost:{self._server.server_port}/hook?from=unpooled"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.go_on.set()
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
                receiver.asked.set()
                receiver.go_on.wait(PATIENCE)
                if receiver.drips:
                    self._drip()
                    return
                self.send_response(receiver.answers[min(len(receiver.got), len(receiver.answers)) - 1])
                if receiver.location:
                    self.send_header("Location", receiver.location)
                self.end_headers()

            def _drip(self) -> None:
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                while not receiver.stopped.wait(0.1):
                    self.wfile.write(b"X: y\r\n")

            def log_message(self, *_: object) -> None: ...

        return Handler


def _make_certificate(file: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            ),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
