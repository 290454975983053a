/** Sign-in with a passkey: the browser and the authenticator sign, the server verifies. */

import { startAuthentication, startRegistration } from '@simplewebauthn/browser';
import { useRef } from 'preact/hooks';
import { BASE } from './address.js';
import { type Failure, failureOf, holdSeeds, type Session, setSession, toFailure } from './api.js';
import { t } from './texts/texts.js';
import type { Role } from './words.js';

// A second tap comes before the first one is drawn, so what is drawn cannot guard.

/** Runs `act` unless it is still running. */
export function useOnce<Given extends unknown[]>(
  act: (...given: Given) => unknown,
): (...given: Given) => Promise<void> {
  const isRunning = useRef(false);
  return async (...given) => {
    if (isRunning.current) return;
    isRunning.current = true;
    try {
      await act(...given);
    } finally {
      isRunning.current = false;
    }
  };
}

/** The server's description of an invited user. */
export interface Invited {
  name: string;
  role: Role;
  account: string;
  options: Parameters<typeof startRegistration>[0]['optionsJSON'];
}

type Answer<Data> = { data: Data } | { failure: Failure };

async function post<Data>(path: string, body: object): Promise<Answer<Data>> {
  try {
    holdSeeds(body);
    const answer = await fetch(`${BASE}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const { data, error } = await answer.json();
    return error ? { failure: toFailure(error) } : { data };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

/** The account and its first OWNER. */
export interface Made {
  accountId: string;
  userId: string;
  /** Shown once, where the browser can make no passkey. */
  apiKey: string | null;
}

export const setUp = (form: {
  code: string;
  accountName: string;
  userName: string;
  email: string | null;
  passkeys: boolean;
}): Promise<Answer<Made>> => post('/setup', form);

/** Converts the browser's error; most often the user cancelled. */
const notDone = (error: unknown): Failure => ({
  code: 'unauthorized',
  message:
    (error as Error).name === 'NotAllowedError'
      ? t('nothingChosenTookToo')
      : t('browserCouldNotUse', { message: (error as Error).message }),
  fields: {},
});

export const invitedBy = (token: string): Promise<Answer<Invited>> => post('/invitation/options', { token });

/** @returns the failure; null once signed in */
export async function acceptInvitation(token: string, { options }: Invited): Promise<Failure | null> {
  try {
    const response = await startRegistration({ optionsJSON: options });
    return enter(await post<Session>('/invitation', { token, response }));
  } catch (error) {
    return notDone(error);
  }
}

/** One's own further passkey needs no link. @param invite makes an invitation for oneself. @returns
 *  the failure; null once signed in with the passkey */
export async function addPasskey(invite: () => Promise<{ url: string }>): Promise<Failure | null> {
  try {
    const token = (await invite()).url.split('/').at(-1)!;
    const invited = await invitedBy(token);
    return 'failure' in invited ? invited.failure : await acceptInvitation(token, invited.data);
  } catch (error) {
    return failureOf(error);
  }
}

/** @returns the failure; null once signed in */
export async function signInWithPasskey(): Promise<Failure | null> {
  const asked = await post<Parameters<typeof startAuthentication>[0]['optionsJSON']>('/passkey/options', {});
  if ('failure' in asked) return asked.failure;
  try {
    const response = await startAuthentication({ optionsJSON: asked.data });
    return enter(await post<Session>('/passkey', { response }));
  } catch (error) {
    return notDone(error);
  }
}

function enter(answer: Answer<Session>): Failure | null {
  if ('failure' in answer) return answer.failure;
  setSession(answer.data);
  return null;
}
