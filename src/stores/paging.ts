/** Pages of a collection: what every list verb answers. The order is total (it always ends with `_id`), so that no item is on two pages. */
import type { Model, QueryFilter } from 'mongoose';
import type { ListMeta } from '../../contracts/primitives.js';

/** `page` counts from 1. Without `sort` the newest come first: ids sort by creation time. */
export interface PageRequest {
  page: number;
  pageSize: number;
  sort?: Readonly<Record<string, 1 | -1>>;
}

export interface Page<Doc> {
  items: Doc[];
  meta: ListMeta;
}

/** Items and total in one round trip.
 *  @param unused what an item is read without: a long field that no list shows */
export async function page<Doc extends { _id: string }, Unused extends keyof Doc & string = never>(
  model: Model<Doc>,
  filter: QueryFilter<Doc>,
  request: PageRequest,
  unused: readonly Unused[] = [],
): Promise<Page<Omit<Doc, Unused>>> {
  const { $sort, $skip, $limit } = windowOf(request);
  const found = await model.collection
    .aggregate<Doc | { total: number }>([
      ...[{ $match: filter }, { $sort }, { $skip }, { $limit }],
      ...unused.map((field) => ({ $unset: field })),
      // The last document; there is none when nothing is counted.
      { $unionWith: { coll: model.collection.name, pipeline: [{ $match: filter }, { $count: 'total' }] } },
    ])
    .toArray();
  const last = found.at(-1) as { total: number } | undefined;
  return { items: found.slice(0, -1) as Omit<Doc, Unused>[], meta: toMeta(request, last?.total ?? 0) };
}

/** The same where the total is known without looking at all that is counted. */
export async function pageOfKnown<Doc extends { _id: string }>(
  model: Model<Doc>,
  filter: QueryFilter<Doc>,
  request: PageRequest,
  count: () => PromiseLike<number>,
): Promise<Page<Doc>> {
  const { $sort, $skip, $limit } = windowOf(request);
  const items = model.find(filter).sort($sort).skip($skip).limit($limit).lean<Doc[]>();
  const [found, total] = await Promise.all([items, count()]);
  return { items: found, meta: toMeta(request, total) };
}

function windowOf({ page, pageSize, sort = {} }: PageRequest) {
  const lastDirection = Object.values(sort).at(-1) ?? -1;
  return { $sort: { ...sort, _id: sort._id ?? lastDirection }, $skip: (page - 1) * pageSize, $limit: pageSize };
}

export function toMeta({ page, pageSize }: Pick<PageRequest, 'page' | 'pageSize'>, total: number): ListMeta {
  return { page, pageSize, total, totalPages: Math.ceil(total / pageSize) };
}
