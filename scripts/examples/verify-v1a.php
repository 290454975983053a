<?php
// A merchant's endpoint in PHP without a secret: it verifies v1a signatures with the service's published keys and PHP's own sodium. Put TLS in
// front of it.
//
// COLLECT_URL=http://127.0.0.1:3000 php -S 127.0.0.1:4000 scripts/examples/verify-v1a.php

const TOLERANCE_SECONDS = 300;

/** Cache the keys for some minutes: a rotated key keeps signing for a day. @return string[]|null null when they cannot be read */
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

/** $headers has names in lower case; $body is the raw body. */
function isGenuine(string $body, array $headers, array $keys): bool
{
    $timestamp = $headers['webhook-timestamp'] ?? '';
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        return false;
    }
    $signed = ($headers['webhook-id'] ?? '') . ".$timestamp.$body";
    // One for each key during a rotation, beside those of secrets.
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
    http_response_code(500); // The service retries the event.
    exit;
}
$body = file_get_contents('php://input');
// PHP returns names as the web server does, such as Webhook-Id.
if (!isGenuine($body, array_change_key_case(getallheaders()), $keys)) {
    http_response_code(400);
    exit;
}
$event = json_decode($body, true);
// The same event may arrive more than once: store $event['id'] in your database.
if ($event['type'] === 'payment.completed') {
    $payment = $event['data']['payment'];
    error_log("ship it: {$payment['amount']} {$payment['assetCode']} arrived ({$payment['id']})");
}
http_response_code(204);
