/** The filters of `getEvents`, turned into a query. */
import { StrKey, xdr } from '@stellar/stellar-sdk/base';
import type { Filter } from 'mongodb';
import { z } from 'zod';
import { invalidParams } from './error.js';
import type { EventDocument } from './events.js';

/** The most filters in a call, and the most contracts and topic filters in a filter. */
const MAX_EACH = 5;
const MAX_SEGMENTS = 4;
const ONE = '*';
const ANY = '**';

export const eventFilterSchema = z.object({
  type: z.string().optional(),
  contractIds: z.array(z.string()).nullish(),
  topics: z.array(z.array(z.string())).nullish(),
});
export type EventFilter = z.output<typeof eventFilterSchema>;

/** The query for the events that a call asks for. Throws the error that stellar-rpc
 *  answers with. */
export function toQuery(filters: EventFilter[]): Filter<EventDocument> {
  if (filters.length > MAX_EACH) throw invalidParams('maximum 5 filters per request');
  const wanted = filters.map((filter, index) => {
    const mistake = mistakeIn(filter);
    if (mistake !== null) throw invalidParams(`filter ${index + 1} invalid: ${mistake}`);
    return toCondition(filter);
  });
  const [first, ...others] = wanted.flat();
  if (first === undefined) return {};
  return others.length === 0 ? first : { $or: [first, ...others] };
}

function mistakeIn({ type = '', contractIds, topics }: EventFilter): string | null {
  const types = type === '' ? [] : type.split(',');
  if (!types.every((one) => one === 'contract' || one === 'system')) {
    return "filter type invalid: if set, type must be either 'system' or 'contract'";
  }
  if ((contractIds ?? []).length > MAX_EACH) return 'maximum 5 contract IDs per filter';
  if ((topics ?? []).length > MAX_EACH) return 'maximum 5 topics per filter';
  const wrongId = (contractIds ?? []).findIndex((id) => !StrKey.isValidContract(id));
  if (wrongId !== -1) return `contract ID ${wrongId + 1} invalid`;
  for (const [index, topic] of (topics ?? []).entries()) {
    const mistake = mistakeInTopic(topic);
    if (mistake !== null) return `topic ${index + 1} invalid: ${mistake}`;
  }
  return null;
}

function mistakeInTopic(topic: string[]): string | null {
  if (topic.length === 0) return 'topic must have at least 1 segment';
  const segments = topic.at(-1) === ANY ? topic.slice(0, -1) : topic;
  const misplaced = segments.indexOf(ANY);
  if (misplaced !== -1) return `segment ${misplaced + 1} invalid: wildcard '**' is only allowed as the last segment`;
  if (segments.length > MAX_SEGMENTS) return 'topic cannot have more than 4 segments';
  const wrong = segments.findIndex((segment) => segment !== ONE && !isScVal(segment));
  return wrong === -1 ? null : `segment ${wrong + 1} invalid: neither a wildcard nor a base64 ScVal`;
}

function isScVal(base64: string): boolean {
  try {
    return xdr.ScVal.fromXdr(base64, 'base64').toXdr('base64') === base64;
  } catch {
    return false;
  }
}

/** One alternative for each topic filter. */
function toCondition({ type = '', contractIds, topics }: EventFilter): Filter<EventDocument>[] {
  // All events here are of contracts.
  if (type !== '' && !type.split(',').includes('contract')) return [{ _id: { $exists: false } }];
  const ofContract = contractIds?.length ? { contractId: { $in: contractIds } } : {};
  if (!topics?.length) return [ofContract];
  return topics.map((topic) => ({ ...ofContract, ...topicCondition(topic) }));
}

function topicCondition(topic: string[]): Filter<EventDocument> {
  const isOpen = topic.at(-1) === ANY;
  const segments = isOpen ? topic.slice(0, -1) : topic;
  const values = segments.filter((segment) => segment !== ONE);
  const places = segments.flatMap((segment, place) => (segment === ONE ? [] : [[`topics.${place}`, segment]]));
  const length = !isOpen
    ? { topics: { $size: segments.length, ...(values.length > 0 ? { $all: values } : {}) } }
    : {
        ...(values.length > 0 ? { topics: { $all: values } } : {}),
        ...(segments.length > 0 ? { [`topics.${segments.length - 1}`]: { $exists: true } } : {}),
      };
  return { ...length, ...Object.fromEntries(places) } as Filter<EventDocument>;
}
