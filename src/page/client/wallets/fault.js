// What a wallet's failure means. Wallets tell it in many forms: a code of SEP-43, an error, an object around one, a bare text.

/** A failure that is known by name. @param {string} kind a key of the texts */
export const fault = (kind) => Object.assign(new Error(kind), { kind });

const DECLINED = -4;
const OTHER_NETWORK =
  /(wrong|different|another|incorrect|mismatch\w*) network|network (mismatch|does ?n.t match|is different)/i;
/** A wallet's own words are shown no longer than this. */
const LONGEST = 200;

/** @returns {{kind: string, message: string}} `walletSays` with the wallet's words where nothing better is known */
export function faultOf(error) {
  if (error?.kind) return { kind: error.kind, message: '' };
  const inner = typeof error?.error === 'object' && error.error !== null ? error.error : error;
  const told = [inner?.message, inner?.error, inner].find((each) => typeof each === 'string') ?? '';
  const message = told.slice(0, LONGEST);
  if (inner?.code === DECLINED || /reject|declin|denied|cancel/i.test(message)) return { kind: 'declined', message };
  if (/\blocked\b|unlock|log(ged)? ?in/i.test(message)) return { kind: 'locked', message };
  if (OTHER_NETWORK.test(message)) return { kind: 'otherNetwork', message };
  return { kind: message.trim() === '' ? 'notSent' : 'walletSays', message };
}
