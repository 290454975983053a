/** Lists: a table, on a phone rows of two lines, with empty, loading and error states and
 *  list pages. */
import type { UseQueryResult } from '@tanstack/preact-query';
import type { ComponentChildren } from 'preact';
import { Link, useLocation, useSearchParams } from 'wouter-preact';

import { t } from '../texts/texts.js';
import { Shown } from './page.js';

export interface Column<Item> {
  title: string;
  /** `main` is the row's link, `money` is right-aligned, `wide` is left out on a phone. */
  kind?: 'main' | 'money' | 'wide' | 'money wide' | 'actions';
  cell: (item: Item) => ComponentChildren;
}

interface Listed<Item> {
  items: Item[];
  meta: { page: number; total: number; totalPages: number; pageSize: number };
}

interface RowsProps<Item> {
  /** For screen readers. */
  title: string;
  columns: readonly Column<Item>[];
  /** The link of a row; null for none. */
  href?: (item: Item) => string | null;
  /** Shown instead of a list without items. */
  empty: ComponentChildren;
  /** False: shows only the first items. */
  paged?: boolean;
}

export const List = <Item extends { id: string }>({
  query,
  ...rows
}: RowsProps<Item> & { query: UseQueryResult<Listed<Item>> }) => (
  <Shown query={query}>{(listed) => <Rows {...rows} {...listed} isStale={query.isPlaceholderData} />}</Shown>
);

/** A list page that is already loaded. */
export function Rows<Item extends { id: string }>(props: RowsProps<Item> & Listed<Item> & { isStale?: boolean }) {
  const { title, columns, href, empty, paged = true, items, meta, isStale = false } = props;
  const leadingTo = (item: Item, content: ComponentChildren) => {
    const to = href?.(item);
    return to ? <Link href={to}>{content}</Link> : content;
  };
  return (
    <div class={isStale ? 'list stale' : 'list'} aria-busy={isStale}>
      {items.length === 0 ? (
        <div class="empty">{empty}</div>
      ) : (
        <table>
          <caption class="unseen">{title}</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column.title} scope="col" class={column.kind}>
                  {column.kind === 'actions' ? <span class="unseen">{column.title}</span> : column.title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {items.map((item) => (
              <tr key={item.id}>
                {columns.map(({ title, kind, cell }) => (
                  <td key={title} class={kind}>
                    {kind === 'main' ? leadingTo(item, cell(item)) : cell(item)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {paged && <Pages {...meta} shown={items.length} />}
    </div>
  );
}

function Pages({
  page,
  total,
  totalPages,
  pageSize,
  shown,
}: {
  page: number;
  total: number;
  totalPages: number;
  pageSize: number;
  shown: number;
}) {
  const [path] = useLocation();
  const [params] = useSearchParams();
  if (totalPages <= 1 && page === 1) return null;
  const to = (target: number) => {
    const query = new URLSearchParams(params);
    if (target === 1) query.delete('page');
    else query.set('page', String(target));
    return query.size > 0 ? `${path}?${query}` : path;
  };
  const first = (page - 1) * pageSize + 1;
  return (
    <nav class="pages" aria-label={t('pagesList')}>
      {page > 1 && (
        <Link href={to(Math.min(page - 1, Math.max(totalPages, 1)))} className="button plain">
          {t('previous')}
        </Link>
      )}
      <span>{shown > 0 ? t('rangeOf', { first, last: first + shown - 1, total }) : t('noneOf', { total })}</span>
      {page < totalPages && (
        <Link href={to(page + 1)} className="button plain">
          {t('next')}
        </Link>
      )}
    </nav>
  );
}
