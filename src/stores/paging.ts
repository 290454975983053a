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

/** @param count where the total is known without looking at all that is counted */
export async function page<Doc extends { _id: string }>(
  model: Model<Doc>,
  filter: QueryFilter<Doc>,
  request: PageRequest,
  count: () => PromiseLike<number> = () => model.countDocuments(filter),
): Promise<Page<Doc>> {
  const { page, pageSize, sort = {} } = request;
  const lastDirection = Object.values(sort).at(-1) ?? -1;
  const [items, total] = await Promise.all([
    model
      .find(filter)
      .sort({ ...sort, _id: sort._id ?? lastDirection })
      .skip((page - 1) * pageSize)
      .limit(pageSize)
      .lean<Doc[]>(),
    count(),
  ]);
  return { items, meta: toMeta(request, total) };
}

export function toMeta({ page, pageSize }: Pick<PageRequest, 'page' | 'pageSize'>, total: number): ListMeta {
  return { page, pageSize, total, totalPages: Math.ceil(total / pageSize) };
}
