"""gunicorn's threaded worker, made so that a thread is taken only by a request that has arrived.

gunicorn reads heads and bodies in its threads: sixty strangers who send half a request each would hold them
all. Here the main loop gathers heads and small bodies, and drops who is slow. A large body is read by one of
a few threads for bodies, after the view has asked who sends it; its sender must keep a pace. Threads send the
answers: where readers hold too many of them, the slowest are given up.

A request that waits for news of its study (`Waits`) leaves its thread. The main loop keeps its connection,
sends it a byte now and then, and has a thread answer it anew once it may find something. An asynchronous
server beside this one, uvicorn with Django's views, would do the same with a second set of rules about slow
strangers, bodies and shutdown; the loop that gathers requests can as well keep them.

waitress 3.0 was tried in its place, by `test_slow_strangers`: it answers beside a thousand strangers, or a
hundred readers, and gives them up. But above its limit of connections nobody gets in, where here the oldest
goes; and it stores a body, up to 1 GiB, before a view can ask who sends it, and knows no least rate.
"""

from __future__ import annotations

import contextlib
import errno
import re
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar

from gunicorn.http.body import LengthReader  # type: ignore[import-untyped]
from gunicorn.workers.gthread import TConn, ThreadWorker  # type: ignore[import-untyped]

from unpooled_server.cohort_api.held import HELD, Held, Waits

HEAD_BYTES = 16 << 10
# What a stranger may send: name and password, a form.
SMALL_BODY = 16 << 10
# From a connection's start, or a request's first byte, until all of this is here.
ARRIVAL_SECONDS = 20.0
# Of silence within a large body or an answer.
PAUSE_SECONDS = 20.0
LEAST_RATE = 4 << 10  # bytes a second of a large body, on the average
# After it, whoever has not read a piece is slow; half of the threads may wait for such.
SLOW_PIECE_SECONDS = 1.0
# For the other end to read an answer that came before it had sent all.
LINGER_SECONDS = 3.0
PIECE = 64 << 10  # bytes of an answer that must leave within PAUSE_SECONDS
# Then the loop looks at the connections that it has: newcomers must not keep it from them.
ACCEPTED_AT_ONCE = 64

# Between bytes to a client that waits: proxies give up a connection that is silent for 30 or 60.
KEEP_ALIVE_SECONDS = 15.0
# An answer that comes late begins like this. Newlines follow, which the client drops and nginx is to pass on
# as they come, and then the answer itself.
_BEGINNING = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nCache-Control: no-store\r\n"
    b"X-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n\r\n"
)
_NEWLINE, _END = b"1\r\n\n\r\n", b"0\r\n\r\n"

_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length[ \t]*:[ \t]*(\d{1,18})[ \t]*(?=\r\n)", re.IGNORECASE)


class PacedSocket(socket.socket):
    """Raises TimeoutError where the other end is silent for too long, or slower than LEAST_RATE."""

    readers: ClassVar[dict[PacedSocket, float]] = {}
    """Readers that are being sent a piece of an answer, and since when."""
    waits_until: float | None = None
    """The end of its request's wait, by the monotonic clock; None where it does not wait."""
    has_begun = False
    """True once bytes have been sent that keep it alive."""

    _began, _received = 0.0, 0

    def begin_request(self) -> None:
        self.settimeout(PAUSE_SECONDS)
        self._began, self._received = time.monotonic(), 0

    def recv(self, size: int, flags: int = 0) -> bytes:
        data = super().recv(size, flags)
        if self.gettimeout():
            self._received += len(data)
            if self._received < LEAST_RATE * (time.monotonic() - self._began - PAUSE_SECONDS):
                raise TimeoutError(errno.ETIMEDOUT, "the body comes too slowly")
        return data

    def sendall(self, data: Any, flags: int = 0) -> None:
        view = memoryview(data)  # in pieces: the timeout is one of the whole call
        for start in range(0, len(view), PIECE):
            with self._being_read():
                super().sendall(view[start : start + PIECE], flags)

    def sendfile(self, file: Any, offset: int = 0, count: int | None = None) -> int:
        sent = 0
        while count is None or sent < count:
            with self._being_read():
                piece = super().sendfile(
                    file, offset + sent, PIECE if count is None else min(PIECE, count - sent)
                )
            if not piece:
                break
            sent += piece
        return sent

    @contextlib.contextmanager
    def _being_read(self) -> Iterator[None]:
        self.readers[self] = time.monotonic()
        try:
            yield
        finally:
            self.readers.pop(self, None)


def give_up_readers(readers: dict[PacedSocket, float], most: int) -> None:
    """Close the slowest of more than `most` slow readers: the threads that send to them are free at once."""
    slow_since = time.monotonic() - SLOW_PIECE_SECONDS
    # A copy: threads add and remove readers meanwhile. By file number too, for sockets have no order.
    slow = sorted((since, sock.fileno(), sock) for sock, since in list(readers.items()) if since < slow_since)
    for _, _, sock in slow[: max(0, len(slow) - most)]:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


class Parked(BaseException):
    """Ends the handling of a request that waits; no Exception, which gunicorn would answer."""

    def __init__(self, wait: Waits) -> None:
        super().__init__()
        self.wait = wait


class Answered(BaseException):
    """Ends the handling of a request whose answer had begun; gunicorn would begin another."""


class Connection(TConn):  # type: ignore[misc]
    """A connection, and what has arrived of its next request."""

    def __init__(self, cfg: Any, sock: socket.socket, client: Any, server: Any) -> None:
        paced = PacedSocket(sock.family, sock.type, sock.proto, fileno=sock.detach())
        super().__init__(cfg, paced, client, server)
        self.data_ready = True  # gunicorn would wait for it, in a thread
        self.arrived = bytearray()
        self.asked = b""
        """The request that a thread has, and what came behind it."""

    @property
    def body_bytes(self) -> int:
        """Length of the body of the request whose head has arrived. gunicorn refuses two lengths; here the
        larger counts.
        """
        head = self.arrived[: self.arrived.find(_END_OF_HEAD) + 2]
        return max(map(int, _LENGTH.findall(head)), default=0)

    @property
    def has_large_body(self) -> bool:
        return self.body_bytes > SMALL_BODY

    @property
    def is_too_large(self) -> bool:
        return self.arrived.find(_END_OF_HEAD, 0, HEAD_BYTES) < 0 and len(self.arrived) >= HEAD_BYTES

    @property
    def is_ready(self) -> bool:
        """True if a thread can take the request: its head is here, and its body unless that is large."""
        head = self.arrived.find(_END_OF_HEAD)
        if head < 0:
            return False
        length = self.body_bytes
        return length > SMALL_BODY or len(self.arrived) >= head + len(_END_OF_HEAD) + length

    def hand_over(self) -> None:
        """Give gunicorn's parser what has arrived."""
        self.init()
        self.asked = bytes(self.arrived)
        self.parser.unreader.unread(self.asked)
        self.arrived.clear()

    def ask_again(self) -> None:
        """Let the request arrive once more, at a new parser: the old one may have seen the last request."""
        self.parser: Any = None
        self.initialized = False
        self.arrived = bytearray(self.asked)

    def take_back(self) -> None:
        """Take back what the parser has not used: it is the beginning of the next request."""
        self.arrived += self.parser.unreader.take_buffered()

    def body_is_here(self) -> bool:
        """Tell whether the request is received to its end, so that another can follow it."""
        reader = getattr(self.parser.mesg.body, "reader", None)
        return (
            isinstance(reader, LengthReader) and reader.length <= self.parser.unreader.buf.getbuffer().nbytes
        )


class Worker(ThreadWorker):  # type: ignore[misc]
    """Waits for requests without threads, and forgets the one that has kept it waiting for longest."""

    wsgi: Any

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.waiting: dict[Connection, None] = {}  # oldest first
        # Whoever sends large bodies slowly, with a token or a session, holds up other large bodies only.
        self.for_bodies = ThreadPoolExecutor(max(1, self.cfg.threads // 4), thread_name_prefix="body")
        self.parked: dict[Connection, Waits] = {}
        self._next_look = self._next_sign = 0.0

    def load_wsgi(self) -> None:
        super().load_wsgi()
        self.wsgi = partial(self._answer, self.wsgi)
        from unpooled_server.cohort_api.looker import Looker  # Django is set up now

        self.looker = Looker[Connection](lambda conn: self.method_queue.defer(self._wake, conn))

    # Connections

    def accept(self, listener: socket.socket) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            if self.nr_conns + 1 >= self.worker_connections:
                self._drop_oldest()
            try:
                accepted, client = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    self._drop_oldest()
                return
            self.nr_conns += 1
            conn = Connection(self.cfg, accepted, client, listener.getsockname())
            self._wait(conn, self._receive, ARRIVAL_SECONDS)

    def _wait(self, conn: Connection, then: Callable[[Connection], None], seconds: float) -> None:
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + seconds
        self.waiting[conn] = None
        # One that was dropped in this turn of the loop may still be among its events.
        self.poller.register(
            conn.sock, selectors.EVENT_READ, lambda _: then(conn) if conn in self.waiting else None
        )

    def _wait_no_longer(self, conn: Connection) -> None:
        self.waiting.pop(conn, None)
        with contextlib.suppress(KeyError, ValueError, OSError):
            self.poller.unregister(conn.sock)

    def _drop(self, conn: Connection) -> None:
        self._wait_no_longer(conn)
        self.nr_conns -= 1
        conn.close()

    def _drop_oldest(self) -> None:
        if oldest := next(iter(self.waiting), None):
            self._drop(oldest)

    # Requests

    def _receive(self, conn: Connection) -> None:
        try:
            data = conn.sock.recv(HEAD_BYTES)
        except BlockingIOError:
            return
        except OSError:
            self._drop(conn)
            return
        if data:
            if not conn.arrived:
                conn.timeout = time.monotonic() + ARRIVAL_SECONDS
            conn.arrived += data
            self._go_on(conn)
        elif conn.arrived:  # the other end has closed its half in the middle of a request
            self._refuse(conn, b"400 Bad Request")
        else:
            self._drop(conn)

    def _go_on(self, conn: Connection) -> None:
        if conn.is_too_large:
            self._refuse(conn, b"431 Request Header Fields Too Large")
        elif conn.is_ready:
            self._wait_no_longer(conn)
            pool = self.for_bodies if conn.has_large_body else self.tpool
            conn.hand_over()
            done: Future[bool] = pool.submit(self.handle, conn)
            done.add_done_callback(partial(self.method_queue.defer, self.finish_request, conn))

    def handle_request(self, request: Any, conn: Connection) -> bool:
        conn.sock.begin_request()
        try:
            return bool(super().handle_request(request, conn))
        except TimeoutError:
            self.log.info("Gave up on %s: it took its answer too slowly", conn.client)
            return False

    def _keepalive_after(self, conn: Connection, keepalive: bool) -> bool:
        """gunicorn would read the rest of a body that no view has read, in a thread."""
        return keepalive and conn.body_is_here() and bool(super()._keepalive_after(conn, keepalive))

    def finish_request(self, conn: Connection, done: Future[bool]) -> None:
        error = None if done.cancelled() else done.exception()
        if isinstance(error, Parked):
            self._park(conn, error.wait)
            return
        conn.sock.waits_until, conn.sock.has_begun = None, False
        is_kept = isinstance(error, Answered) or (not (done.cancelled() or error) and done.result())
        if not is_kept or not self.alive:
            self._linger(conn)
            return
        conn.take_back()
        self._wait(conn, self._receive, ARRIVAL_SECONDS if conn.arrived else self.cfg.keepalive)
        self._go_on(conn)

    # Requests that wait

    def _answer(self, application: Any, environ: dict[str, Any], start_response: Any) -> Any:
        """Answer as the application does, unless the request has to wait."""
        sock: PacedSocket = environ["gunicorn.socket"]
        # The rest of the connections is for those who bring something.
        waiting, places = len(self.parked), self.worker_connections * 3 // 4
        has_place = sock.waits_until is not None or waiting < places
        can_be_kept_alive = environ["SERVER_PROTOCOL"] == "HTTP/1.1"
        environ[HELD] = Held(has_place, can_be_kept_alive, sock.waits_until, waiting, places)
        if sock.has_begun:
            _end_answer(sock, application, environ)
        return _unless_it_waits(application(environ, start_response))

    def _park(self, conn: Connection, wait: Waits) -> None:
        conn.sock.waits_until = wait.until
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + KEEP_ALIVE_SECONDS
        self.parked[conn] = wait
        self.poller.register(conn.sock, selectors.EVENT_READ, lambda _: self._receive_parked(conn))
        self.looker.add(conn, wait)
        if not self.alive:
            self._wake_at_end(conn)

    def _unpark(self, conn: Connection) -> bool:
        """Take it from those that wait; tell whether it was there."""
        wait = self.parked.pop(conn, None)
        if wait is not None:
            self.looker.remove(conn, wait)
            self.poller.unregister(conn.sock)
        return wait is not None

    def _receive_parked(self, conn: Connection) -> None:
        """Mostly the other end is gone. What it sends meanwhile is the beginning of its next request."""
        try:
            data = conn.sock.recv(HEAD_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data and len(conn.asked) < HEAD_BYTES:
            conn.asked += data
        else:
            self._drop_parked(conn)

    def _drop_parked(self, conn: Connection) -> None:
        if self._unpark(conn):
            self._drop(conn)

    def _wake(self, conn: Connection) -> None:
        if self._unpark(conn):
            conn.ask_again()
            self._go_on(conn)

    def _wake_at_end(self, conn: Connection) -> None:
        conn.sock.waits_until = 0.0
        self._wake(conn)

    def _keep_alive(self, conn: Connection, now: float) -> None:
        data = _NEWLINE if conn.sock.has_begun else _BEGINNING + _NEWLINE
        conn.timeout, conn.sock.has_begun = now + KEEP_ALIVE_SECONDS, True
        with contextlib.suppress(OSError):
            if conn.sock.send(data) == len(data):
                return
        self._drop_parked(conn)

    # Ends

    def _refuse(self, conn: Connection, status: bytes) -> None:
        with contextlib.suppress(OSError):
            conn.sock.send(b"HTTP/1.1 %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status)
        self._wait_no_longer(conn)
        self._linger(conn)

    def _linger(self, conn: Connection) -> None:
        """Close once the other end has. Were it closed while bytes come in, the answer would be lost."""
        try:
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._drop(conn)
        else:
            conn.arrived.clear()
            self._wait(conn, self._discard, LINGER_SECONDS)

    def _discard(self, conn: Connection) -> None:
        try:
            if conn.sock.recv(PIECE):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._drop(conn)

    def notify(self) -> None:
        """Show gunicorn that the loop goes on: once a second will do, where it would after every event."""
        now = time.monotonic()
        if now >= self._next_sign:
            self._next_sign = now + 1.0
            super().notify()

    def murder_pending(self) -> None:
        """gunicorn calls this after every event, and once a second: that is enough."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + 1.0
        give_up_readers(PacedSocket.readers, self.cfg.threads // 2)
        for conn in [conn for conn, wait in self.parked.items() if wait.is_long and conn.timeout <= now]:
            self._keep_alive(conn, now)
        for conn in [conn for conn in self.waiting if conn.timeout <= now]:
            if conn.arrived:
                self._refuse(conn, b"408 Request Timeout")
            else:
                self._drop(conn)

    def _cap_keepalive(self, deadline: float) -> None:
        """The process is to end: who waits has until then to send what is on its way."""
        for conn in self.waiting:
            conn.timeout = min(conn.timeout, deadline)
        for conn in list(self.parked):
            self._wake_at_end(conn)


def _unless_it_waits(response: Any) -> Any:
    if isinstance(response, Waits):
        response.close()
        raise Parked(response)
    return response


def _end_answer(sock: PacedSocket, application: Any, environ: dict[str, Any]) -> None:
    """Send what the application answers behind what has been sent, which said 200.

    Of any other status nothing follows: the client asks again, and is told.
    """
    statuses: list[str] = []
    response = _unless_it_waits(application(environ, lambda status, *_: statuses.append(status)))
    with contextlib.closing(response):
        body = b"".join(response) if statuses[-1].startswith("200") else b""
    sock.sendall((b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + _END)
    raise Answered
