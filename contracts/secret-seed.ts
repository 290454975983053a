/** The secret seed of a Stellar account: this service needs none, so none is sent to it, stored
 *  or logged. */

/** Whether the whole text is one; a mistyped one too, for it is nearly the secret. */
export const isSecretSeed = (text: string): boolean => /^S[A-Z2-7]{55}$/i.test(text.trim());

export const SEED_REFUSED =
  'This is a secret key (S…): who has it has the money. It is needed nowhere here, and was not stored. Use the public address (G…).';
