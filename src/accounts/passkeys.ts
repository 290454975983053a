/** Passkeys (WebAuthn): an invitation makes one, and it signs its user in. The browser binds it to
 *  the host of `PUBLIC_URL`. */
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import type mongoose from 'mongoose';
import { z } from 'zod';
import type { Role } from '../../contracts/roles.js';
import { dashboardUrlOf } from '../domain/dashboard-url.js';
import { conflict } from '../kit/api-error.js';
import type { Clock } from '../kit/clock.js';
import { define, nullable, openCollection } from '../kit/collection.js';
import { AlreadyMade } from '../kit/database.js';
import { hashToken, isToken } from '../kit/ids.js';
import type { ForAccount } from '../stores.js';
import type { Commit } from './commit.js';
import { toCaller } from './sessions.js';
import type { SetupStore } from './setup.js';
import type { Passkey, UserDoc, UserStore } from './user-store.js';
import { nameOf } from './users.js';

// What a browser answers to a challenge. It comes from strangers: every field is checked here
// before anything else looks at it.

const base64url = z.string().regex(/^[\w-]+$/);

/** What the browser signed. The libraries parse it again and pass its challenge on. */
const clientData = base64url.refine((text) => {
  try {
    return z
      .object({ type: z.string(), challenge: base64url, origin: z.string() })
      .safeParse(JSON.parse(Buffer.from(text, 'base64url').toString())).success;
  } catch {
    return false;
  }
});

const answer = <Response extends z.ZodType>(response: Response) =>
  z.object({
    id: base64url,
    rawId: base64url,
    type: z.literal('public-key'),
    response,
    clientExtensionResults: z.record(z.string(), z.unknown()).transform(() => ({})),
  });

const registration = answer(z.object({ clientDataJSON: clientData, attestationObject: base64url }));
const authentication = answer(
  z.object({ clientDataJSON: clientData, authenticatorData: base64url, signature: base64url }),
);

/** Null for anything that is none. */
const toRegistration = (sent: unknown): RegistrationResponseJSON | null => registration.safeParse(sent).data ?? null;
const toAuthentication = (sent: unknown): AuthenticationResponseJSON | null =>
  authentication.safeParse(sent).data ?? null;

// Challenges for passkeys: each may be answered once, and only for a short time.

const PASSKEY_CHALLENGES = define(
  'passkeyChallenges',
  {
    /** The challenge, base64url. */
    _id: String,
    /** User whose invitation it is for; null for signing in. */
    userId: nullable(String),
    expiresAt: Date,
  },
  [
    // Clean-up only: readers compare the end with the clock.
    { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
  ],
);

type PasskeyChallengeStore = ReturnType<typeof createPasskeyChallengeStore>;

export function createPasskeyChallengeStore(connection: mongoose.Connection) {
  const collection = openCollection(connection, PASSKEY_CHALLENGES);
  return {
    async insert(challenge: string, userId: string | null, expiresAt: Date): Promise<void> {
      await collection.insertOne({ _id: challenge, userId, expiresAt });
    },
    /** Uses it up. @returns when it ends; null when it is not valid for this purpose */
    async take(challenge: string, userId: string | null, now: Date): Promise<Date | null> {
      const taken = await collection.findOneAndDelete({ _id: challenge, userId, expiresAt: { $gt: now } });
      return taken?.expiresAt ?? null;
    },
  };
}

/** Time for the browser to answer. */
const CHALLENGE_MS = 5 * 60_000;
/** Of one user. */
const MOST_PASSKEYS = 10;
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

/** Where an invitation is accepted: the client's address, and its device, after which the passkey
 *  is named. */
interface Acceptance {
  address: string;
  device: string | null;
}

interface PasskeyDeps {
  users: Pick<UserStore, 'byInvitation' | 'byPasskey' | 'accept' | 'noteUse'>;
  challenges: PasskeyChallengeStore;
  forAccount: ForAccount<'account'>;
  /** Told of every first passkey. */
  setup: Pick<SetupStore, 'end'>;
  commit: Commit;
  publicUrl: string;
  clock: Clock;
}

/** The service as WebAuthn's relying party. */
interface RelyingParty extends PasskeyDeps {
  rpID: string;
  expected: { expectedOrigin: string[]; expectedRPID: string[]; requireUserVerification: true };
}

export function createPasskeys(deps: PasskeyDeps) {
  // An address of this machine has no passkeys in a browser; localhost does.
  const [own, opened] = [new URL(deps.publicUrl), new URL(dashboardUrlOf(deps.publicUrl))];
  const party: RelyingParty = {
    ...deps,
    rpID: opened.hostname,
    expected: {
      expectedOrigin: [own.origin, opened.origin],
      expectedRPID: [own.hostname, opened.hostname],
      requireUserVerification: true,
    },
  };

  return {
    invited: (token: string) => invited(party, token),
    accept: (token: string, sent: unknown, from: Acceptance) => accept(party, token, sent, from),
    signInOptions: () => signInOptions(party),
    signIn: (sent: unknown, address: string) => signIn(party, sent, address),
  };
}

const remember = ({ challenges, clock }: RelyingParty, challenge: string, userId: string | null) =>
  challenges.insert(challenge, userId, new Date(clock.nowMs() + CHALLENGE_MS));

/** The browser's answer, verified, and when its challenge was given; null if invalid, for which the
 *  library throws arbitrary errors. Errors of the look-up of the challenge are passed on. */
async function checked<Answer>(
  { challenges, clock }: RelyingParty,
  userId: string | null,
  verify: (isExpected: (challenge: string) => Promise<boolean>) => Promise<Answer>,
): Promise<{ answer: Answer; askedAt: Date } | null> {
  let taking: Promise<Date | null> = Promise.resolve(null);
  const isExpected = async (challenge: string) => {
    taking = challenges.take(challenge, userId, clock.now());
    return (await taking) !== null;
  };
  const answer = await verify(isExpected).catch(() => null);
  const endsAt = await taking;
  return answer && endsAt && { answer, askedAt: new Date(endsAt.getTime() - CHALLENGE_MS) };
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
    excludeCredentials: user.passkeys.map(({ id }) => ({ id })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
  await remember(party, options.challenge, user._id);
  return { name: user.name, role: user.role, account, options };
}

/** Stores the passkey for the user and uses the invitation up. @returns null when either is
 *  invalid. @throws ApiError `conflict` beyond ten passkeys */
async function accept(
  party: RelyingParty,
  token: string,
  sent: unknown,
  { address, device }: Acceptance,
): Promise<UserDoc | null> {
  const { expected, clock, commit, users, setup } = party;
  const response = toRegistration(sent);
  const user = response && (await invitedBy(party, token));
  if (!user) return null;
  const { verifyRegistrationResponse } = await webAuthn();
  const { answer } =
    (await checked(party, user._id, (expectedChallenge) =>
      verifyRegistrationResponse({ ...expected, response, expectedChallenge }),
    )) ?? {};
  if (!answer?.registrationInfo) return null;
  const { id, publicKey, counter } = answer.registrationInfo.credential;
  const now = clock.now();
  const passkey: Passkey = {
    id,
    ...(device === null ? {} : { name: device }),
    publicKey: Buffer.from(publicKey).toString('base64url'),
    counter,
    createdAt: now,
  };
  const doing = { operation: 'users_accept', effect: 'changes', input: {} } as const;
  return commit({ caller: { ...toCaller(user), address, doing }, subjectId: user._id }, async (session) => {
    const { passkeys = [] } = (await users.byInvitation(hashToken(token), now, session)) ?? {};
    if (passkeys.length >= MOST_PASSKEYS)
      throw conflict(`A user has at most ${MOST_PASSKEYS} passkeys: remove one of them first.`);
    // With a passkey the first OWNER needs the code no more.
    if (passkeys.length === 0) await setup.end(user._id, session);
    return users.accept(hashToken(token), passkey, now, session);
  }).catch((error: unknown) => {
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
async function signIn(party: RelyingParty, sent: unknown, address: string): Promise<UserDoc | null> {
  const response = toAuthentication(sent);
  if (!response) return null;
  const signed = await signatureOf(party, response);
  while (signed) {
    const found = await ownerOf(party, response.id);
    if (!found || isSecondUse(found.passkey, signed)) return null;
    if (await noteUse(party, found, signed.counter, address)) return found.user;
  }
  return null;
}

interface Owned {
  user: UserDoc;
  passkey: Passkey;
}

async function ownerOf({ users }: RelyingParty, credentialId: string): Promise<Owned | null> {
  const user = await users.byPasskey(credentialId);
  const passkey = user?.passkeys.find(({ id }) => id === credentialId);
  return passkey && user?.status === 'ACTIVE' ? { user, passkey } : null;
}

/** What the passkey signed: its counter, and when it was asked to. */
interface Signed {
  counter: number;
  askedAt: Date;
}

async function signatureOf(party: RelyingParty, response: AuthenticationResponseJSON): Promise<Signed | null> {
  const found = await ownerOf(party, response.id);
  if (!found) return null;
  const { verifyAuthenticationResponse } = await webAuthn();
  const credential = {
    id: found.passkey.id,
    publicKey: new Uint8Array(Buffer.from(found.passkey.publicKey, 'base64url')),
    // The library would refuse a counter that did not rise, and lock out a device that
    // was restored.
    counter: 0,
  };
  const verified = await checked(party, null, (expectedChallenge) =>
    verifyAuthenticationResponse({ ...party.expected, response, expectedChallenge, credential }),
  );
  if (!verified?.answer.verified) return null;
  return { counter: verified.answer.authenticationInfo.newCounter, askedAt: verified.askedAt };
}

/** Another sign-in with this value of the counter was done while this one was under way. */
const isSecondUse = ({ counter, lastUsedAt }: Passkey, signed: Signed): boolean =>
  counter > 0 && signed.counter === counter && lastUsedAt !== undefined && lastUsedAt > signed.askedAt;

/** A counter that does not rise is a sign of a copied passkey, though no proof: it is told.
 *  @returns false when the passkey was used elsewhere in the meantime */
async function noteUse(
  { users, commit, clock }: RelyingParty,
  { user, passkey }: Owned,
  counter: number,
  address: string,
): Promise<boolean> {
  const used = { counter, at: clock.now() };
  const hasRisen = counter > passkey.counter || (counter === 0 && passkey.counter === 0);
  if (hasRisen) return users.noteUse(user._id, passkey, used);
  const input = { passkey: nameOf(passkey), counterBefore: passkey.counter, counterNow: counter };
  const doing = { operation: 'users_repeatedCounter', effect: 'adds', input } as const;
  const caller = { ...toCaller(user), address, doing };
  return commit({ caller, subjectId: user._id }, async (session) => {
    if (!(await users.noteUse(user._id, passkey, used, session))) throw new UsedElsewhere();
    return true;
  }).catch((error: unknown) => {
    if (error instanceof UsedElsewhere) return false;
    throw error;
  });
}

class UsedElsewhere extends Error {}
