"""A server that webhooks are sent to."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver:
    """A receiver of webhooks: what came, and what to answer."""

    def __init__(self, port=0):
        self.got, self.answers, self.gate = [], [], threading.Event()
        self.gate.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, headers = outer.answers.pop(0) if outer.answers else (204, {})
                outer.got.append((dict(self.headers), body, status))
                outer.gate.wait(60)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook"
        threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()

    def close(self):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()

    def accepted(self):
        return [json.loads(body) for _, body, status in self.got if status < 300]

    def keys(self):
        return [headers["Idempotency-Key"] for headers, *_ in self.got]
