"""Servers on this machine that behave as badly as a test wants them to."""

import socket
import threading

import pytest

from isogloss.feeds import Fetcher, FetchLimits
from tests.waiting import LIMIT_S


class Server:
    """Answers every connection with what a function sends."""

    def __init__(self, answer):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.asked = []
        self.answer = answer
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def run(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            request = b""
            while b"\r\n\r\n" not in request:
                if not (received := connection.recv(4096)):
                    return
                request += received
            self.asked.append(request.decode())
            try:
                self.answer(connection, request.split()[1].decode())
            except OSError:
                return

    def fetcher(self, **limits):
        bounds = FetchLimits(**{"deadline": LIMIT_S, "ports": frozenset({self.port})} | limits)
        return Fetcher(bounds, allow=lambda address: True)


def http(body=b"", status="200 OK", **headers):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@pytest.fixture
def serve():
    servers = []

    def start(answer):
        function = answer if callable(answer) else (lambda connection, path: connection.sendall(answer))
        servers.append(Server(function))
        return servers[-1]

    yield start
    for server in servers:
        server.socket.close()
