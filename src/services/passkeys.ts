/** Passkeys (WebAuthn): an invitation makes one, and it signs its user in. The browser binds it to the host of `PUBLIC_URL`. */
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import type { Role } from '../../contracts/roles.js';
import type { Clock } from '../clock.js';
import { AlreadyMade } from '../domain/already-made.js';
import { hashToken, isToken } from '../domain/token.js';
import type { ForAccount } from '../stores/index.js';
import type { PasskeyChallengeStore } from '../stores/passkey-challenges.js';
import type { UserDoc, UserStore } from '../stores/users.js';
import type { Commit } from './commit.js';
import { toCaller } from './sessions.js';

/** Time for the browser to answer. */
const CHALLENGE_MS = 5 * 60_000;
/** Loaded on first use, so that the service starts without it. */
const webAuthn = () => import('@simplewebauthn/server');

/** The user of a passkey or an invitation. */
export type PasskeyUser = UserDoc;

/** An invitation, as its page shows it. */
export interface Invited {
  name: string;
  role: Role;
  account: string;
  options: PublicKeyCredentialCreationOptionsJSON;
}

interface PasskeyDeps {
  users: Pick<UserStore, 'byInvitation' | 'byPasskey' | 'accept' | 'noteUse'>;
  challenges: PasskeyChallengeStore;
  forAccount: ForAccount<'account'>;
  commit: Commit;
  publicUrl: string;
  clock: Clock;
}

/** The service as WebAuthn's relying party. */
interface RelyingParty extends PasskeyDeps {
  rpID: string;
  expected: { expectedOrigin: string; expectedRPID: string; requireUserVerification: true };
}

export function createPasskeys(deps: PasskeyDeps) {
  const { hostname, origin } = new URL(deps.publicUrl);
  const party: RelyingParty = {
    ...deps,
    rpID: hostname,
    expected: { expectedOrigin: origin, expectedRPID: hostname, requireUserVerification: true },
  };

  return {
    invited: (token: string) => invited(party, token),
    accept: (token: string, response: RegistrationResponseJSON, address: string) =>
      accept(party, token, response, address),
    signInOptions: () => signInOptions(party),
    signIn: (response: AuthenticationResponseJSON) => signIn(party, response),
  };
}

const remember = ({ challenges, clock }: RelyingParty, challenge: string, userId: string | null) =>
  challenges.insert(challenge, userId, new Date(clock.nowMs() + CHALLENGE_MS));

/** The browser's answer, verified; null if invalid, for which the library throws arbitrary errors. Errors of the look-up of the challenge are passed on. */
async function checked<Answer>(
  { challenges, clock }: RelyingParty,
  userId: string | null,
  verify: (isExpected: (challenge: string) => Promise<boolean>) => Promise<Answer>,
): Promise<Answer | null> {
  let taking: Promise<boolean> = Promise.resolve(false);
  const isExpected = (challenge: string) => {
    taking = challenges.take(challenge, userId, clock.now());
    return taking;
  };
  return verify(isExpected).catch(async () => {
    await taking;
    return null;
  });
}

const invitedBy = async ({ users, clock }: RelyingParty, token: string): Promise<UserDoc | null> =>
  isToken(token) ? users.byInvitation(hashToken(token), clock.now()) : null;

/** Null for a used, expired or unknown invitation. */
async function invited(party: RelyingParty, token: string): Promise<Invited | null> {
  const user = await invitedBy(party, token);
  if (!user) return null;
  const account = (await party.forAccount(user.accountId).account.get())!.name;
  const { generateRegistrationOptions } = await webAuthn();
  const options = await generateRegistrationOptions({
    rpID: party.rpID,
    rpName: account,
    userName: user.name,
    userID: new Uint8Array(Buffer.from(user._id)),
    timeout: CHALLENGE_MS,
    attestationType: 'none',
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
  await remember(party, options.challenge, user._id);
  return { name: user.name, role: user.role, account, options };
}

/** Stores the user's passkey and uses the invitation up. @returns null when either is invalid */
async function accept(
  party: RelyingParty,
  token: string,
  response: RegistrationResponseJSON,
  address: string,
): Promise<UserDoc | null> {
  const { expected, clock, commit, users } = party;
  const user = await invitedBy(party, token);
  if (!user) return null;
  const { verifyRegistrationResponse } = await webAuthn();
  const answer = await checked(party, user._id, (expectedChallenge) =>
    verifyRegistrationResponse({ ...expected, response, expectedChallenge }),
  );
  if (!answer?.registrationInfo) return null;
  const { id, publicKey, counter } = answer.registrationInfo.credential;
  const now = clock.now();
  const passkey = { id, publicKey: Buffer.from(publicKey).toString('base64url'), counter, createdAt: now };
  const doing = { operation: 'users_accept', effect: 'changes', input: {} } as const;
  return commit({ caller: { ...toCaller(user), address, doing }, subjectId: user._id }, (session) =>
    users.accept(hashToken(token), passkey, now, session),
  ).catch((error: unknown) => {
    if (error instanceof AlreadyMade) return null;
    throw error;
  });
}

async function signInOptions(party: RelyingParty): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await webAuthn();
  const options = await generateAuthenticationOptions({
    rpID: party.rpID,
    timeout: CHALLENGE_MS,
    userVerification: 'required',
  });
  await remember(party, options.challenge, null);
  return options;
}

/** Null for an invalid answer, or a passkey of no user. */
async function signIn(party: RelyingParty, response: AuthenticationResponseJSON): Promise<UserDoc | null> {
  const { users, expected } = party;
  if (typeof response.id !== 'string') return null;
  const user = await users.byPasskey(response.id);
  const passkey = user?.passkeys.find(({ id }) => id === response.id);
  if (!user || !passkey || user.status !== 'ACTIVE') return null;
  const { verifyAuthenticationResponse } = await webAuthn();
  const credential = {
    id: passkey.id,
    publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')),
    counter: passkey.counter,
  };
  const answer = await checked(party, null, (expectedChallenge) =>
    verifyAuthenticationResponse({ ...expected, response, expectedChallenge, credential }),
  );
  if (!answer?.verified) return null;
  await users.noteUse(user._id, passkey.id, answer.authenticationInfo.newCounter);
  return user;
}
