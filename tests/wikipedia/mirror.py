"""A mirror of dumps on this machine, which fails when a test wants it to."""

import http.server
import re
import socket
import struct
import threading
from collections import defaultdict, deque
from pathlib import Path


class FaultyMirror:
    """Serves a folder; faults are taken from a queue for each path, one for each request.

    A fault is ``reset`` (the connection breaks off in the middle of the body), ``short`` (it ends early),
    ``wrong`` (a byte of the body is another), ``whole`` (a range is ignored), ``other range``, or a status
    with headers such as ``(503, {"Retry-After": "7"})``.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.faults = defaultdict(deque)
        self.requests = []
        self.etags = {}
        mirror = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                mirror.answer(self)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def fail(self, name, *faults):
        """Have the next requests for a file fail."""
        self.faults[name].extend(faults)

    def ranges(self, name):
        """The ranges that were asked for, of a file."""
        return [headers.get("Range") for path, headers in self.requests if path.endswith(name)]

    def answer(self, request):
        self.requests.append((request.path, dict(request.headers)))
        target = self.folder / request.path.strip("/")
        faults = self.faults[target.name]
        fault = faults.popleft() if faults else None
        if isinstance(fault, tuple):
            return self.send(request, fault[0], b"busy", fault[1])
        if target.is_dir():
            entries = "".join(f'<a href="{each.name}/">{each.name}/</a>\n' for each in target.iterdir())
            return self.send(request, 200, entries.encode(), {})
        if not target.is_file():
            return self.send(request, 404, b"no", {})
        return self.send_file(request, target, fault)

    def send_file(self, request, target, fault):
        content = target.read_bytes()
        etag = self.etags.get(target.name, f'"{len(content)}"')
        headers, status, first = {"ETag": etag, "Accept-Ranges": "bytes"}, 200, 0
        wanted = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))
        if wanted and fault != "whole" and request.headers.get("If-Range") == etag:
            first, status = int(wanted[1]) - 5 * (fault == "other range"), 206
            if first >= len(content):
                return self.send(request, 416, b"", {})
            headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
        body = content[first:]
        if fault == "wrong":
            body = body[:-1] + bytes([body[-1] ^ 1])
        if fault in ("reset", "short"):
            return self.break_off(request, status, body, headers, fault)
        return self.send(request, status, body, headers)

    def send(self, request, status, body, headers):
        request.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)

    def break_off(self, request, status, body, headers, fault):
        request.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body[: len(body) // 2])
        request.wfile.flush()
        if fault == "reset":
            linger = struct.pack("ii", 1, 0)
            request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        request.close_connection = True
        request.connection.close()
