/** The room's entrance: accounts, and who may act for them. */

export { createAccountService, createQuota, openAccount, type Quota, toAccount, unlimited } from './account.js';
export { type AccountDoc, type AccountStore, createAccountStore } from './account-store.js';
export { type ActivityDoc, type ActivityStore, createActivityService, createActivityStore } from './activity.js';
export { hashApiKey } from './api-key.js';
export { type ApiKeyStore, createApiKeyService, createApiKeyStore } from './api-keys.js';
export { createAuthentication } from './authentication.js';
export { type Act, type Commit, type CommitDeps, createCommit, type StoreNew, SYSTEM } from './commit.js';
export { createKeyWatch, type KeyWatch, type WatchCaller } from './key-watch.js';
export { createPasskeyChallengeStore, createPasskeys, type Invited, type PasskeyUser } from './passkeys.js';
export {
  createSessionCookie,
  createSessionStore,
  createSessions,
  type OpenSession,
  SESSION_MS,
  type SessionCookie,
} from './sessions.js';
export {
  createSetup,
  createSetupCode,
  createSetupStore,
  type Setup,
  type SetupCode,
  type SetupStage,
  type SetupStore,
} from './setup.js';
export { createUserStore, type UserDoc, type UserStore } from './user-store.js';
export { createUserService } from './users.js';
