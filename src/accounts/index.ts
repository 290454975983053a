/** The room's entrance: accounts, and who may act for them. */

export { createAccountService, openAccount, toAccount } from './account.js';
export { type AccountDoc, type AccountStore, createAccountStore } from './account-store.js';
export { createActivityService } from './activity.js';
export { SYSTEM } from './activity-changes.js';
export { type ActivityDoc, type ActivityStore, createActivityStore } from './activity-store.js';
export { hashApiKey } from './api-key.js';
export { type ApiKeyStore, createApiKeyStore } from './api-key-store.js';
export { createApiKeyService } from './api-keys.js';
export { createAuthentication } from './authentication.js';
export { type Act, type Commit, type CommitDeps, createCommit } from './commit.js';
export { createKeyWatch, type KeyWatch, type WatchCaller } from './key-watch.js';
export { createPasskeyChallengeStore } from './passkey-challenges.js';
export { createPasskeys, type Invited, type PasskeyUser } from './passkeys.js';
export { createQuota, type Quota, unlimited } from './quota.js';
export { createSessionCookie, type SessionCookie } from './session-cookie.js';
export { createSessionStore } from './session-store.js';
export { createSessions, type OpenSession, SESSION_MS } from './sessions.js';
export { createUserStore, type UserDoc, type UserStore } from './user-store.js';
export { createUserService } from './users.js';
