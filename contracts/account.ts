/** The account: owner of everything that its API keys can reach. */
import { z } from 'zod';
import { accountExample } from './examples.js';
import { operation } from './operation.js';
import { idOf, timestamp } from './primitives.js';

export const accountSchema = z
  .object({ id: idOf('acct', 'account'), name: z.string(), createdAt: timestamp })
  .meta({ id: 'Account', examples: [accountExample] });

const tag = 'Account';

export const account = {
  get: operation({
    method: 'GET',
    path: '/account',
    summary: "The caller's account",
    description: 'Returns the account that the API key belongs to.',
    tag,
    output: accountSchema,
  }),
};
