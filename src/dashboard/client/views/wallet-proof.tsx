/** Evidence for the completeness of a wallet's books: missed ledgers, and audits of
 *  its balances. */
import { type Item, type Output, useRead, useWrite } from '../api.js';
import { signed } from '../format.js';
import { Act, useCanWrite } from '../parts/act.js';
import { Badge, Facts, Time } from '../parts/bits.js';
import { Section, Shown } from '../parts/page.js';
import { rich } from '../parts/rich.js';
import { t } from '../texts/texts.js';
import { AUDIT_STATUS } from '../words.js';

const SHOWN = 10;

export function Gaps({ walletId }: { walletId: string }) {
  const gaps = useRead('wallets.gaps', { id: walletId, pageSize: SHOWN }, { keepPrevious: false });
  const mend = useWrite('wallets.mendGaps');
  const canWrite = useCanWrite();
  const isOpen = gaps.data?.items.some(({ mendedAt }) => mendedAt === null) ?? false;
  return (
    <Section
      title={t('missedLedgers')}
      actions={
        canWrite && isOpen && <Act label={t('readNow')} write={mend} input={{ id: walletId }} done={toldOfMending} />
      }
    >
      <Shown query={gaps}>
        {({ items, meta }) =>
          items.length === 0 ? (
            <p class="hint">{t('noneEveryLedgerSince')}</p>
          ) : (
            <>
              <Facts
                facts={items.map(
                  ({ fromLedger, toLedger, at, mendedAt }) =>
                    [
                      t('fromToLedger', { fromLedger, toLedger }),
                      mendedAt
                        ? rich('readLater', { time: <Time at={mendedAt} exact /> })
                        : rich('foundOn', { time: <Time at={at} exact /> }),
                    ] as const,
                )}
              />
              {meta.total > items.length && <p class="hint">{t('gapsInAll', { n: meta.total })}</p>}
            </>
          )
        }
      </Shown>
    </Section>
  );
}

const toldOfMending = ({ mended, open }: Output<'wallets.mendGaps'>): string =>
  open === 0 ? t('gapsClosed', { n: mended }) : t('gapsClosedLeft', { n: mended, left: open });

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
      title={t('audits')}
      actions={
        canWrite &&
        !isRunning && (
          <Act label={t('auditNow')} write={start} input={{ id: walletId }} done={() => t('auditStarted')} />
        )
      }
    >
      <p class="hint">{t('auditComparesBalancesLedger')}</p>
      <Shown query={audits}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="empty">{t('noAuditYet')}</p>
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
            {fromLedger !== null && toLedger !== null && t('ledgersFromLedgerToLedger', { fromLedger, toLedger })}
            {missingPayments > 0 && `, ${t('missedRecorded', { n: missingPayments })}`}
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
    [t('before'), opening],
    [t('received'), movements.received],
    [t('sent'), movements.sent],
    [t('fees'), movements.fees],
    [t('traded'), movements.traded],
    [t('other'), movements.other],
    [t('shouldBe'), computed],
    [t('onLedger'), closing],
    [t('difference'), difference],
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
