"""A server in place of others' programs that collect what ours report: errors, and spans."""

from __future__ import annotations

import gzip
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from .patience import PATIENCE


@dataclass
class Collector:
    """Keeps the body of each request, and answers while it is not held."""

    got: list[bytes] = field(default_factory=list)
    go_on: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    def spans(self) -> list[Span]:
        """Return the spans that have come."""
        requests = [ExportTraceServiceRequest.FromString(body) for body in list(self.got)]
        scopes = [scope for one in requests for each in one.resource_spans for scope in each.scope_spans]
        return [span for scope in scopes for span in scope.spans]


def numbers(span: Span) -> dict[str, str]:
    """Return what a span says besides its name and times."""
    return {each.key: each.value.string_value or str(each.value.int_value) for each in span.attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """Run one."""
    collector = Collector()
    collector.go_on.set()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.got.append(gzip.decompress(body) if self.headers.get("Content-Encoding") else body)
            collector.go_on.wait(PATIENCE)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield collector
    finally:
        collector.go_on.set()
        server.shutdown()
        server.server_close()
