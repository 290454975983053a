/** What a browser answers to a challenge. It comes from strangers: every field is checked here before anything else looks at it. */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';

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
export const toRegistration = (sent: unknown): RegistrationResponseJSON | null =>
  registration.safeParse(sent).data ?? null;
export const toAuthentication = (sent: unknown): AuthenticationResponseJSON | null =>
  authentication.safeParse(sent).data ?? null;
