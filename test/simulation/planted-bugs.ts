// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are source text.
/** Guards of the sources, and how to remove each. `scripts/planted-bugs.ts` finds the seed of the
 *  simulation that notices. */

import type { HardshipName } from './hardships.js';

export interface PlantedBug {
  guard: string;
  /** File, the quoted text, and its replacement. */
  changes: readonly (readonly [file: string, from: string, to: string])[];
  /** Hardships that a run needs to show the bug, when seeds with them are rare. */
  hardship?: HardshipName | readonly HardshipName[];
  /** The only seed to run, when few seeds notice. */
  seed?: number;
  /** The test that notices instead, or why no seed does. */
  elsewhere?: string;
}

const WATCHER = 'src/watching/watcher.ts';
const READER = 'src/watching/stream-reader.ts';
const MODE = 'src/watching/mode.ts';
const RESET = 'src/watching/lost-ledgers.ts';
const GAPS = 'src/watching/lost-ledgers.ts';
const COVERAGE = 'src/domain/coverage.ts';
const RECORDER = 'src/payments/recorder.ts';
const MATCH = 'src/payments/recorder.ts';
const SETTLE = 'src/payments/settle.ts';
const TURN = 'src/audit/turn.ts';
const HOLDINGS = 'src/selling/holdings.ts';

export const plantedBugs: readonly PlantedBug[] = [
  // Watching.
  {
    guard: 'the position moves in the transaction that stores the payments, not before it',
    changes: [
      [
        READER,
        'const stored = await recorder.record(network, { credits, refunds, parked }, { from, to });',
        'await cursors.advance(from, to); const stored = await recorder.record(network, { credits, refunds, parked }, null);',
      ],
    ],
  },
  {
    guard: 'a position moves only from where its reader found it',
    changes: [
      [
        'src/watching/cursors.ts',
        '{ _id: from._id, cursor: from.cursor, ledger: from.ledger }',
        '{ _id: from._id as never }',
      ],
    ],
    elsewhere: 'test/integration/recording.test.ts',
  },
  {
    guard: 'a reader that finds the position moved stores nothing',
    changes: [
      [
        RECORDER,
        'if (move && !(await cursors.advance(move.from, move.to, session))) throw new CursorConflict();',
        'if (move) await cursors.advance(move.from, move.to, session);',
      ],
    ],
    elsewhere: 'test/integration/recording.test.ts',
  },
  {
    guard: 'a payment that is stored already is left out',
    changes: [[MATCH, 'if (known.has(key)) continue;', '']],
  },
  {
    guard: 'the unique key of payments',
    changes: [['src/payments/payment-document.ts', '{ key: PAYMENT_KEY, unique: true },', '{ key: PAYMENT_KEY },']],
  },
  {
    guard: "the transaction's hash in the key of payments (a reset network restarts its numbers)",
    changes: [
      [
        'src/payments/payment-document.ts',
        'operationId: 1, changeIndex: 1, transactionHash: 1 } as const;',
        'operationId: 1, changeIndex: 1 } as const;',
      ],
      [
        'src/domain/payment-key.ts',
        '}:${payment.changeIndex}:${payment.transactionHash}`',
        '}:${payment.changeIndex}`',
      ],
    ],
    elsewhere: 'test/e2e/watching.test.ts; after a reset the ledgers of the simulation have other numbers',
  },
  {
    guard: 'only what came while the wallet was active counts',
    changes: [[MATCH, 'isWatched(wallet.windows, credit)', 'true']],
  },
  {
    guard: 'ledgers are left unread for good only by what servers have shown, not by what one claimed',
    changes: [
      [
        READER,
        'const shown = page.full ? ledgerOfCursor(cursor) - 1 : page.shownLedger;',
        'const shown = page.full ? ledgerOfCursor(cursor) - 1 : tip.latestLedger;',
      ],
    ],
  },
  {
    guard: 'the last ledger of a full page may go on in the next one',
    changes: [
      [
        READER,
        'page.full ? ledgerOfCursor(cursor) - 1 : page.shownLedger',
        'page.full ? ledgerOfCursor(cursor) : page.shownLedger',
      ],
    ],
  },
  {
    guard: 'a network that started over is noticed',
    changes: [
      [
        WATCHER,
        'if (!state || !(await resets.happened(session, tip, state))) return state;',
        'if (!state || Math.random() >= 0) return state;',
      ],
    ],
  },
  {
    guard: 'after a reset the old ledger numbers are forgotten',
    changes: [[RESET, 'const walletIds = await wallets.forgetLedgers(network);', 'const walletIds: string[] = [];']],
  },
  {
    guard: 'a reset is noted when it has been dealt with, not before',
    changes: [
      [
        RESET,
        'await flagGap(network, { gap, address: null, without: [], lostSince: state.seenAt });',
        'await networkStates.save(network, { latestLedger: tip.latestLedger, latestClosedAt: tip.latestClosedAt, anchor: null }); await flagGap(network, { gap, address: null, without: [], lostSince: state.seenAt });',
      ],
    ],
    elsewhere: 'test/integration/outage.test.ts',
  },
  {
    guard: 'ledgers that Horizon dropped between root and page are missed',
    changes: [
      [READER, 'page.gone || (await wasCut(session, tip, from))', 'page.gone'],
      [READER, '!isQuiet || (await wasCut(session, tip, from))', '!isQuiet'],
    ],
  },
  {
    guard: 'ledgers that Horizon dropped are reported',
    changes: [[GAPS, 'await flagGap(network, { gap, address: cursor.address, without: await done() });', '']],
  },
  {
    guard: 'root and pages of one session come from one base',
    changes: [['src/ledger/session.ts', 'if (pinned) return failover.runOn(await pinned, call, spend);', '']],
  },
  {
    guard: 'a wallet that got another window in between is not taken up',
    changes: [
      [
        'src/watching/watched-wallets.ts',
        'filter: { _id, windows: { $size: windows.length } },',
        'filter: { _id: _id as never },',
      ],
    ],
    elsewhere: 'test/integration/recording.test.ts',
  },
  {
    guard: 'a wallet made active again in between is not let go',
    changes: [
      [
        'src/watching/watched-wallets.ts',
        'await wallets.updateOne({ _id: id, active: false }, {',
        'await wallets.updateOne({ _id: id }, {',
      ],
    ],
    elsewhere: 'test/integration/recording.test.ts',
  },
  {
    guard: 'a wallet is let go only when it is read to its end',
    changes: [['src/watching/wallet-starts.ts', '? until && isShownPast(cursor, until)', '? until']],
  },
  {
    guard: 'the feed speaks only for addresses that have reached what it covers',
    changes: [
      [
        COVERAGE,
        'feed.fromLedger !== null && own.shownLedger >= feed.fromLedger',
        'feed.fromLedger !== null && own.shownLedger >= 0',
      ],
    ],
  },
  {
    guard: 'before the feed is given up, addresses get its position',
    changes: [
      [
        MODE,
        'await detach(deps, addresses, feed!);\n        await cursors.remove([feedId]);',
        'await cursors.remove([feedId]);\n        await detach(deps, addresses, feed!);',
      ],
    ],
    elsewhere: 'a position that is behind is read again; at worst a GAP is flagged that is none',
  },
  {
    guard: 'a feed that left an outage behind speaks only for addresses that have caught up',
    changes: [
      [MODE, 'await cursors.save([started]);', 'await cursors.save([{ ...started, fromLedger: feed.fromLedger }]);'],
    ],
  },
  {
    guard: 'records that cannot be understood are kept',
    changes: [[RECORDER, 'await parkedRecords.park(batch.parked, session);', '']],
  },
  {
    guard: 'a checkout that a parked record may have paid is not EXPIRED',
    hardship: ['checkouts', 'lacking'],
    changes: [
      [
        'src/payments/checkout-expiry.ts',
        'if (isRead && !(await mayBeParked(deps, payable, { until: checkout.expiresAt, withOpen }))) unpaid.add(payable);',
        'if (isRead) unpaid.add(payable);',
      ],
    ],
  },
  {
    guard: 'an audit over a parked record that credited its wallet is not PROVEN',
    hardship: ['audits', 'lacking'],
    changes: [[TURN, 'if (open === 0) return null;', 'if (open >= 0) return null;']],
  },
  {
    guard: 'an audit over a parked payment to its issuer is not PROVEN',
    hardship: ['audits', 'lacking', 'burns'],
    changes: [[TURN, 'new Set([...credited, ...returned])', 'new Set(credited)']],
  },
  {
    guard: 'one process at a time watches, numbers and audits (the lease)',
    changes: [
      [
        'src/kit/leases.ts',
        'if (!(await leases.hold(name, holder, ms))) return null;',
        'await leases.hold(name, holder, ms);',
      ],
      ['src/kit/leases.ts', 'if (!(await leases.hold(name, holder, ms))) over.abort();', ''],
    ],
    elsewhere: 'as it should be: leases save work, what is stored once is held by position and key',
  },
  // Hardships.
  {
    guard: 'a page that is too large or too slow is asked for with fewer records',
    hardship: 'heavyPages',
    changes: [
      ['src/ledger/session.ts', 'const isSmaller = sizes.shrink(stream, size);', 'const isSmaller = size < 0;'],
    ],
  },
  {
    guard: 'a request is sent only when the budget grants it',
    hardship: 'budget',
    changes: [['src/watching/request-budgets.ts', 'return taken.waitMs;', 'return Math.min(0, taken.waitMs);']],
    elsewhere: 'test/integration/horizon-faults.test.ts; the polls alone keep to the budget of a run',
  },
  {
    guard: 'pages wait for a small budget as long as they must',
    hardship: 'budget',
    changes: [
      [
        'src/watching/watch.ts',
        "ledger.session({ purpose: 'watching' }, limits.held)",
        "ledger.session({ purpose: 'watching' })",
      ],
    ],
  },
  {
    guard: 'a stream that fails is not in the way of the others',
    hardship: 'brokenAccount',
    changes: [[WATCHER, 'errors.push(error);', 'errors.push(error); if (errors.length > 0) throw error;']],
  },
  {
    guard: 'a gap is believed only when no other source has the ledgers',
    hardship: 'retentions',
    changes: [
      [
        'src/watching/plan.ts',
        "if (holder) return { kind: 'read_elsewhere', server: holder.server };",
        "if (holder) return { kind: 'gap', toLedger: tip.oldestLedger - 1 };",
      ],
    ],
  },
  {
    guard: 'a clock that is off dates nothing that merchants do',
    hardship: 'skewMs',
    changes: [
      [
        'src/domain/ledger-time.ts',
        'isClockOff(aheadMs) ? new Date(now.getTime() - aheadMs) : now',
        'isClockOff(null) ? new Date(aheadMs ?? 0) : now',
      ],
    ],
  },
  {
    guard: 'before the clock was measured, the newest ledger tells how far it may be off',
    hardship: 'skewMs',
    changes: [
      [
        'src/asking/ledger-stamper.ts',
        'if (newest) boundOf(stamping, network).saw(newest, clock.nowMs(), monotonic.nowMs());',
        '',
      ],
    ],
  },
  {
    guard: 'account histories that leave records out are not read',
    hardship: 'oldVersion',
    changes: [
      [
        WATCHER,
        "const histories = sourceWarning(tip.version) === null ? 'complete' : 'lossy';",
        "const histories = tip.version === null ? 'lossy' : 'complete';",
      ],
    ],
  },
  {
    guard: 'a feed that is preferred begins again for an address that lacks what came before it',
    hardship: 'oldVersion',
    changes: [
      [
        'src/watching/plan.ts',
        'if (feed && isLossy && isLacking)',
        'if (feed && isLossy && isLacking && addresses < 0)',
      ],
    ],
  },
  {
    guard: 'deliveries are opened in bounded transactions',
    hardship: 'crowd',
    changes: [
      [
        'src/events/sequencer.ts',
        'const OPENING_LIMITS = { perAccount: 500, inAll: 1000 };',
        'const OPENING_LIMITS = { perAccount: 50_000, inAll: 100_000 };',
      ],
    ],
  },
  {
    guard: 'a ledger number stamped before a reset and stored after it is ignored',
    hardship: 'walletsAfterReset',
    changes: [['src/domain/terms.ts', ' && ledger - close.ledger <= MOST_LEDGERS_AHEAD', '']],
  },
  {
    guard: 'a ledger number of the old network does not apply to the new one',
    hardship: 'walletsAfterReset',
    elsewhere: 'test/unit/watching-plan.test.ts',
    changes: [
      ['src/watching/wallet-starts.ts', '|| isOfOtherNetwork(from, { tip, state })) return null;', ') return null;'],
    ],
  },
  {
    guard: 'what a wallet sent is set aside while its transaction is not there, since it may be a refund',
    hardship: 'refunds',
    elsewhere: 'test/unit/reading.test.ts',
    changes: [
      [
        'src/watching/reading.ts',
        'concernsUs(outcome.isTooLarge ? receivers : partiesOf(outcome))',
        'concernsUs(receivers)',
      ],
    ],
  },
  {
    guard: 'a ledger of which no classic event is shown is not passed',
    hardship: ['rpc', 'blindness'],
    changes: [
      [
        'src/ledger/rpc/sight.ts',
        'const end = await lastSeen(looking.call, seen, startLedger, read.upTo);',
        "const end = seen.size < 0 ? await lastSeen(looking.call, seen, startLedger, read.upTo) : (read.upTo as number | 'unseen');",
      ],
    ],
  },
  {
    guard: 'each answer of Stellar RPC has to show its sight, not one before it',
    hardship: ['rpc', 'blindness'],
    changes: [
      [
        'src/ledger/rpc/sight.ts',
        'const end = await lastSeen(looking.call, seen, startLedger, read.upTo);',
        "const memory = globalThis as { hasSeen?: boolean }; memory.hasSeen ||= seen.size > 0; const end = memory.hasSeen ? (read.upTo as number | 'unseen') : await lastSeen(looking.call, seen, startLedger, read.upTo);",
      ],
    ],
  },
  {
    guard: 'an event that comes twice is one event',
    hardship: ['rpc', 'twice'],
    changes: [
      [
        'src/ledger/rpc/events.ts',
        'const events = [...new Map(found.map((event) => [event.id, event])).values()].filter(({ id }) => id > start);',
        'const events = found.filter(({ id }) => id > start);',
      ],
      ['src/ledger/rpc/events.ts', 'id < events[index - 1]!.id', 'id <= events[index - 1]!.id'],
    ],
  },
  {
    guard: 'a transaction that this version cannot decode is read as its server decodes it',
    changes: [
      [
        'src/ledger/rpc/transaction.ts',
        'const json = await decodedByServer(call, hash);',
        'const json = (await decodedByServer(call, hash)) && null;',
      ],
    ],
    hardship: ['future', 'rpc'],
  },
  {
    guard: 'market movements on the way of a payment are no payments',
    hardship: ['rpc', 'detours'],
    changes: [
      [
        'src/ledger/rpc/operation.ts',
        "case 'path_payment_strict_receive': {",
        "case 'path_payment_strict_receive': { if (told.length > 1) return hostFunction(changesIn(told));",
      ],
    ],
  },
  {
    guard: 'strangers get their share of the requests and no more',
    hardship: ['budget', 'outsiders'],
    changes: [
      [
        'src/watching/request-budgets.ts',
        "return [ofOne('pages', asker), ofShare('pages'), ofShare('outsiders')];",
        'return [{ take: async () => (await take(network, rate)).waitMs, intervalMs: 0 }];',
      ],
    ],
  },
  {
    guard: 'a refund to a muxed account belongs to its own payments',
    hardship: 'waysBack',
    changes: [
      [
        'src/payments/refundable.ts',
        'const before = { ...criteria(of, back, payer.address), senderMuxedAddress: payer.muxedAddress };',
        'const before = criteria(of, back, payer.address);',
      ],
    ],
  },
  {
    guard: 'a refund to a contract is seen',
    hardship: 'waysBack',
    changes: [
      [
        'src/ledger/horizon/movements.ts',
        'const receiver = contractOf(to);',
        'const receiver = to.length > 0 ? null : contractOf(to);',
      ],
    ],
  },
  {
    guard: "a transaction has the ledger's hash, whichever of its hashes was asked for",
    hardship: ['rpc', 'waysBack'],
    changes: [
      [
        'src/ledger/rpc/transaction.ts',
        'transactionHashOf(transaction.envelopeXdr, asking.passphrase) ?? (await hashByEvent(asking.call, first));',
        'hash;',
      ],
    ],
  },
  {
    guard: "a refund from an issuer's own wallet is seen",
    hardship: ['rpc', 'waysBack'],
    changes: [
      [
        'src/ledger/rpc/token-event.ts',
        "const sender = type === 'mint' ? asset.issuer : from;",
        'const sender = from;',
      ],
    ],
  },
  {
    guard: 'a transaction that gives back two payments is booked at both',
    hardship: 'waysBack',
    changes: [
      [
        'src/watching/refund-by-hash.ts',
        'if (leftOf(named) >= back.amount) return',
        'if (leftOf(named) >= back.amount || back.amount > 0n) return',
      ],
    ],
  },
  {
    guard: 'a refund by memo goes first to what needs a decision, then to what was paid too much',
    hardship: ['refunds', 'checkouts', 'decisions'],
    changes: [
      [
        'src/payments/refundable.ts',
        "const TURN = { $cond: ['$needsDecision', 0,",
        "const TURN = { $cond: ['$needsDecision', 2,",
      ],
    ],
  },
  {
    guard: 'of these a refund by memo goes to what has exactly as much left',
    hardship: ['refunds', 'checkouts', 'decisions'],
    changes: [['src/payments/refundable.ts', 'exact: { $cond: [isExact, 0, 1] }', 'exact: { $cond: [isExact, 1, 1] }']],
  },
  {
    guard: 'what a memo booked elsewhere moves to the payment that the merchant names',
    hardship: ['refunds', 'checkouts', 'decisions'],
    changes: [['src/watching/refund-by-hash.ts', 'await moveRefund(part, to, next++, session);', 'next += 1;']],
  },
  {
    guard: 'a payment that money left by a move is told',
    hardship: ['refunds', 'checkouts', 'decisions'],
    changes: [['src/payments/refunds.ts', 'paymentEvents.ofRefund(after, shown, occurrence),', '']],
  },
  {
    guard: 'a payment that was sent back completes nothing when it is accepted',
    hardship: ['refunds', 'checkouts', 'decisions'],
    changes: [['src/payments/payments.ts', 'if (leftOf(before) === 0n) throw conflict(NOTHING_LEFT);', '']],
  },
  {
    guard: 'a payment that was sent back completes nothing when it is assigned',
    hardship: ['refunds', 'checkouts', 'decisions'],
    changes: [
      [
        'src/payments/payments.ts',
        "if (before.status === 'UNMATCHED' && leftOf(before) === 0n) throw conflict(NOTHING_LEFT);\n      const { verdict, payable } = judgeAssigned(found, before, ratesFor, clock.now());",
        "const { verdict, payable } = judgeAssigned(found, { ...before, refundedAmount: '0' }, ratesFor, clock.now());",
      ],
    ],
  },
  {
    guard: 'an accepted checkout takes no payment that was sent back',
    hardship: ['refunds', 'checkouts', 'decisions'],
    changes: [
      [
        'src/payments/acceptance.ts',
        '.filter(({ stroops }) => stroops > 0n);',
        '.filter(({ stroops }) => stroops >= 0n);',
      ],
    ],
  },
  // Judging and what comes of it.
  {
    guard: 'a part without a rate is excess once others have paid the order',
    changes: [
      [
        'src/domain/checkout.ts',
        "status === 'PAID' && received < enough ? 0n : stroops;",
        'status && received < enough ? 0n : 0n * stroops;',
      ],
    ],
    elsewhere: 'test/unit/pricing.test.ts',
  },
  {
    guard: 'what is too much for an order in a currency is exact in the asset',
    hardship: ['rates', 'checkouts'],
    changes: [
      [
        'src/domain/checkout.ts',
        "const excess = side === 'over' ? amount - asked.most : 0n;",
        "const excess = side === 'over' ? ((amount - asked.most) / 2n) : 0n;",
      ],
    ],
  },
  {
    guard: 'events are stored in the transaction of their payment',
    changes: [
      [
        SETTLE,
        'await outbox.publish(events, session);',
        '(session as any).later = (own) => outbox.publish(events, own);',
      ],
      [RECORDER, '  function store(', '  async function store('],
      [
        RECORDER,
        'return transaction(async (session) => {',
        'let used: any; const done = await transaction(async (session) => { used = session;',
      ],
      [
        RECORDER,
        '=> after));\n    });',
        '=> after));\n    });\n await transaction(async (session) => used.later?.(session)); return done;',
      ],
    ],
  },
  {
    guard: 'deliveries are opened in the transaction that moves their webhooks',
    changes: [
      [
        'src/events/sequencer.ts',
        'await deliveries.open(plan.deliveries, session);',
        'await transaction((own) => deliveries.open(plan.deliveries, own));',
      ],
    ],
  },
  {
    guard: 'numbers are given once, even when two processes believe that they hold the lease',
    changes: [
      [
        'src/events/sequencer.ts',
        'if ((await events.number(numbered, session)) !== numbered.length) throw new CounterConflict();',
        'await events.number(numbered, session);',
      ],
      ['src/events/event-counters.ts', 'filter: { _id: accountId, last: from },', 'filter: { _id: accountId },'],
    ],
    elsewhere: 'test/integration/sequencer.test.ts',
  },
  {
    guard: 'a payment is judged by the terms that were in force when its ledger closed',
    changes: [
      [
        'src/payments/judge.ts',
        'const products = mayBeInForce(versions, paid).map(',
        'const products = [versions.at(-1)!.terms].map(',
      ],
    ],
  },
  {
    guard: 'the memo of another account’s link means nothing',
    changes: [[MATCH, 'paidFor(payable).accountId === wallet.accountId &&', '']],
  },
  // Audits.
  {
    guard: 'a fee is counted',
    hardship: 'audits',
    changes: [['src/audit/read.ts', 'foldFee(ledger <= range.fromLedger ? range.before : range.books, fee);', '']],
  },
  {
    guard: 'what a wallet sent is counted',
    hardship: 'audits',
    changes: [['src/domain/books.ts', 'sums.sent += debited - toItself - clawedBack;', '']],
  },
  {
    guard: 'an audit goes on to the next page only when what the last one lacked is recorded',
    hardship: 'audits',
    changes: [
      [
        'src/audit/pages.ts',
        'if (credits.length > 0) await heal(',
        'const ahead = await save(current, { progress: { ...progress, effectsCursor: read.cursor } }); if (credits.length > 0) await heal(',
      ],
      ['src/audit/pages.ts', 'return save(current, {', 'return save(ahead, {'],
    ],
  },
  {
    guard: 'a payment that an audit records is noted first, so that it is counted even if the process dies',
    hardship: 'audits',
    changes: [['src/audit/pages.ts', 'fresh.length > 0 ? await save(audit, { healing }) : audit', 'audit']],
  },
  {
    guard: 'a payment that another process may still record is counted later',
    hardship: 'audits',
    changes: [['src/audit/pages.ts', 'healing: left.filter((each) => cut.includes(each)),', 'healing: [],']],
  },
  {
    guard: 'an audit ends where the payments of its wallet were read',
    hardship: 'audits',
    changes: [
      [
        'src/audit/plan.ts',
        'const read = readTo ?? Number.POSITIVE_INFINITY;',
        'const read = Math.max(readTo ?? 0, Number.POSITIVE_INFINITY);',
      ],
    ],
  },
  {
    guard: 'ledgers that were dropped before an audit read them are no difference',
    hardship: 'audits',
    changes: [
      [TURN, 'return oldestLedger > begin ? oldestLedger : null;', 'return oldestLedger > begin ? null : null;'],
    ],
  },
  {
    guard: 'a list ends where a server has shown that it does',
    hardship: 'audits',
    changes: [['src/audit/pages.ts', 'if (read.shownLedger >= ledger) return true;', 'if (ledger >= 0) return true;']],
  },
  {
    guard: 'a difference has to show twice',
    hardship: 'audits',
    changes: [[TURN, 'if (audit.seen.at(-1) !== shown) return', 'if (audit.seen.length < 0) return']],
  },
  {
    guard: 'a difference is told in the transaction that ends the audit',
    hardship: 'audits',
    changes: [
      [
        TURN,
        "await outbox.publish([{ type: 'wallet.difference', accountId, data, occurrence }], session);\n  });",
        "told = [{ type: 'wallet.difference', accountId, data, occurrence }];\n  });\n  await transaction((session) => outbox.publish(told, session));",
      ],
      [
        TURN,
        'await transaction(async (session) => {\n    if (!(await audits.save(audit',
        "let told: Parameters<Outbox['publish']>[0] = []; await transaction(async (session) => {\n    if (!(await audits.save(audit",
      ],
    ],
  },
  {
    guard: 'an audit from before a reset is no beginning for one after it',
    hardship: ['audits', 'walletsAfterReset'],
    seed: 340,
    changes: [
      [
        'src/audit/audit-store.ts',
        'known === undefined ? createdAt > resetAt : known?.getTime() === resetAt.getTime()',
        'known === undefined || createdAt > resetAt',
      ],
    ],
  },
  {
    guard: 'an audit waits for a Horizon that may keep more before it is cut short',
    seed: 701_540,
    changes: [[TURN, 'if (isCutShort && servers.isOneAway &&', 'if (isCutShort && audit.seen.length < 0 &&']],
  },
  {
    guard: 'operations that are too heavy for a list are audited one by one',
    seed: 700_678,
    changes: [['src/audit/pages.ts', 'listsFailed >= MOST_LISTS_FAILED', 'listsFailed < 0']],
  },
  {
    guard: 'a number beyond the newest ledger is no beginning of an audit',
    seed: 402_956,
    changes: [
      [
        'src/audit/plan.ts',
        'if (ledger !== null && ledger <= latestLedger) return ledger;',
        'if (ledger !== null) return ledger;',
      ],
    ],
  },
  {
    guard: 'a gap from before a reset is not the gap of the reset',
    changes: [['src/watching/gap-store.ts', 'lostSince: lostSince ?? null };', 'lostSince: null };']],
    elsewhere: 'test/integration/wallet-gaps.test.ts',
  },
  {
    guard: 'the feed begins where any source has what an address lacks',
    seed: 702_788,
    changes: [
      [
        MODE,
        'dropped === null ? tip.oldestLedger : await oldestKept(dropped)',
        'dropped === null ? tip.oldestLedger : tip.oldestLedger',
      ],
    ],
  },
  {
    guard: 'a clock is bounded by when a ledger was first seen, not by when it was read',
    seed: 804_424,
    changes: [['src/asking/ledger-stamper.ts', 'if (latestSeen?.by === host) return latestSeen!.at;', '']],
    elsewhere: 'test/unit/watching-plan.test.ts',
  },
  {
    guard: 'the ledgers that a server dropped are taken from its newest answer',
    changes: [[GAPS, 'each.server === session.server ? { ...each, tip } : each', 'each']],
    elsewhere: 'test/integration/wallet-gaps.test.ts',
  },
  // Checkouts.
  {
    guard: 'a checkout is as far as the wallet of its address that is read least',
    changes: [
      [
        'src/watching/wallet-starts.ts',
        'closedAt: new Date(Math.min(...closes)) };',
        'closedAt: starts.reduce((a, b) => (b.ledger < a.ledger ? b : a)).closedAt };',
      ],
      ['src/watching/wallet-starts.ts', 'const closes = starts.map(({ closedAt }) => closedAt.getTime());', ''],
    ],
    elsewhere: 'test/integration/wallet-gaps.test.ts',
  },
  {
    guard: 'a gap is held against a checkout by what was there, not by clocks',
    changes: [['src/domain/checkout.ts', 'gapBefore === undefined\n', 'gapBefore !== createdAt\n']],
    elsewhere: 'test/unit/checkout.test.ts',
  },
  {
    guard: 'a checkout becomes EXPIRED only when the wallet was read beyond the end',
    changes: [['src/domain/checkout.ts', 'readTo >= expiresAt &&', 'readTo !== expiresAt &&']],
  },
  {
    guard: 'ledgers that are missing keep a checkout OPEN',
    changes: [
      [
        'src/domain/checkout.ts',
        'gapFoundAt === null || isOlder(gapFoundAt, begin);',
        'begin.createdAt !== null || gapFoundAt === null;',
      ],
    ],
    elsewhere: 'test/unit/checkout.test.ts',
  },
  {
    guard: 'a payment of a checkout is judged by what earlier payments in its page left due',
    changes: [[RECORDER, 'if (judged?.payable.checkout) left.set(judged.payable.checkout._id, judged.payable);', '']],
  },
  {
    guard: 'a payment from before an acceptance counts',
    changes: [
      ['src/domain/checkout.ts', 'const isTaken = isAcceptedWith(checkout, payment);', 'const isTaken = false;'],
    ],
    elsewhere: 'test/unit/checkout.test.ts',
  },
  {
    guard: 'a merchant’s decision is made only of what it was made for, and an event kind exists once',
    changes: [
      [
        'src/payments/payment-store.ts',
        '{ _id: id, accountId, status: { $in: [...from] } },',
        '{ _id: id, accountId },',
      ],
      ['src/events/event-store.ts', 'occurrence: 1 }, unique: true },', 'occurrence: 1 } },'],
      ['src/webhooks/delivery-store.ts', '{ key: KEY, unique: true },', '{ key: KEY },'],
    ],
  },
  // What orders hold.
  {
    guard: 'a coupon is redeemed only while it is not used up',
    changes: [
      [
        HOLDINGS,
        'const filter = { _id, accountId, ...isLeft } as object;',
        'const filter = { _id, accountId, ...(isLeft && {}) } as object;',
      ],
    ],
    hardship: ['checkouts', 'orders'],
  },
  {
    guard: 'pieces are taken only where there are enough',
    changes: [[HOLDINGS, 'stock: { $gte: -quantity } } as object;', 'stock: { $ne: null } } as object;']],
    hardship: ['checkouts', 'orders'],
  },
  {
    guard: 'an order that lacks pieces of one product takes none of the others',
    changes: [[HOLDINGS, 'for (const other of taken) await addPieces(accountId, other, session);', '']],
    elsewhere: 'test/e2e/stock.test.ts',
  },
  {
    guard: 'an order whose coupon is used up takes no pieces',
    changes: [[HOLDINGS, 'for (const each of pieces) await addPieces(accountId, each, session);', '']],
    hardship: ['checkouts', 'orders'],
  },
  {
    guard: 'what an order holds comes back once',
    changes: [[HOLDINGS, '(order.holds ? { ...order, holds: none } : order)', '(none ? order : order)']],
    hardship: ['checkouts', 'orders'],
  },
  {
    guard: 'orders that hold one thing give all of it back',
    changes: [[HOLDINGS, 'count: each.count + (byId.get(each._id)?.count ?? 0) }', 'count: each.count }']],
    hardship: ['checkouts', 'orders'],
  },
  {
    guard: 'an EXPIRED order gives back what it holds',
    changes: [[SETTLE, "takes !== undefined && status === 'EXPIRED'", "takes === undefined && status === 'EXPIRED'"]],
    hardship: ['checkouts', 'orders'],
  },
  {
    guard: 'a cancelled order that money came for keeps what it holds',
    changes: [
      [
        'src/payments/checkout.ts',
        "status === 'CANCELLED' && paidIn === 0n && isHolding",
        "status === 'CANCELLED' && isHolding",
      ],
    ],
    hardship: ['checkouts', 'orders'],
  },
  {
    guard: 'a cancelled order gives back only once its ledger was read beyond the cancellation',
    changes: [
      [
        'src/payments/checkout-expiry.ts',
        "(reach === 'all' || (reach !== null && isShownPast(reach, from)))",
        "(reach === 'all' || reach === null || isShownPast(reach, from) || !isShownPast(reach, from))",
      ],
    ],
    hardship: ['checkouts', 'orders'],
  },
  {
    guard: 'a removed order gives back what it holds',
    changes: [
      [
        'src/selling/checkout-store.ts',
        'await holdings.giveBack(await collection.find(holding, { session }).toArray(), session);',
        'await holdings.giveBack(await collection.find({ ...holding, accountId: "" }, { session }).toArray(), session);',
      ],
    ],
    hardship: ['checkouts', 'orders'],
  },
  {
    guard: 'a checkout is counted at its wallet, so that the end of the wallet sees it',
    changes: [
      [
        'src/selling/checkout-creation.ts',
        'await wallets.countCheckouts(made, session);',
        'new Map(await Promise.all(made.map(async ({ accountId, walletId }) => [walletId, (await forAccount(accountId).wallets.byId(walletId, session))!] as const)));',
      ],
    ],
    elsewhere: 'test/integration/products.test.ts',
  },
  {
    guard: 'an account whose part of a group fails is written apart from the others',
    changes: [['src/kit/group-commit.ts', 'else apart.add(key, [', "else apart.add('all', ["]],
    elsewhere: 'test/unit/group-commit.test.ts',
  },
  {
    guard: 'what may be committed already is not written again',
    changes: [['src/kit/group-commit.ts', 'if (mayBeCommitted(error)) for', 'if (Number(error) > 0) for']],
    elsewhere: 'test/unit/group-commit.test.ts',
  },
  {
    guard: 'an account gets no document of another that is counted in the same group',
    changes: [['src/kit/owners.ts', 'doc?.accountId === accountId ? doc : null', 'doc && accountId ? doc : null']],
    elsewhere: 'test/integration/tenancy.test.ts',
  },
  // Delivering.
  {
    guard: 'a lease is taken only when it is free',
    changes: [['src/webhooks/webhook-store.ts', "{ status: 'ACTIVE', $expr: IS_FREE }", "{ status: 'ACTIVE' }"]],
    elsewhere: 'test/integration/webhook-leases.test.ts',
  },
  {
    guard: 'a lease that another dispatcher had since is not renewed',
    changes: [
      [
        'src/webhooks/webhook-store.ts',
        "{ _id: { $in: [...ids] }, 'lease.holder': holder }, withLease(",
        '{ _id: { $in: [...ids] } }, withLease(',
      ],
    ],
    elsewhere: 'test/integration/webhook-leases.test.ts',
  },
  {
    guard: 'nothing is started that could outlast the lease',
    changes: [
      [
        'src/webhooks/endpoint-queues.ts',
        'leaseEndsMs - this.#monotonic.nowMs() >= timeoutMs + marginMs / 4',
        'leaseEndsMs !== 0',
      ],
    ],
    elsewhere: 'test/unit/endpoint-queues.test.ts',
  },
  {
    guard: 'a lease is released only when nothing of its queue is under way',
    changes: [['src/webhooks/dispatch.ts', 'queue.size === 0 && (queue.stopped', '(queue.stopped']],
    elsewhere: 'test/integration/webhook-leases.test.ts',
  },
  {
    guard: 'an ending dispatcher waits for what is in flight',
    changes: [
      ['src/webhooks/dispatch.ts', 'await Promise.all(this.#sending);', ''],
      ['src/webhooks/dispatch.ts', 'queues.all().filter((queue) => queue.inFlight === 0)', 'queues.all()'],
    ],
  },
  {
    guard: 'a delivery that is here already is not taken again',
    changes: [
      [
        'src/webhooks/endpoint-queue.ts',
        'if (this.holds(delivery._id) || this.stopped) return;',
        'if (this.stopped) return;',
      ],
      ['src/webhooks/load.ts', '!queues.of(webhookId)?.holds(_id)', '_id !== webhookId'],
    ],
  },
  {
    guard: 'a delivery recorded since the database was asked is not taken again',
    changes: [['src/webhooks/endpoint-queue.ts', 'this.#recordedSinceLook.add(deliveryId);', '']],
  },
  {
    guard: 'an attempt is recorded once, by the dispatcher that saw the state before it',
    changes: [
      [
        'src/webhooks/due-deliveries.ts',
        "accountId: { $in: accountsOf(records) }, attemptCount, status: 'PENDING' as const },",
        'accountId: { $in: accountsOf(records) } },',
      ],
    ],
  },
  {
    guard: 'a result that could not be written is written later',
    changes: [['src/webhooks/attempt.ts', 'this.#waiting.unshift(...batch);', '']],
  },
  {
    guard: 'payment.completed waits for its payment.received',
    changes: [['src/webhooks/load.ts', 'return before ? [before, each] : [each];', 'return [each];']],
    elsewhere: 'test/integration/webhook-leases.test.ts',
  },
  {
    guard: 'payment.completed waits in its endpoint queue',
    changes: [
      ['src/webhooks/endpoint-queue.ts', 'if (key === null || !this.#awaited.has(key)) {', 'if (key !== undefined) {'],
    ],
  },
  {
    guard: 'a delivery opened for a deleted webhook is cancelled',
    changes: [['src/webhooks/endpoint-queues.ts', 'if (gone.length > 0) await deliveries.cancelPending(gone);', '']],
    elsewhere: 'test/integration/webhook-dispatch.test.ts',
  },
  {
    guard: 'a rate that jumps counts once a second sample confirms it',
    hardship: 'rates',
    changes: [['src/rates/sampler.ts', 'if (!countsNow(taken, before, jumped)) {', 'if (before === undefined) {']],
  },
  {
    guard: 'a jump is confirmed by a newer answer, not by the same one taken again',
    hardship: ['rates', 'repeats'],
    changes: [['src/domain/rate.ts', '|| at > suspect.at));', '|| at >= suspect.at));']],
  },
  {
    guard: 'a payment is judged by all rates that were shown within the lock, not by the newest alone',
    hardship: 'rates',
    changes: [
      ['src/domain/shown-rates.ts', 'const beginMs = closedMs - lockMs - CLOCKS_MS;', 'const beginMs = closedMs;'],
    ],
  },
  {
    guard: 'a rate that was shown before the lock no longer counts',
    hardship: 'rates',
    changes: [['src/domain/shown-rates.ts', 'const beginMs = closedMs - lockMs - CLOCKS_MS;', 'const beginMs = 0;']],
  },
  {
    guard: 'what was dated by a clock alone, as no ledger was known, may have been shown before that',
    hardship: ['rates', 'skewMs', 'rpc'],
    seed: 73_017,
    changes: [['src/domain/shown-rates.ts', 'isByClock ? [within, withEarlyBegins(within)] : [within]', '[within]']],
  },
  {
    guard: 'a sample and an own rate that begin at one moment were both shown',
    hardship: ['rates', 'skewMs', 'rpc'],
    seed: 73_025,
    changes: [['src/domain/shown-rates.ts', '      return found;', '      return [list[last]];']],
  },
  {
    guard: 'a sample is never dated before the last one',
    changes: [['src/rates/sampler.ts', 'beginAfter(last, await stamp(pair.network))', 'await stamp(pair.network)']],
    elsewhere: 'test/integration/rates.test.ts',
  },
  {
    guard: 'an underpayment counts by the rate that is best for the payer',
    hardship: ['rates', 'checkouts'],
    changes: [
      [
        'src/domain/pricing.ts',
        "return valued('short', best, worthOf(amount, best.rate, currency));",
        "return valued('short', worst, worthOf(amount, worst.rate, currency));",
      ],
    ],
  },
  {
    guard: 'an order link takes no more orders than its maxPayments',
    changes: [
      [
        'src/selling/holdings.ts',
        "{ $or: [{ maxPayments: null }, { $expr: { $lt: ['$orderCount', '$maxPayments'] } }] },",
        '',
      ],
    ],
    hardship: ['checkouts', 'orders'],
  },
  {
    guard: 'another process ends the transactions of one that has died',
    hardship: 'holds',
    changes: [
      ['src/kit/leases.ts', 'await db!.command({ killSessions: sessions.map((id) => ({ id })) });', 'void sessions;'],
    ],
  },
  {
    guard: 'a newest ledger that cannot have closed yet is not believed',
    hardship: 'claims',
    seed: 5012,
    changes: [['src/ledger/failover.ts', 'const MOST_AT_ONCE = 500;', 'const MOST_AT_ONCE = 1e12;']],
  },
  {
    guard: 'reading rests only where the newest ledger is the one of before',
    changes: [
      ['src/watching/plan.ts', 'if (cursor.ledger === tip.latestLedger)', 'if (cursor.ledger >= tip.latestLedger)'],
    ],
    elsewhere: 'test/e2e/watching.test.ts',
  },
  {
    guard: 'the cursor moves with the last of several transactions',
    hardship: ['pieces', 'refunds', 'checkouts'],
    seed: 5,
    changes: [['src/payments/recorder.ts', 'isLast ? move.to : move.from', 'move.to']],
  },
];
