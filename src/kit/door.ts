/** The door of the database, for all collections. Stores make the operators of their queries
 *  themselves, so none may come in with an argument: a value that a caller sent as an object would
 *  be one, and find or remove what it never named. */
import { ApiError } from './api-error.js';

type Call = (...args: unknown[]) => unknown;

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

const isOperator = (value: unknown): boolean => isPlain(value) && Object.keys(value).some((key) => key.startsWith('$'));

/** An argument, what it lists, and its fields: deeper a store writes values, and
 *  queries nothing. */
function hasOperator(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isOperator);
  if (!isPlain(value)) return false;
  return isOperator(value) || Object.values(value).some((each) => isOperator(each) || listsOperator(each));
}

const listsOperator = (value: unknown) => Array.isArray(value) && value.some(isOperator);

/** The same store, whose functions throw `bad_request` for an argument with an operator. */
export function behindDoor<Store extends object>(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      if (typeof found === 'function') return checked(found as Call, target);
      return isPlain(found) ? behindDoor(found) : found;
    },
  });
}

const checked =
  (call: Call, store: object): Call =>
  (...args) => {
    if (args.some(hasOperator))
      throw new ApiError('bad_request', 'A value of this request has a form that it cannot have.');
    return call.apply(store, args);
  };
