"""A merchant's endpoint in Python, with only the standard library. Put TLS in front of it: webhooks are sent only to https.

WEBHOOK_SECRET=whsec_... PORT=4000 python3 scripts/examples/receive_webhook.py
"""
import base64
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

TOLERANCE_SECONDS = 300
KEY = base64.b64decode(os.environ.get("WEBHOOK_SECRET", "").removeprefix("whsec_"))
if not KEY:  # With an empty key, any sender could sign.
    raise SystemExit("Set WEBHOOK_SECRET to the secret of the webhook, whsec_...")
handled = set()  # Store them in your database: the same event may arrive more than once.


def is_genuine(body: bytes, headers) -> bool:
    """headers finds names in any case; body is the raw body."""
    message_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    digest = hmac.new(KEY, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    genuine = b"v1," + base64.b64encode(digest)
    # Several during the rotation of a secret.
    passed = headers.get("webhook-signature", "").encode().split(b" ")
    return any([hmac.compare_digest(genuine, signature) for signature in passed])


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not is_genuine(body, self.headers):
            return self.answer(400)
        event = json.loads(body)
        if event["id"] not in handled and event["type"] == "payment.completed":
            payment = event["data"]["payment"]
            print(f"ship it: {payment['amount']} {payment['assetCode']} arrived ({payment['id']})", flush=True)
        handled.add(event["id"])
        self.answer(204)

    def answer(self, status: int):
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", int(os.environ.get("PORT", 4000))), Endpoint)
print("listening", flush=True)
server.serve_forever()
