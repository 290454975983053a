/** Test accounts and test assets. Their keys are derived or made on the spot, so that any process
 *  can pay with any asset that was issued here. */
import { createHash } from 'node:crypto';
import { Asset, Keypair, Operation } from '@stellar/stellar-sdk/base';
import type { LedgerAccess, Submitted } from './access.js';
import type { LedgerControl } from './control.js';
import type { Submitter } from './submitter.js';

export interface TestAccount {
  address: string;
  secret: string;
}

export interface IssueRequest {
  code: string;
  amount: string;
  /** Receives the amount: an account that already trusts the asset. */
  to?: string;
  /** Receives the amount, and trusts the asset first. */
  toSecret?: string;
  /** Distinguishes issuers with the same code. */
  name?: string;
}

export interface Issued extends Submitted {
  assetCode: string;
  assetIssuer: string;
  issuerSecret: string;
  address: string;
  secret?: string;
}

/** The data entry with the name of a test issuer, which distinguishes issuers of the same code. */
const ISSUER_NAME = 'issuer_name';

function createFund(control: LedgerControl) {
  async function fund(): Promise<TestAccount>;
  async function fund(address: string): Promise<{ address: string; secret?: undefined }>;
  async function fund(address?: string): Promise<{ address: string; secret?: string }>;
  async function fund(address?: string) {
    const fresh = address === undefined ? Keypair.random() : null;
    const to = address ?? fresh!.publicKey();
    await control.request('GET', `/friendbot?addr=${encodeURIComponent(to)}`);
    return fresh === null ? { address: to } : { address: to, secret: fresh.secret() };
  }
  return fund;
}

export type TestAccounts = ReturnType<typeof createTestAccounts>;

export function createTestAccounts(
  access: LedgerAccess,
  control: LedgerControl,
  { find, submit }: Submitter,
  passphrase: string,
) {
  /** Idle accounts: each makes one payment at a time, or sequence numbers would clash. */
  const idlePayers: Keypair[] = [];

  const fund = createFund(control);

  /** The issuer's key follows from the test asset's code and name. */
  const issuerKey = (code: string, name: string): Keypair =>
    Keypair.fromRawEd25519Seed(createHash('sha256').update(`${passphrase}:issuer:${code}:${name}`).digest());

  async function makeIssuer(issuer: Keypair, name: string): Promise<void> {
    if ((await find(issuer.publicKey())) !== null) return;
    await fund(issuer.publicKey());
    if (name === '') return;
    await submit({ from: issuer, operations: [Operation.manageData({ name: ISSUER_NAME, value: name })] });
  }

  return {
    /** Creates an account with 10,000 lumens, or gives the address that amount. */
    fund,

    /** Null for an asset that was not issued here. */
    async knownIssuer(code: string, address: string): Promise<Keypair | null> {
      const name = (await access.data(address, ISSUER_NAME))?.toString() ?? '';
      const key = issuerKey(code, name);
      return key.publicKey() === address ? key : null;
    },

    /** Runs `pay` with a test account for its sole use, and its lumens. After a failure the account
     *  is not used again. */
    async withPayer<T>(pay: (payer: Keypair, lumens: bigint) => Promise<T>): Promise<T> {
      let payer = idlePayers.pop();
      let found = payer === undefined ? null : await find(payer.publicKey());
      // The ledger may have been reset since the last payment.
      if (payer === undefined || found === null) {
        payer = Keypair.fromSecret((await fund()).secret);
        found = (await find(payer.publicKey()))!;
      }
      const result = await pay(payer, found.lumens);
      idlePayers.push(payer);
      return result;
    },

    /** Creates the issuer of `code` (one for each name), and pays out `amount`: to the account of
     *  `toSecret`, to `to`, otherwise to a new account. */
    async issue({ code, amount, name = '', to, toSecret }: IssueRequest): Promise<Issued> {
      const issuer = issuerKey(code, name);
      const asset = new Asset(code, issuer.publicKey());
      await makeIssuer(issuer, name);
      const issued = { assetCode: code, assetIssuer: issuer.publicKey(), issuerSecret: issuer.secret() };
      const paysTo = (destination: string) =>
        Operation.payment({ source: issuer.publicKey(), destination, asset, amount });
      if (to !== undefined && toSecret === undefined) {
        const done = await submit({ from: issuer, operations: [paysTo(to)] });
        return { ...issued, ...done, address: to };
      }
      const holder = Keypair.fromSecret(toSecret ?? (await fund()).secret);
      if ((await find(holder.publicKey())) === null) await fund(holder.publicKey());
      const done = await submit({
        from: holder,
        operations: [Operation.changeTrust({ asset }), paysTo(holder.publicKey())],
        signers: [issuer],
      });
      return { ...issued, ...done, address: holder.publicKey(), secret: holder.secret() };
    },
  };
}
