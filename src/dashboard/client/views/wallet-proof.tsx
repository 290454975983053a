/** Evidence for the completeness of a wallet's books: missed ledgers, and audits of its balances. */
import { type Item, type Output, useRead, useWrite } from '../api.js';
import { grouped, plural, signed } from '../format.js';
import { Act, useCanWrite } from '../parts/act.js';
import { Badge, Facts, Time } from '../parts/bits.js';
import { Section, Shown } from '../parts/page.js';
import { AUDIT_STATUS } from '../words.js';

const SHOWN = 10;

export function Gaps({ walletId }: { walletId: string }) {
  const gaps = useRead('wallets.gaps', { id: walletId, pageSize: SHOWN }, { keepPrevious: false });
  const mend = useWrite('wallets.mendGaps');
  const canWrite = useCanWrite();
  const isOpen = gaps.data?.items.some(({ mendedAt }) => mendedAt === null) ?? false;
  return (
    <Section
      title="Missed ledgers"
      actions={
        canWrite && isOpen && <Act label="Read them now" write={mend} input={{ id: walletId }} done={toldOfMending} />
      }
    >
      <Shown query={gaps}>
        {({ items, meta }) =>
          items.length === 0 ? (
            <p class="hint">None: every ledger since the wallet was added has been read.</p>
          ) : (
            <>
              <Facts
                facts={items.map(
                  ({ fromLedger, toLedger, at, mendedAt }) =>
                    [
                      `${grouped(String(fromLedger))} to ${grouped(String(toLedger))}`,
                      mendedAt ? (
                        <>
                          read later, <Time at={mendedAt} exact />
                        </>
                      ) : (
                        <>
                          found on <Time at={at} exact />
                        </>
                      ),
                    ] as const,
                )}
              />
              {meta.total > items.length && <p class="hint">{plural(meta.total, 'gap')} in all.</p>}
            </>
          )
        }
      </Shown>
    </Section>
  );
}

const toldOfMending = ({ mended, open }: Output<'wallets.mendGaps'>): string =>
  open === 0 ? `${plural(mended, 'gap')} closed.` : `${plural(mended, 'gap')} closed, ${grouped(String(open))} left.`;

export function Audits({ walletId }: { walletId: string }) {
  const audits = useRead(
    'wallets.audits',
    { id: walletId, pageSize: SHOWN },
    { refetchInterval: 5_000, keepPrevious: false },
  );
  const start = useWrite('wallets.startAudit');
  const canWrite = useCanWrite();
  const isRunning = audits.data?.items[0]?.status === 'RUNNING';
  return (
    <Section
      title="Audits"
      actions={
        canWrite &&
        !isRunning && (
          <Act label="Audit now" write={start} input={{ id: walletId }} done={() => 'The audit has started.'} />
        )
      }
    >
      <p class="hint">
        An audit compares the balances on the ledger with everything that moved them, and records missed payments.
      </p>
      <Shown query={audits}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="empty">No audit yet.</p>
          ) : (
            <ul class="deliveries">
              {items.map((audit) => (
                <One key={audit.id} audit={audit} />
              ))}
            </ul>
          )
        }
      </Shown>
    </Section>
  );
}

type Audit = Item<'wallets.audits'>;

function One({ audit }: { audit: Audit }) {
  const { status, reason, fromLedger, toLedger, missingPayments, assets, createdAt } = audit;
  return (
    <li>
      <details>
        <summary>
          <Badge {...AUDIT_STATUS[status]} />
          <span class="hint">
            {fromLedger !== null &&
              toLedger !== null &&
              `Ledgers ${grouped(String(fromLedger))} to ${grouped(String(toLedger))}`}
            {missingPayments > 0 && `, ${plural(missingPayments, 'missed payment')} recorded`}
          </span>
          <Time at={createdAt} />
        </summary>
        {reason && <p class="problem">{reason}</p>}
        {assets.map((asset) => (
          <OfAsset key={`${asset.assetCode}:${asset.assetIssuer}`} asset={asset} />
        ))}
      </details>
    </li>
  );
}

function OfAsset({ asset }: { asset: Audit['assets'][number] }) {
  const { assetCode, opening, movements, computed, closing, difference } = asset;
  const rows = [
    ['Before', opening],
    ['Received', movements.received],
    ['Sent', movements.sent],
    ['Fees', movements.fees],
    ['Traded', movements.traded],
    ['Other', movements.other],
    ['Should be', computed],
    ['On the ledger', closing],
    ['Difference', difference],
  ] as const;
  return (
    <table class="days">
      <caption>{assetCode}</caption>
      <tbody>
        {rows.map(([name, amount]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="money">{signed(amount)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
