/** Decodes a submitted envelope: everything that the ledger checks, and the hashes that
 *  are signed. */
import { createHash } from 'node:crypto';
import { xdr } from '@stellar/stellar-sdk/base';
import { type BoundOperation, bindOperation } from './operations/index.js';
import { type Party, toParty } from './party.js';

export interface Signature {
  hint: Buffer;
  bytes: Buffer;
  /** Earlier results by key: a transaction is checked when submitted and again when its
   *  ledger closes. */
  tried: Map<string, boolean>;
}

export interface Bounds {
  min: bigint;
  /** 0 means no upper bound. */
  max: bigint;
}

export interface Preconditions {
  time: Bounds | null;
  ledgers: Bounds | null;
  minimumSequence: bigint | null;
  minimumSequenceAge: bigint;
  minimumSequenceLedgerGap: number;
  extraSigners: xdr.SignerKey[];
}

export interface InnerTransaction {
  hash: Buffer;
  /** Version 0 envelopes are decoded but no longer accepted. */
  version: 0 | 1;
  source: Party;
  sequence: bigint;
  /** The bid for the whole transaction, in stroops. */
  fee: bigint;
  preconditions: Preconditions;
  memo: xdr.Memo;
  operations: BoundOperation[];
  signatures: Signature[];
}

export interface Envelope {
  /** Base64, as submitted. */
  xdr: string;
  /** The hash of the fee bump if there is one, otherwise of the transaction. */
  hash: Buffer;
  inner: InnerTransaction;
  feeBump: { source: Party; fee: bigint; signatures: Signature[] } | null;
}

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

/** Null for anything but the base64 of exactly one transaction envelope. */
export function decodeEnvelope(base64: string, passphrase: string): Envelope | null {
  if (base64 === '' || base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return null;
  const networkId = sha256(Buffer.from(passphrase));
  try {
    const envelope = xdr.TransactionEnvelope.fromXdr(base64, 'base64');
    switch (envelope.type) {
      case 'envelopeTypeTxV0': {
        const inner = decodeVersion0(envelope.v0, networkId);
        return { xdr: base64, hash: inner.hash, inner, feeBump: null };
      }
      case 'envelopeTypeTx': {
        const inner = decodeVersion1(envelope.v1, networkId);
        return { xdr: base64, hash: inner.hash, inner, feeBump: null };
      }
      default: {
        const bump = envelope.feeBump;
        const tagged = xdr.TransactionSignaturePayloadTaggedTransaction.envelopeTypeTxFeeBump(bump.tx);
        return {
          xdr: base64,
          hash: hashOf(tagged, networkId),
          inner: decodeVersion1(bump.tx.innerTx.v1, networkId),
          feeBump: {
            source: toParty(bump.tx.feeSource),
            fee: bump.tx.fee,
            signatures: bump.signatures.map(toSignature),
          },
        };
      }
    }
  } catch {
    // On other bytes the decoder throws its own errors or TypeErrors.
    return null;
  }
}

function decodeVersion1(envelope: xdr.TransactionV1Envelope, networkId: Buffer): InnerTransaction {
  const transaction = envelope.tx;
  return {
    hash: hashOf(xdr.TransactionSignaturePayloadTaggedTransaction.envelopeTypeTx(transaction), networkId),
    version: 1,
    source: toParty(transaction.sourceAccount),
    sequence: transaction.seqNum,
    fee: BigInt(transaction.fee),
    preconditions: toPreconditions(transaction.cond),
    memo: transaction.memo,
    operations: transaction.operations.map(bindOperation),
    signatures: envelope.signatures.map(toSignature),
  };
}

function decodeVersion0(envelope: xdr.TransactionV0Envelope, networkId: Buffer): InnerTransaction {
  const transaction = envelope.tx;
  const bounds = transaction.timeBounds;
  // A version 0 signature covers the version 1 equivalent of the transaction.
  const sameInVersion1 = new xdr.Transaction({
    sourceAccount: xdr.MuxedAccount.keyTypeEd25519(transaction.sourceAccountEd25519),
    fee: transaction.fee,
    seqNum: transaction.seqNum,
    cond: bounds ? xdr.Preconditions.precondTime(bounds) : xdr.Preconditions.precondNone(),
    memo: transaction.memo,
    operations: transaction.operations,
    ext: xdr.TransactionExt.v0(),
  });
  const signatures = envelope.signatures;
  return {
    ...decodeVersion1(new xdr.TransactionV1Envelope({ tx: sameInVersion1, signatures }), networkId),
    version: 0,
  };
}

function hashOf(tagged: xdr.TransactionSignaturePayloadTaggedTransaction, networkId: Buffer): Buffer {
  return sha256(new xdr.TransactionSignaturePayload({ networkId, taggedTransaction: tagged }).toXdr());
}

const toSignature = (signature: xdr.DecoratedSignature): Signature => ({
  hint: Buffer.from(signature.hint.value),
  bytes: Buffer.from(signature.signature.value),
  tried: new Map(),
});

const toTimeBounds = (bounds: xdr.TimeBounds): Bounds => ({
  min: bounds.minTime,
  max: bounds.maxTime,
});

function toPreconditions(condition: xdr.Preconditions): Preconditions {
  const none = {
    time: null,
    ledgers: null,
    minimumSequence: null,
    minimumSequenceAge: 0n,
    minimumSequenceLedgerGap: 0,
    extraSigners: [],
  };
  switch (condition.type) {
    case 'precondTime':
      return { ...none, time: toTimeBounds(condition.timeBounds) };
    case 'precondV2': {
      const v2 = condition.v2;
      const [time, ledgers, sequence] = [v2.timeBounds, v2.ledgerBounds, v2.minSeqNum];
      return {
        time: time ? toTimeBounds(time) : null,
        ledgers: ledgers ? { min: BigInt(ledgers.minLedger), max: BigInt(ledgers.maxLedger) } : null,
        minimumSequence: sequence,
        minimumSequenceAge: v2.minSeqAge,
        minimumSequenceLedgerGap: v2.minSeqLedgerGap,
        extraSigners: v2.extraSigners,
      };
    }
    default:
      return none;
  }
}
