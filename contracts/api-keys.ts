/** API keys, which authorize callers. A key is shown once; only its SHA-256 is kept. */
import { z } from 'zod';
import { deletedSchema, listOf } from './envelope.js';
import type { FieldError } from './errors.js';
import { apiKeyExample } from './examples.js';
import { operation, type RawBody, type ValidationContext } from './operation.js';
import { idInput, idOf, momentInput, nameInput, pageQuery, timestamp } from './primitives.js';
import { OWNERS } from './roles.js';

export const scopeSchema = z
  .enum(['FULL', 'READ'])
  .meta({ id: 'ApiKeyScope', description: 'READ keys get 403 `forbidden` on anything that writes, and on activity.' });

const apiKeyShape = {
  id: idOf('key', 'API key'),
  name: z.string(),
  scope: scopeSchema,
  keyMasked: z.string().meta({ description: 'First 6 and last 4 characters.', examples: ['sk_4fT…x9Qz'] }),
  lastUsedAt: timestamp.nullable().meta({ description: 'Accurate to about a minute; null while unused.' }),
  expiresAt: timestamp.nullable(),
  createdAt: timestamp,
};

export const apiKeySchema = z.object(apiKeyShape).meta({ id: 'ApiKey', examples: [apiKeyExample] });
export const apiKeyWithSecretSchema = z
  .object({ ...apiKeyShape, key: z.string().meta({ description: 'The full key. Returned in this answer only.' }) })
  .meta({
    id: 'ApiKeyWithKey',
    description: 'The API key with its full `key`, which is shown once: a replay (Idempotency-Key) leaves it out.',
  });

/** Refuses a key that has already expired. */
export const apiKeyFieldErrors = ({ expiresAt }: RawBody, { now }: Pick<ValidationContext, 'now'>): FieldError[] => {
  const isMoment = expiresAt !== null && expiresAt !== undefined && momentInput.safeParse(expiresAt).success;
  if (!isMoment || new Date(expiresAt as string) > now) return [];
  return [{ path: 'expiresAt', message: 'Must be in the future.', code: 'too_small' }];
};

const tag = 'API keys';
const params = { id: idInput('key', 'API key') };

export const apiKeys = {
  create: operation({
    method: 'POST',
    path: '/api-keys',
    effect: 'adds',
    roles: OWNERS,
    summary: 'Create an API key',
    description: 'The answer carries the full `key`, once.',
    tag,
    status: 201,
    body: {
      name: nameInput.meta({ description: 'Label.' }),
      scope: scopeSchema.default('FULL'),
      expiresAt: momentInput.nullish().meta({
        description: 'When the key stops working; in the future. Capped at the end of the key that creates it.',
      }),
    },
    contextRules: apiKeyFieldErrors,
    output: apiKeyWithSecretSchema,
    secretField: 'key',
    examples: { body: { name: 'shop server', scope: 'FULL' } },
  }),
  list: operation({
    method: 'GET',
    path: '/api-keys',
    effect: 'reads',
    roles: OWNERS,
    summary: 'List API keys',
    description: 'Lists the keys of the account, newest first, expired ones included. The full keys are not returned.',
    tag,
    query: pageQuery,
    output: listOf(apiKeySchema),
  }),
  rotate: operation({
    method: 'POST',
    path: '/api-keys/{id}/rotate',
    effect: 'changes',
    roles: OWNERS,
    summary: 'Replace the key',
    description:
      'The old key stops working at once; the answer carries the new `key`, once. It ends no later than the key that creates it.',
    tag,
    params,
    output: apiKeyWithSecretSchema,
    secretField: 'key',
  }),
  delete: operation({
    method: 'DELETE',
    path: '/api-keys/{id}',
    effect: 'changes',
    roles: OWNERS,
    summary: 'Revoke an API key',
    description: 'It gets 401 at once, in every process. The last FULL key cannot be revoked (409).',
    tag,
    params,
    output: deletedSchema,
    errors: ['conflict'],
  }),
};
