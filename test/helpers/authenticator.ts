/** A passkey in software: answers a browser's requests like an authenticator, with real keys
 *  and signatures. */
import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';

const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest();
const base64url = (data: Buffer) => data.toString('base64url');

/** User present and verified. */
const FLAGS = 0x05;
const HAS_CREDENTIAL = 0x40;

const cborHead = (major: number, length: number): Buffer =>
  length < 24
    ? Buffer.from([(major << 5) | length])
    : length < 256
      ? Buffer.from([(major << 5) | 24, length])
      : Buffer.from([(major << 5) | 25, length >> 8, length & 255]);
const cborBytes = (data: Buffer) => Buffer.concat([cborHead(2, data.length), data]);
const cborText = (text: string) => Buffer.concat([cborHead(3, Buffer.byteLength(text)), Buffer.from(text)]);

export interface AuthenticatorOptions {
  origin: string;
  rpId?: string;
  /** Flags of its answers. */
  flags?: number;
}

export function createAuthenticator({ origin, rpId = new URL(origin).hostname, flags = FLAGS }: AuthenticatorOptions) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const id = randomBytes(32);
  let counter = 0;

  const clientData = (type: string, challenge: string) =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  const authenticatorData = (more = 0, attested: Buffer = Buffer.alloc(0)) => {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(++counter);
    return Buffer.concat([sha256(rpId), Buffer.from([flags | more]), count, attested]);
  };

  return {
    id: base64url(id),

    /** The next answer has this value. */
    setCounter(next: number) {
      counter = next - 1;
    },

    /** The result of `navigator.credentials.create`, as JSON. */
    register({ challenge }: { challenge: string }) {
      const data = clientData('webauthn.create', challenge);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(id.length);
      const attested = Buffer.concat([Buffer.alloc(16), length, id, coseOf(publicKey)]);
      const attestation = Buffer.concat([
        cborHead(5, 3),
        ...[cborText('fmt'), cborText('none'), cborText('attStmt'), cborHead(5, 0)],
        ...[cborText('authData'), cborBytes(authenticatorData(HAS_CREDENTIAL, attested))],
      ]);
      const response = { clientDataJSON: base64url(data), attestationObject: base64url(attestation), transports: [] };
      return { ...this.named(), response };
    },

    /** The result of `navigator.credentials.get`, as JSON. */
    sign({ challenge }: { challenge: string }) {
      const data = clientData('webauthn.get', challenge);
      const authData = authenticatorData();
      const signature = createSign('sha256')
        .update(Buffer.concat([authData, sha256(data)]))
        .sign(privateKey);
      const response = {
        clientDataJSON: base64url(data),
        authenticatorData: base64url(authData),
        signature: base64url(signature),
      };
      return { ...this.named(), response };
    },

    named: () => ({ id: base64url(id), rawId: base64url(id), type: 'public-key', clientExtensionResults: {} }),
  };
}

/** ES256 on P-256, in COSE. */
function coseOf(publicKey: KeyObject): Buffer {
  const { x, y } = publicKey.export({ format: 'jwk' });
  const coordinate = (text: string) => cborBytes(Buffer.from(text, 'base64url'));
  const pairs = [[1], [2], [3], [0x26], [0x20], [1], [0x21]].map((bytes) => Buffer.from(bytes));
  return Buffer.concat([cborHead(5, 5), ...pairs, coordinate(x!), Buffer.from([0x22]), coordinate(y!)]);
}
