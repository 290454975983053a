/** Proofs of payments for payers: the file of a paid checkout, and `/proof`, which checks any file
 *  in the browser and sends nothing anywhere. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { PROOF_LEVELS } from '../../contracts/proofs.js';
import { PACKAGE_ROOT } from '../kit/package-root.js';
import { KNOWN_VALIDATORS, VALIDATORS_DATE } from '../proof/index.js';
import { frameOf, type PageContext, send, sendUnknown, withLink } from './context.js';
import { documentOf, type Frame } from './document.js';
import { strictPolicy } from './headers.js';
import { type Html, html } from './html.js';
import type { PageProof, PageProofs, PageTrust } from './types.js';

export function createProofRoutes(context: PageContext, proofs: PageProofs): Router {
  const router = express.Router();
  const script = createScript();
  router.get(
    '/c/:slug/proof',
    withLink(context, async (req, res, { slug, checkout }) => {
      const { payment, level } = req.query;
      const wanted = PROOF_LEVELS.find((each) => each === level);
      const found = checkout?.status === 'PAID' && (await proofs.of(slug, payment ? String(payment) : null, wanted));
      return found ? sendProof(context, req, res, found) : sendUnknown(context, req, res);
    }),
  );
  router.get('/page/:file', script.serve);
  router.get('/proof', async (req, res) => {
    const frame = frameOf(context, req);
    const source = `${frame.base}/page/${script.name()}`;
    // It may load its own style and script, and connect to nothing.
    res.set({ 'content-security-policy': strictPolicy });
    send(res, 200, checkView(frame, source, await proofs.trust()));
  });
  return router;
}

/** The bundle as a file once it is READY. Before, a browser gets a page that asks again, and a
 *  program the state. */
function sendProof(context: PageContext, req: Request, res: Response, shown: PageProof): void {
  const { state, proof, retryAfterSeconds } = shown;
  if (state === 'READY') {
    res.set('content-disposition', 'attachment; filename="payment-proof.json"');
    return void res.json(proof);
  }
  const status = state === 'WAITING' ? 202 : 409;
  if (retryAfterSeconds !== null) res.set('retry-after', String(retryAfterSeconds));
  res.vary('Accept');
  if (req.accepts(['json', 'html']) === 'json') return void res.status(status).json(shown);
  send(res, status, pendingView(frameOf(context, req), shown));
}

/** Fewer reloads than a payer would press. */
const RELOAD_SECONDS = 20;

function pendingView(frame: Frame, { state, reason, retryAfterSeconds }: PageProof): Html {
  const { say } = frame.words;
  const isWaiting = state === 'WAITING';
  return documentOf(
    frame,
    say('proofOfPayment'),
    html`
<main class="message">
  <h1>${say(isWaiting ? 'proofWaitTitle' : 'proofNoneTitle')}</h1>
  <p>${say(isWaiting ? 'proofWait' : 'proofNone')}</p>
  <p class="quiet" lang="en" dir="ltr">${reason}</p>
</main>`,
    null,
    isWaiting ? html`<meta http-equiv="refresh" content="${Math.max(RELOAD_SECONDS, retryAfterSeconds ?? 0)}">` : null,
  );
}

const VERDICTS = {
  SIGNED: 'proofSigned',
  ANCHORED: 'proofAnchored',
  CONSISTENT: 'proofConsistent',
  INVALID: 'proofInvalid',
  UNKNOWN: 'proofUnknown',
} as const;
const STATEMENTS = { true: 'proofGenuine', false: 'proofNotGenuine', null: 'proofUnsure' } as const;

const COMMAND = 'npx stellar-payment-proof verify payment-proof.json';

function checkView(frame: Frame, source: string, trust: PageTrust): Html {
  const { say, html: withValues } = frame.words;
  const facts = [
    ['amount', say('amount')],
    ['from', say('proofFrom')],
    ['to', say('paidTo')],
    ['memo', say('memo')],
    ['closedAt', say('time')],
    ['transactionHash', say('transaction')],
    ['ledger', say('proofLedger')],
    ['hash', say('proofHash')],
  ] as const;
  return documentOf(
    frame,
    say('proofTitle'),
    html`
<main class="sheet proof" data-trust="${JSON.stringify(trust)}">
  <h1>${say('proofTitle')}</h1>
  <p>${say('proofIntro')}</p>
  <noscript><p class="callout">${withValues('proofNoScript', { command: html`<code dir="ltr">${COMMAND}</code>` })}</p></noscript>
  <p class="scripted drop"><label>${say('proofChoose')} <input type="file" id="file" accept=".json,.gz,application/json"></label></p>
  <div id="result" role="status" hidden>
    ${Object.entries(VERDICTS).map(([verdict, key]) => html`<p class="verdict" data-verdict="${verdict}" hidden><strong>${verdict}</strong> ${say(key)}</p>`)}
    <dl class="facts">${facts.map(([field, label]) => html`<div><dt>${label}</dt><dd data-field="${field}"></dd></div>`)}</dl>
    <ul id="reasons" class="quiet" lang="en" dir="ltr"></ul>
    <div id="statement" hidden>
      <h2>${say('proofStatement')}</h2>
      <blockquote dir="auto"></blockquote>
      ${Object.entries(STATEMENTS).map(([valid, key]) => html`<p data-valid="${valid}" hidden>${say(key)}</p>`)}
    </div>
  </div>
  <details class="scripted"><summary>${say('proofTrust')}</summary>
    <p>${say('proofTrustText', { date: VALIDATORS_DATE, count: Object.values(KNOWN_VALIDATORS)[0]!.length })}</p>
    <form id="trust">
      <p><label>${say('proofHashes')} <input name="hashes" autocomplete="off" spellcheck="false" dir="ltr"></label></p>
      <p><label>${say('proofPassphrase')} <input name="passphrase" autocomplete="off" spellcheck="false" dir="ltr"></label></p>
      <p><label>${say('proofValidators')} <textarea name="validators" rows="3" spellcheck="false" dir="ltr"></textarea></label></p>
      <p><button type="submit" class="plain">${say('proofAgain')}</button></p>
    </form>
  </details>
  <h2>${say('proofProves')}</h2>
  <p>${say('proofProvesText')}</p>
  <h2>${say('proofProvesNot')}</h2>
  <p>${say('proofProvesNotText')}</p>
</main>`,
    null,
    html`<script type="module" src="${source}"></script>`,
  );
}

/** The verifier with the page's script, in one file named by its content. Few visitors need it, so
 *  it is read when it is first asked for. */
function createScript() {
  let made: { name: string; body: Buffer } | null = null;
  const read = () => {
    if (made) return made;
    const body = readFileSync(new URL('dist/src/page/proof.js', PACKAGE_ROOT));
    made = { name: `proof-${createHash('sha256').update(body).digest('hex').slice(0, 10)}.js`, body };
    return made;
  };
  return {
    name: () => read().name,
    serve: ((req, res, next) => {
      const asked = String(req.params.file);
      if (!/^proof-[0-9a-f]{10}\.js$/.test(asked)) return next();
      const { name, body } = read();
      res.set('cache-control', asked === name ? 'public, max-age=31536000, immutable' : 'no-store');
      res.type('text/javascript').send(body);
    }) satisfies RequestHandler,
  };
}
