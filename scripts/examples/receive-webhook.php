<?php
// A merchant's endpoint in PHP, with nothing to install. Put TLS in front of it: webhooks are sent only to https.
//
// WEBHOOK_SECRET=whsec_... php -S 127.0.0.1:4000 scripts/examples/receive-webhook.php

const TOLERANCE_SECONDS = 300;

/** $headers has names in lower case; $body is the raw body. */
function isGenuine(string $body, array $headers, string $secret): bool
{
    $timestamp = $headers['webhook-timestamp'] ?? '';
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        return false;
    }
    $key = base64_decode(preg_replace('/^whsec_/', '', $secret));
    $signed = ($headers['webhook-id'] ?? '') . ".$timestamp.$body";
    $genuine = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
    // Several during the rotation of a secret.
    foreach (explode(' ', $headers['webhook-signature'] ?? '') as $signature) {
        if (hash_equals($genuine, $signature)) {
            return true;
        }
    }
    return false;
}

$secret = getenv('WEBHOOK_SECRET') ?: '';
// With an empty key, any sender could sign.
if ($secret === '') {
    error_log('Set WEBHOOK_SECRET to the secret of the webhook, whsec_...');
    http_response_code(500);
    exit;
}
$body = file_get_contents('php://input');
// PHP returns names as the web server does, such as Webhook-Id.
$headers = array_change_key_case(getallheaders());
if (!isGenuine($body, $headers, $secret)) {
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
