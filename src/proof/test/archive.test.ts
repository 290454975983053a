/** Proofs from recorded ledgers of the real networks. Skipped where the recordings are
 *  not there. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { toHex } from '../encoding.js';
import { type CheckpointFiles, makeProof, PUBLIC_PASSPHRASE, TESTNET_PASSPHRASE, verifyProof } from '../index.js';
import { type ResultPair, resultPair } from '../ledger-types.js';
import { recordsOf } from '../make.js';
import { Invalid, list, Reader } from '../xdr.js';

const FOLDER = fileURLToPath(new URL('../../../../shared/proof/archive', import.meta.url));
const skip = existsSync(FOLDER) ? false : 'the recorded archives are not here';

/** @param checkpoint its last ledger, as files name it */
function filesOf(network: string, checkpoint: string): CheckpointFiles {
  const file = (kind: string) =>
    new Uint8Array(gunzipSync(readFileSync(`${FOLDER}/${network}/${kind}-${checkpoint}.xdr.gz`)));
  return { ledger: file('ledger'), results: file('results'), transactions: file('transactions'), scp: file('scp') };
}

/** In protocol 8 one organisation's nodes were recorded. */
const OF_2017 = [
  {
    name: 'Stellar Development Foundation',
    homeDomain: 'www.stellar.org',
    nodes: [
      'GCGB2S2KGYARPVIA37HYZXVRM2YZUEXA6S33ZU5BUDC6THSB62LZSTYH',
      'GCM6QMP3DLRPTAZW2UZPCPX2LF3SXWXKPMP3GKFZBDSF3QZGV2G5QSTK',
      'GABMKJM6I25XI4K7U6XWMULOUQIQ27BCTMLS6BYYSOWKTBUXVRJSXHYQ',
    ],
  },
];

const CHECKPOINTS = [
  {
    network: 'testnet',
    checkpoint: '00001eff',
    networkPassphrase: TESTNET_PASSPHRASE,
    validators: undefined,
    signed: 26,
  },
  {
    network: 'testnet',
    checkpoint: '0000253f',
    networkPassphrase: TESTNET_PASSPHRASE,
    validators: undefined,
    signed: 77,
  },
  { network: 'pubnet', checkpoint: '00b71eff', networkPassphrase: PUBLIC_PASSPHRASE, validators: OF_2017, signed: 3 },
];

for (const { network, checkpoint, networkPassphrase, validators, signed } of CHECKPOINTS)
  t.test(
    `every payment of checkpoint ${checkpoint} of ${network} → SIGNED, but for the last ledger’s`,
    { skip },
    async (t) => {
      const files = filesOf(network, checkpoint);
      const last = Number.parseInt(checkpoint, 16);
      const found = { signed: 0, unsigned: 0 };
      for (const record of recordsOf(files.results)) {
        const ledger = new Reader(record).u32();
        const pairs = Reader.whole(record.subarray(4, -4), list(resultPair)) as ResultPair[];
        for (const { transactionHash, result } of pairs) {
          const count = result.arm === 0 ? (result.value as unknown[]).length : 0;
          for (let operationIndex = 0; operationIndex < count; operationIndex++) {
            const request = {
              networkPassphrase,
              ledger,
              transactionHash: toHex(transactionHash),
              operationIndex,
              validators,
            };
            const proof = await makeProof(files, request).catch((error) => error);
            if (proof instanceof Invalid) continue;
            const { verdict, claim, reasons } = await verifyProof(JSON.stringify(proof), { validators });
            const isLast = ledger === last;
            if (verdict !== (isLast ? 'CONSISTENT' : 'SIGNED')) t.fail(reasons.join(' '), { ledger, claim });
            found[isLast ? 'unsigned' : 'signed']++;
          }
        }
      }
      t.equal(found.signed, signed);
    },
  );
