/** Sets an installation up: its first account and OWNER. Served at `/dashboard/setup`, without
 *  a key. */
import { z } from 'zod';
import { operation } from './operation.js';
import { emailInput, idOf, nameInput } from './primitives.js';

export const setup = {
  enter: operation({
    method: 'POST',
    path: '/setup',
    effect: 'adds',
    summary: 'Set up the installation',
    description: 'Makes the first account and its OWNER, and opens a session.',
    tag: 'Setup',
    body: {
      code: z.string().meta({ description: 'The code that the start of the service printed.' }),
      accountName: nameInput,
      userName: nameInput,
      email: emailInput.nullish(),
      passkeys: z.boolean().default(true).meta({ description: 'False: the browser can make no passkey here.' }),
    },
    output: z.object({
      accountId: idOf('acct', 'account'),
      userId: idOf('user', 'user'),
      apiKey: z.string().nullable().meta({ description: 'A FULL key, shown once, only without passkeys.' }),
    }),
  }),
};
