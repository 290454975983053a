/** Amounts, times, ids, states and links, each shown the same way everywhere. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { exactTime, grouped, money, short, shortTime } from '../format.js';
import { t } from '../texts/texts.js';
import type { Word } from '../words.js';
import { Icon, type IconName } from './icon.js';
import { say } from './toast.js';

/** @param code of the asset @param currency where the amount is in one instead */
export const Money = ({ amount, code, currency = null }: { amount: string; code: string; currency?: string | null }) =>
  currency === null ? (
    <span class="money">
      {grouped(amount)} <span class="code">{code}</span>
    </span>
  ) : (
    <span class="money">{money(amount, currency)}</span>
  );

/** The exact time is in the title; details show it directly. */
export const Time = ({ at, exact = false }: { at: string; exact?: boolean }) => (
  <time dateTime={at} title={`${exactTime(at)} · ${at}`}>
    {exact ? exactTime(at) : shortTime(at)}
  </time>
);

export const Badge = ({ label, tone, more }: Word & { more?: string | undefined }) => (
  <span class={`badge ${tone}`}>
    {label}
    {more && <span class="more"> · {more}</span>}
  </span>
);

async function copyText(text: string): Promise<boolean> {
  // Browsers offer the clipboard only to https and localhost.
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {}
  }
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'unseen';
  // An open dialog makes everything outside of it inert.
  (document.querySelector('dialog[open]') ?? document.body).append(field);
  field.select();
  const copied = document.execCommand('copy');
  field.remove();
  return copied;
}

/** @param what the copied thing, for the button's name: `the address` */
export function Copy({ text, what, label }: { text: string; what: string; label?: string }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    const copied = await copyText(text);
    say(copied ? t('copiedWhat', { what }) : t('copyingNotPossibleHere'), { isBad: !copied });
    setDone(copied);
    setTimeout(setDone, 2_000, false);
  };
  return (
    <button
      type="button"
      class={label ? 'plain' : 'copy'}
      {...(label ? {} : { 'aria-label': t('copyWhat', { what }) })}
      title={t('copyWhat', { what })}
      onClick={copy}
    >
      <Icon name={isDone ? 'check' : 'copy'} />
      {label}
    </button>
  );
}

/** An id, address or hash: shortened unless `whole`, and always copied whole. */
export const Code = ({ text, what, whole = false }: { text: string; what: string; whole?: boolean }) => (
  <span class="code-line">
    <code title={text}>{whole ? text : short(text, 6)}</code>
    <Copy text={text} what={what} />
  </span>
);

export const LinkButton = ({
  href,
  icon,
  plain,
  children,
}: {
  href: string;
  icon?: IconName;
  plain?: boolean;
  children: ComponentChildren;
}) => (
  <Link href={href} className={plain ? 'button plain' : 'button'}>
    {icon && <Icon name={icon} />}
    {children}
  </Link>
);

/** A link to a foreign page, which gets no referrer and no opener. */
export const Outside = ({ href, children }: { href: string; children: ComponentChildren }) => (
  <a href={href} target="_blank" rel="noreferrer noopener">
    {children}
    <Icon name="out" />
    <span class="unseen"> {t('opensNewTab')}</span>
  </a>
);

/** Names and values; names without a value are left out. */
export const Facts = ({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) => (
  <dl class="facts">
    {facts
      .filter(([, value]) => value !== null && value !== undefined && value !== false)
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
);
