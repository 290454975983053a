/** Which operation a method and a path mean. Segments are compared exactly; a wrong method is as unknown as a wrong path. */
import { contract } from '../../contracts/index.js';
import type { Operation } from '../../contracts/operation.js';
import { type QueryReader, queryReader } from './rest-query.js';

export interface Route {
  operation: Operation;
  /** Name of the tRPC procedure: `products.create`. */
  name: string;
  type: 'query' | 'mutation';
  readQuery: QueryReader;
}

interface Node {
  segments: Map<string, Node>;
  parameter: { name: string; node: Node } | null;
  routes: Map<string, Route>;
}

const newNode = (): Node => ({ segments: new Map(), parameter: null, routes: new Map() });

const root = newNode();
for (const [resource, operations] of Object.entries(contract)) {
  for (const [name, operation] of Object.entries(operations as Record<string, Operation>)) {
    let node = root;
    for (const segment of operation.path.split('/').slice(1)) {
      if (segment.startsWith('{')) {
        node.parameter ??= { name: segment.slice(1, -1), node: newNode() };
        node = node.parameter.node;
      } else {
        const next = node.segments.get(segment) ?? newNode();
        node.segments.set(segment, next);
        node = next;
      }
    }
    node.routes.set(operation.method, {
      operation,
      name: `${resource}.${name}`,
      type: operation.readOnly ? 'query' : 'mutation',
      readQuery: queryReader(operation),
    });
  }
}

/** `path` below `/api/v1`, without the query. The parameters are still encoded. */
export function findRoute(method: string, path: string): { route: Route; params: Record<string, string> } | null {
  let node = root;
  const params: Record<string, string> = {};
  for (const segment of path.split('/').slice(1)) {
    const next = node.segments.get(segment);
    if (next) {
      node = next;
    } else if (node.parameter && segment !== '') {
      params[node.parameter.name] = segment;
      node = node.parameter.node;
    } else {
      return null;
    }
  }
  const route = node.routes.get(method === 'HEAD' ? 'GET' : method);
  return route ? { route, params } : null;
}
