/** Users: people of an account, who sign in to the dashboard with a passkey. */
import { z } from 'zod';
import { deletedSchema, listOf } from './envelope.js';
import { userExample } from './examples.js';
import { languageSchema } from './languages.js';
import { operation } from './operation.js';
import { emailInput, idInput, idOf, nameInput, pageQuery, timestamp } from './primitives.js';
import { OWNERS, ROLES } from './roles.js';

export const roleSchema = z.enum(ROLES).meta({
  id: 'Role',
  description:
    'OWNER: everything. MANAGER: everything but users, API keys and operations that show a webhook secret. CASHIER: makes, reads and cancels checkouts of their own and reads their payments, the account, wallets and products. VIEWER: reads everything but users, API keys and activity.',
});

const userShape = {
  id: idOf('user', 'user'),
  name: z.string(),
  role: roleSchema,
  email: z.string().nullable(),
  language: languageSchema
    .nullable()
    .meta({ description: 'The language of the dashboard and of e-mails to them; null: as their browser prefers.' }),
  status: z
    .enum(['INVITED', 'ACTIVE'])
    .meta({ id: 'UserStatus', description: 'INVITED until they have signed in for the first time.' }),
  createdAt: timestamp,
};

export const userSchema = z.object(userShape).meta({ id: 'User', examples: [userExample] });

const invitedUserSchema = z
  .object({
    ...userShape,
    url: z.string().meta({ description: 'The invitation, for one use. Returned in this answer only.' }),
    expiresAt: timestamp.meta({ description: 'When the invitation ends.' }),
  })
  .meta({ id: 'InvitedUser', description: 'The user with their invitation, which is shown once.' });

const passkeySchema = z
  .object({
    id: z.string().meta({ description: 'Credential id, base64url.' }),
    name: z.string().meta({ description: 'The device on which it was made, where that is known.' }),
    createdAt: timestamp,
    lastUsedAt: timestamp.nullable().meta({ description: 'Null before its first sign-in.' }),
  })
  .meta({ id: 'Passkey' });

const invitationSchema = z
  .object({ url: invitedUserSchema.shape.url, expiresAt: invitedUserSchema.shape.expiresAt })
  .meta({ id: 'Invitation', description: 'It is shown once.' });

const languageInput = languageSchema.nullish().meta({
  description: 'The language of the dashboard and of e-mails to them. Null or left out: as their browser prefers.',
});

const tag = 'Users';
const params = { id: idInput('user', 'user') };
const roles = OWNERS;
/** Each for themselves; an OWNER for anybody. */
const everyone = ROLES;

export const users = {
  create: operation({
    method: 'POST',
    path: '/users',
    effect: 'adds',
    roles,
    summary: 'Invite a user',
    description: 'The answer carries a link, `url`, with which they sign in for the first time: once, within 72 h.',
    tag,
    status: 201,
    body: { name: nameInput, role: roleSchema, email: emailInput.nullish(), language: languageInput },
    output: invitedUserSchema,
    secretField: 'url',
    errors: ['conflict'],
    examples: { body: { name: 'Ana', role: 'CASHIER' } },
  }),
  list: operation({
    method: 'GET',
    path: '/users',
    effect: 'reads',
    roles,
    summary: 'List users',
    description: 'Lists users, newest first, invited ones too.',
    tag,
    query: pageQuery,
    output: listOf(userSchema),
  }),
  get: operation({
    method: 'GET',
    path: '/users/{id}',
    effect: 'reads',
    roles,
    summary: 'One user',
    description: 'Returns a user.',
    tag,
    params,
    output: userSchema,
  }),
  update: operation({
    method: 'PATCH',
    path: '/users/{id}',
    effect: 'changes',
    roles,
    summary: 'Change a user',
    description: 'Their sessions end at once. The last OWNER keeps that role (409).',
    tag,
    params,
    body: {
      name: nameInput.optional(),
      role: roleSchema.optional(),
      email: emailInput.nullish(),
      language: languageInput,
    },
    output: userSchema,
    errors: ['conflict'],
    examples: { body: { role: 'MANAGER' } },
  }),
  delete: operation({
    method: 'DELETE',
    path: '/users/{id}',
    effect: 'changes',
    roles,
    summary: 'Remove a user',
    description: 'Their sessions end at once, and their invitation no longer works. The last OWNER stays (409).',
    tag,
    params,
    output: deletedSchema,
    errors: ['conflict'],
  }),
  invite: operation({
    method: 'POST',
    path: '/users/{id}/invite',
    effect: 'changes',
    roles: everyone,
    summary: 'Invite a user again',
    description:
      'A link for one more passkey, for a user who lost theirs or has another device: once, within 72 h. Name, role and sales stay; an earlier invitation ends. Users may invite themselves, OWNERs anybody. A user has at most ten passkeys: the link adds no further one.',
    tag,
    params,
    output: invitationSchema,
    secretField: 'url',
  }),
  passkeys: operation({
    method: 'GET',
    path: '/users/{id}/passkeys',
    effect: 'reads',
    roles: everyone,
    summary: "A user's passkeys",
    description: 'Lists the passkeys, oldest first, at most ten: one’s own, or anybody’s for an OWNER.',
    tag,
    params,
    output: z.array(passkeySchema),
  }),
  deletePasskey: operation({
    method: 'DELETE',
    path: '/users/{id}/passkeys/{passkeyId}',
    effect: 'changes',
    roles: everyone,
    summary: 'Remove a passkey',
    description:
      'It signs in no more; the sessions of its user end at once, and so does an invitation that one of them made. One’s own, or anybody’s for an OWNER. The last passkey of the last OWNER who can sign in stays (409).',
    tag,
    params: { ...params, passkeyId: z.string() },
    output: deletedSchema,
    errors: ['conflict'],
  }),
};
