/** Received money today and lately, by days of the browser's zone: completed payments of each
 *  asset, and the parts of paid orders; and how much of them was sent back since. Sums are exact
 *  and never mix assets. */
import { useState } from 'preact/hooks';
import { type Output, useRead } from '../api.js';
import { amountOf, dayOf, grouped, short, shortDay, startOfDay, stroopsOf, timezone } from '../format.js';
import { Money } from '../parts/bits.js';
import { Section, Shown } from '../parts/page.js';
import { rich } from '../parts/rich.js';
import { t } from '../texts/texts.js';

type Row = Output<'reports.summary'>[number];

const DAYS = 30;

interface Asset {
  key: string;
  code: string;
  issuer: string | null;
  /** Stroops that came on each day, and what of them was sent back since; oldest first, the last
   *  day is today. */
  days: { day: string; stroops: bigint; refunded: bigint }[];
}

/** Includes days without payments. The asset with the most payments is first. */
function assetsOf(rows: readonly Row[], today: string): Asset[] {
  const days = Array.from({ length: DAYS }, (_, index) => dayOf(startOfDay(today, index - DAYS + 1)));
  const counts = new Map<string, number>();
  const assets = new Map<string, Asset>();
  for (const { key: day, assetCode, assetIssuer, amount, refundedAmount, count } of rows) {
    const key = `${assetCode}:${assetIssuer ?? ''}`;
    const asset = assets.get(key) ?? {
      key,
      code: assetCode,
      issuer: assetIssuer,
      days: days.map((each) => ({ day: each, stroops: 0n, refunded: 0n })),
    };
    assets.set(key, asset);
    counts.set(key, (counts.get(key) ?? 0) + count);
    const at = asset.days.find((each) => each.day === day);
    if (!at) continue;
    at.stroops += stroopsOf(amount);
    at.refunded += stroopsOf(refundedAmount);
  }
  return [...assets.values()].sort((a, b) => counts.get(b.key)! - counts.get(a.key)! || a.key.localeCompare(b.key));
}

const lately = (asset: Asset, days: number, what: 'stroops' | 'refunded'): bigint =>
  asset.days.slice(-days).reduce((sum, each) => sum + each[what], 0n);

/** The value of all assets' payments in the currency of the books. */
function worthOf(rows: readonly Row[], today: string, days: number): string {
  const first = dayOf(startOfDay(today, 1 - days));
  const lately = rows.filter(({ key }) => key !== null && key >= first && key <= today);
  return amountOf(lately.reduce((sum, { value = '0' }) => sum + stroopsOf(value), 0n));
}

export function Received() {
  const today = dayOf(new Date());
  const currency = useRead('account.get', {}).data?.booksCurrency ?? null;
  const summary = useRead('reports.summary', {
    from: dayOf(startOfDay(today, 1 - DAYS)),
    groupBy: 'day',
    timezone: timezone(),
    status: ['COMPLETED'],
    parts: true,
    ...(currency && { currency }),
  });
  return (
    <Section title={t('received')}>
      <Shown query={summary}>
        {(rows) => {
          const assets = assetsOf(rows, today);
          if (assets.length === 0) return <p class="received hint">{t('nothingInDays', { days: DAYS })}</p>;
          return (
            <>
              {currency && <InCurrency rows={rows} today={today} currency={currency} />}
              {assets.map((asset) => (
                <OfAsset key={asset.key} asset={asset} />
              ))}
            </>
          );
        }}
      </Shown>
    </Section>
  );
}

const SPANS = [
  [t('today'), 1],
  [t('days', { n: 7 }), 7],
  [t('days', { n: 30 }), 30],
] as const;

const InCurrency = ({ rows, today, currency }: { rows: readonly Row[]; today: string; currency: string }) => (
  <article class="received" aria-label={t('totalReceivedCurrency', { currency })}>
    <p class="hint">
      {t('totalInCurrency', { currency })}
      {rows.some(({ refundedAmount }) => refundedAmount !== '0') && `, ${t('beforeSentBack')}`}
    </p>
    <dl>
      {SPANS.map(([name, days]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Money amount={worthOf(rows, today, days)} code={currency} currency={currency} />
          </dd>
        </div>
      ))}
    </dl>
  </article>
);

function OfAsset({ asset }: { asset: Asset }) {
  return (
    <article class="received" aria-label={t('receivedCode', { code: asset.code })}>
      {asset.issuer && (
        <p class="hint">
          {rich('codeOfIssuer', { code: asset.code, issuer: <code title={asset.issuer}>{short(asset.issuer)}</code> })}
        </p>
      )}
      <dl>
        {SPANS.map(([name, days]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Money amount={amountOf(lately(asset, days, 'stroops'))} code={asset.code} />
            </dd>
            <SentBack refunded={lately(asset, days, 'refunded')} code={asset.code} />
          </div>
        ))}
      </dl>
      <Chart asset={asset} />
    </article>
  );
}

const SentBack = ({ refunded, code }: { refunded: bigint; code: string }) =>
  refunded > 0n && (
    <dd class="hint">{rich('ofItSentBack', { amount: <Money amount={amountOf(refunded)} code={code} /> })}</dd>
  );

const HEIGHT = 100;
const STEP = 10;

/** A bar for each day. The pointed bar's amount is shown, and a table below holds all. */
function Chart({ asset: { code, days } }: { asset: Asset }) {
  const [at, setAt] = useState(days.length - 1);
  const most = days.reduce((max, { stroops }) => (stroops > max ? stroops : max), 1n);
  // Only the picture is rounded.
  const heightOf = (stroops: bigint) =>
    stroops === 0n ? 0 : Math.max(1.5, Number((stroops * BigInt(HEIGHT) * 10n) / most) / 10);
  const shown = days[at]!;
  return (
    <div>
      <p class="ends" aria-hidden="true">
        <span>{shortDay(shown.day)}</span>
        <span class="money">
          {grouped(amountOf(shown.stroops))} {code}
        </span>
      </p>
      <svg
        class="chart"
        viewBox={`0 0 ${STEP * days.length} ${HEIGHT + 1}`}
        preserveAspectRatio="none"
        aria-hidden="true"
        onPointerLeave={() => setAt(days.length - 1)}
      >
        <line x1="0" x2={STEP * days.length} y1={HEIGHT + 0.5} y2={HEIGHT + 0.5} vector-effect="non-scaling-stroke" />
        {days.map(({ day, stroops }, index) => (
          <g key={day} class={index === at ? 'at' : ''} onPointerEnter={() => setAt(index)}>
            <rect class="room" x={index * STEP} y="0" width={STEP} height={HEIGHT} />
            <rect
              x={index * STEP + 1}
              y={HEIGHT - heightOf(stroops)}
              width={STEP - 2}
              height={heightOf(stroops)}
              rx="1"
            />
          </g>
        ))}
      </svg>
      <p class="ends" aria-hidden="true">
        <span>{shortDay(days[0]!.day)}</span>
        <span>{t('todayEnd')}</span>
      </p>
      <details>
        <summary>{t('dayDay')}</summary>
        <table class="days">
          <caption class="unseen">{t('receivedCodeEachDay', { code })}</caption>
          <tbody>
            {days
              .filter(({ stroops }) => stroops > 0n)
              .reverse()
              .map(({ day, stroops, refunded }) => (
                <tr key={day}>
                  <th scope="row">{day}</th>
                  <td class="money">{grouped(amountOf(stroops))}</td>
                  <td class="money">{refunded > 0n && t('amountSentBack', { amount: grouped(amountOf(refunded)) })}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </details>
    </div>
  );
}
