"""The process and its listening socket."""

from __future__ import annotations

import logging
import os
import signal
import socket
import ssl
import sys
from pathlib import Path
from types import FrameType

import structlog
import uvicorn
from starlette.types import ASGIApp

from unpooled_compensator.app import OF_AN_ANSWER
from unpooled_compensator.patience import MAX_CONNECTIONS, PatientProtocol

# What has begun by then is finished; what is cut off is asked again, and answered the same.
SHUTDOWN_SECONDS = 10
# While a study runs the server asks again within this time: it need not connect anew.
KEEP_ALIVE_SECONDS = 60
# Besides connections: the database, the listener, libraries.
_FILES = MAX_CONNECTIONS + 128


def harden_process(log_format: str) -> None:
    """Harden the process: no file of ours is for others, no core dump holds the key, no log line is longer
    than ours.

    Raise the limit of open files, as far as allowed, to suffice for all connections.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(log_lines(log_format == "json"))
    logging.basicConfig(handlers=[handler], level=logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    os.umask(0o077)
    try:
        import resource
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def log_lines(is_json: bool) -> structlog.stdlib.ProcessorFormatter:
    """Format the log as the platform does: for people, or a JSON object on each line."""
    # Neither shows the values of variables in a traceback: there are secrets among them.
    plain = structlog.dev.ConsoleRenderer(
        colors=False,
        sort_keys=False,
        pad_event_to=0,
        pad_level=False,
        exception_formatter=structlog.dev.plain_traceback,
    )
    shown = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()] if is_json else [plain]
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.ExtraAdder(allow=OF_AN_ANSWER),
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *shown],
    )


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, made here so that its port is known, and connections wait, before all is up."""
    try:
        where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise OSError(f"{host}: no such host ({error.strerror}). Choose another --host.") from None
    family, kind, protocol, _, address = where[0]
    listener = socket.socket(family, kind, protocol)
    if os.name == "posix":  # elsewhere this would share the port with another program
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        raise OSError(f"{host} port {port}: {error.strerror}. Choose another --host or --port.") from None
    listener.listen(1024)
    return _prompt(listener)


def inherited(file: int) -> socket.socket:
    """The listening socket that the process has which starts this one: its port stays, whoever dies."""
    return _prompt(socket.socket(fileno=file))


def _prompt(listener: socket.socket) -> socket.socket:
    # asyncio sets it on sockets that it knows to be TCP; without it every answer waits 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def check_tls(certificate: Path | None, key: Path | None) -> None:
    """OSError unless the files can serve TLS."""
    if certificate is None or key is None:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        raise OSError(
            f"{certificate}, {key}: not a certificate and its private key in PEM ({error.reason})."
        ) from None


def authority(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def run(app: ASGIApp, listener: socket.socket, certificate: Path | None, key: Path | None) -> None:
    """Answers until SIGTERM or SIGINT, then finishes what has begun."""
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,  # app.py's shows less
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )

    def stopped(number: int, frame: FrameType | None) -> None:
        """uvicorn raises the signal again when it has finished; that is a success here."""

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stopped)
    uvicorn.Server(config).run([listener])
