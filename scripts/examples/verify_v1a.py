"""A merchant's endpoint in Python without a secret: it verifies `v1a` signatures with the service's published keys. Put TLS in front of it.

The standard library has no Ed25519, so the verification of RFC 8032 stands here. With the package cryptography it is
Ed25519PublicKey.from_public_bytes(key).verify(signature, signed), which is faster.

COLLECT_URL=http://127.0.0.1:3000 PORT=4000 python3 scripts/examples/verify_v1a.py
"""
import base64
import binascii
import hashlib
import json
import os
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

COLLECT_URL = os.environ.get("COLLECT_URL", "http://127.0.0.1:3000")
TOLERANCE_SECONDS = 300
KEYS_FRESH_SECONDS = 300  # A rotated key keeps signing for a day, so even hours would do.
MAX_BODY_BYTES = 1_000_000
handled = set()  # Keep them in your database: the same event may come more than once.

# Ed25519: the curve, its base point, and points as (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z.
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
SQRT_MINUS_1 = pow(2, (P - 1) // 4, P)


def add(a, b):
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    return ((f - e) * (h - g), (h + g) * (f + e), (h - g) * (h + g), (f - e) * (f + e))


def multiply(scalar, point):
    product = (0, 1, 1, 0)
    while scalar > 0:
        if scalar & 1:
            product = add(product, point)
        point = add(point, point)
        scalar >>= 1
    return product


def is_same(a, b):
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


def decode(octets):
    """None when the bytes are not a point of the curve."""
    number = int.from_bytes(octets, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P != 0:
        x = x * SQRT_MINUS_1 % P
    if (x * x - square) % P != 0 or (x == 0 and sign == 1):
        return None
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


BASE = decode((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def verifies(key: bytes, signature: bytes, signed: bytes) -> bool:
    if len(key) != 32 or len(signature) != 64:
        return False
    point, commitment = decode(key), decode(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if point is None or commitment is None or scalar >= ORDER:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + key + signed).digest(), "little") % ORDER
    return is_same(multiply(scalar, BASE), add(commitment, multiply(challenge, point)))


known = (None, 0.0)


def published_keys():
    global known
    keys, at = known
    if keys is None or time.monotonic() - at > KEYS_FRESH_SECONDS:
        with urllib.request.urlopen(COLLECT_URL + "/.well-known/webhook-keys.json", timeout=10) as answer:
            keys = [base64.b64decode(key["publicKey"].removeprefix("whpk_")) for key in json.load(answer)["keys"]]
        known = (keys, time.monotonic())
    return keys


def is_genuine(body: bytes, headers) -> bool:
    """headers finds names in any case; body is the raw body."""
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    signed = f"{headers.get('webhook-id', '')}.{timestamp}.".encode() + body
    # One for each key during a rotation, beside those of secrets.
    passed = [each[len("v1a,"):] for each in headers.get("webhook-signature", "").split(" ") if each.startswith("v1a,")]
    try:
        signatures = [base64.b64decode(each) for each in passed]
    except binascii.Error:
        return False
    return any(verifies(key, signature, signed) for signature in signatures[:20] for key in published_keys())


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        if length > MAX_BODY_BYTES:
            return self.answer(413)
        body = self.rfile.read(length)
        try:
            genuine = is_genuine(body, self.headers)
        except OSError as error:  # The keys cannot be read: the service retries the event.
            print(error, flush=True)
            return self.answer(500)
        if not genuine:
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
