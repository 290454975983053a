// Checks a proof in this browser. The page's policy lets it connect to nothing, so that no file can leave it.
import { verifyProof } from '../../proof/index.js';

const MOST_BYTES = 5_000_000;

const main = document.querySelector('main.proof');
const result = document.getElementById('result');
const form = document.getElementById('trust');
const { local, statementKeys } = JSON.parse(main.dataset.trust);

/** The text of the file that is shown; null before the first. */
let text = null;
/** Counts the files: a large one that is still read must not hide one that was chosen after it. */
let opened = 0;

/** @param {File} file */
async function open(file) {
  const mine = ++opened;
  const begin = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isGzip = begin[0] === 0x1f && begin[1] === 0x8b;
  const read = isGzip ? await unpacked(file) : await file.slice(0, MOST_BYTES).text();
  if (mine !== opened) return;
  text = read;
  await check();
}

/** @param {File} file */
async function unpacked(file) {
  const reader = file.stream().pipeThrough(new DecompressionStream('gzip')).getReader();
  const chunks = [];
  let size = 0;
  try {
    for (let part = await reader.read(); !part.done && size < MOST_BYTES; part = await reader.read()) {
      chunks.push(part.value);
      size += part.value.length;
    }
  } catch {
    // What does not unpack is no proof: the verifier says so.
  }
  void reader.cancel().catch(() => undefined);
  return new Blob(chunks).text();
}

const lines = (/** @type {string} */ value) => value.split(/[\s,;]+/).filter(Boolean);

/** What the reader trusts; the local ledger of this service is known to its own page. */
function trusted() {
  const given = Object.fromEntries(new FormData(form));
  const isLocal = local !== null && (given.passphrase || networkOf(text)) === local.passphrase;
  return {
    passphrase: given.passphrase || (isLocal ? local.passphrase : undefined),
    validators: given.validators ? JSON.parse(given.validators) : isLocal ? local.validators : undefined,
    hashes: lines(given.hashes).map((each) => {
      const [ledger, hash = ''] = each.split(':');
      return { ledger: Number(ledger), hash };
    }),
    statementKeys,
  };
}

function networkOf(/** @type {string} */ bundle) {
  try {
    return JSON.parse(bundle).networkPassphrase;
  } catch {
    return null;
  }
}

async function check() {
  if (text === null) return;
  const checked = text;
  let found;
  try {
    found = await verifyProof(checked, trusted());
  } catch (error) {
    // What the reader trusts is misspelt.
    found = { verdict: 'UNKNOWN', claim: null, reasons: [error.message], statement: null, ledger: null, hash: null };
  }
  if (checked === text) show(found);
}

/** @param {import('../../proof/index.js').Verification} found */
function show({ verdict, claim, ledger, hash, reasons, statement }) {
  result.hidden = false;
  for (const each of result.querySelectorAll('[data-verdict]')) each.hidden = each.dataset.verdict !== verdict;
  const asset = claim && `${claim.assetCode}${claim.assetIssuer === null ? '' : ` (${claim.assetIssuer})`}`;
  const shown = claim && {
    ...claim,
    ...{ ledger, hash },
    amount: `${claim.amount} ${asset}`,
    to: claim.toMuxedId === null ? claim.to : `${claim.to} (${claim.toMuxedId})`,
    closedAt: new Date(claim.closedAt).toLocaleString(document.documentElement.lang, {
      dateStyle: 'long',
      timeStyle: 'long',
    }),
  };
  for (const field of result.querySelectorAll('[data-field]')) {
    field.textContent = shown?.[field.dataset.field] ?? '';
    field.parentElement.hidden = field.textContent === '';
  }
  document
    .getElementById('reasons')
    .replaceChildren(...reasons.map((reason) => Object.assign(document.createElement('li'), { textContent: reason })));
  const said = document.getElementById('statement');
  said.hidden = statement === null;
  said.querySelector('blockquote').textContent = statement?.body ?? '';
  for (const each of said.querySelectorAll('[data-valid]'))
    each.hidden = each.dataset.valid !== String(statement?.valid);
  main.dataset.shown = verdict;
}

document.getElementById('file').addEventListener('change', ({ target }) => target.files[0] && open(target.files[0]));
document.addEventListener('dragover', (event) => event.preventDefault());
document.addEventListener('drop', (event) => {
  event.preventDefault();
  const [file] = event.dataTransfer.files;
  if (file) void open(file);
});
form.addEventListener('submit', (event) => {
  event.preventDefault();
  void check();
});
