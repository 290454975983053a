/** The frame of a view: heading, actions, and the states for loading and failure. */
import type { UseQueryResult } from '@tanstack/preact-query';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { failureOf, useSession } from '../api.js';
import { t } from '../texts/texts.js';
import { Icon } from './icon.js';

/** Whether a view was shown before: the first one leaves the focus to the browser. */
let hasShown = false;

interface PageProps {
  title: string;
  /** Shown beside the heading. */
  badge?: ComponentChildren;
  actions?: ComponentChildren;
  /** The list that the view belongs to. */
  back?: { href: string; label: string };
  /** Id of the shown resource, for the link to its activity. */
  about?: string;
  children: ComponentChildren;
}

export function Page({ title, badge, actions, back, about, children }: PageProps) {
  const mayAsk = useSession().data?.may.includes('activity.list');
  const heading = useRef<HTMLHeadingElement>(null);
  // Before the view is painted: otherwise a key pressed at once would go to the previous view.
  useLayoutEffect(() => {
    if (hasShown) heading.current?.focus();
    hasShown = true;
  }, []);
  useEffect(() => {
    document.title = `${title} · stellar-collect`;
  }, [title]);
  return (
    <>
      {back && (
        <Link href={back.href} className="back">
          <Icon name="back" />
          {back.label}
        </Link>
      )}
      <header class="page">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {badge}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
      {about && mayAsk && (
        <p class="hint">
          <Link href={`/activity?subject=${about}`}>{t('changeHistory')}</Link>
        </p>
      )}
    </>
  );
}

export const Loading = () => (
  <p class="loading" role="status">
    {t('loading')}
  </p>
);

export const Failed = ({ error, retry }: { error: unknown; retry?: () => unknown }) => {
  const { message } = failureOf(error);
  return (
    <div class="callout bad" role="alert">
      <Icon name="alert" />
      <p>{message}</p>
      {retry && (
        <button type="button" class="plain" onClick={() => void retry()}>
          {t('tryAgain')}
        </button>
      )}
    </div>
  );
};

/** Shows a query's data. Earlier data stays visible during a refresh and after a failed one. */
export function Shown<Data>({
  query,
  children,
}: {
  query: UseQueryResult<Data>;
  children: (data: Data) => ComponentChildren;
}) {
  const { data, error, refetch } = query;
  if (data === undefined) return error ? <Failed error={error} retry={refetch} /> : <Loading />;
  return (
    <>
      {error && <Failed error={error} retry={refetch} />}
      {children(data)}
    </>
  );
}

/** The view of one resource, with `title` as the heading until it is loaded. */
export function Loaded<Data>({
  query,
  title,
  back,
  children,
}: Pick<PageProps, 'title' | 'back'> & {
  query: UseQueryResult<Data>;
  children: (data: Data) => ComponentChildren;
}) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  return (
    <Page title={title} back={back}>
      <Shown query={query}>{() => null}</Shown>
    </Page>
  );
}

export const Section = ({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) => (
  <section class="section">
    <header>
      <h2>{title}</h2>
      {actions && <div class="actions">{actions}</div>}
    </header>
    {children}
  </section>
);
