"""Receives callbacks with Python's standard library alone."""

import base64
import hashlib
import hmac
import json
import os
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("CALLBACK_SECRET", "")


def is_genuine(headers, raw_body: bytes, secret: str) -> bool:
    job_id = headers.get("X-Service-Job-Id")
    timestamp = headers.get("X-Service-Timestamp")
    signature = headers.get("X-Service-Signature")
    if not secret or not job_id or not timestamp or not signature:
        return False
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > 300:
        return False
    message = f"{job_id}.{timestamp}.".encode() + raw_body
    digest = hmac.new(secret.encode(), message, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    return hmac.compare_digest(expected.encode(), signature.encode())


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not is_genuine(self.headers, body, SECRET):
            return self.respond(401)
        callback = json.loads(body)
        print(f"{callback['id']}: a mail to {callback['payload']['to']}", flush=True)
        self.respond(200, {"sent": callback["payload"]["to"]})

    def respond(self, status, result=None):
        body = b"" if result is None else json.dumps(result).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Receiver)
    print("Listening on", server.server_address, flush=True)
    server.serve_forever()
