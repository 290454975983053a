/** How far a setup is, as one process sees it while another one works. */
import t from 'tap';
import { createSetupCode } from '../../src/accounts/setup.js';
import { systemClock } from '../../src/kit/clock.js';

t.test('a page is loaded while the setup’s account is stored → the setup can be gone on with', async (t) => {
  const owner = { role: 'OWNER' };
  let made: { accountId?: string; userId?: string } | null = null;
  const { stage } = createSetupCode({
    forAccount: () => ({ users: { byId: async () => owner }, apiKeys: { byId: async () => null } }) as never,
    setup: { get: async () => made } as never,
    accounts: {
      // The setup's transaction commits after the first look at the setup.
      isAny: async () => {
        made = { accountId: 'acct_1', userId: 'user_1' };
        return true;
      },
    } as never,
    ...{ secrets: {} as never, clock: systemClock, publicUrl: 'http://shop.test', code: null, isOffered: true },
  });
  t.equal(await stage(), 'BEGUN');
  t.equal(await stage(), 'BEGUN');
  owner.role = 'MANAGER';
  t.equal(await stage(), 'DONE');
});
