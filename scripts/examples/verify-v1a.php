<?php
// A merchant's endpoint in PHP that knows no secret: it verifies v1a signatures by the service's published keys, with PHP's own sodium. Put TLS in
// front of it.
//
// COLLECT_URL=http://127.0.0.1:3000 php -S 127.0.0.1:4000 scripts/examples/verify-v1a.php

const TOLERANCE_SECONDS = 300;

/** Keep them for some minutes in your cache; a rotated key goes on signing for a day. @return string[]|null null when they cannot be read */
function publishedKeys(): ?array
{
    $url = (getenv('COLLECT_URL') ?: 'http://127.0.0.1:3000') . '/.well-known/webhook-keys.json';
    $answer = file_get_contents($url, false, stream_context_create(['http' => ['timeout' => 10]]));
    if ($answer === false) {
        return null;
    }
    $keys = json_decode($answer, true)['keys'];
    return array_map(fn ($key) => base64_decode(substr($key['publicKey'], strlen('whpk_'))), $keys);
}

/** $headers has its names in lower case; $body is as it came. */
function isGenuine(string $body, array $headers, array $keys): bool
{
    $timestamp = $headers['webhook-timestamp'] ?? '';
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        return false;
    }
    $signed = ($headers['webhook-id'] ?? '') . ".$timestamp.$body";
    // One for each key while a key is rotated, beside those of secrets.
    foreach (explode(' ', $headers['webhook-signature'] ?? '') as $passed) {
        $signature = str_starts_with($passed, 'v1a,') ? base64_decode(substr($passed, strlen('v1a,')), true) : false;
        if ($signature === false || strlen($signature) !== SODIUM_CRYPTO_SIGN_BYTES) {
            continue;
        }
        foreach ($keys as $key) {
            if (sodium_crypto_sign_verify_detached($signature, $signed, $key)) {
                return true;
            }
        }
    }
    return false;
}

$keys = publishedKeys();
if ($keys === null) {
    http_response_code(500); // The event comes again.
    exit;
}
$body = file_get_contents('php://input');
// PHP writes names as the web server does: Webhook-Id, for example.
if (!isGenuine($body, array_change_key_case(getallheaders()), $keys)) {
    http_response_code(400);
    exit;
}
$event = json_decode($body, true);
// The same event may come more than once: keep $event['id'] in your database.
if ($event['type'] === 'payment.completed') {
    $payment = $event['data']['payment'];
    error_log("ship it: {$payment['amount']} {$payment['assetCode']} arrived ({$payment['id']})");
}
http_response_code(204);
