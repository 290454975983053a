/** Which operation a method and a path mean. Segments are compared exactly; a wrong method is as
 *  unknown as a wrong path. */
import { downloads } from '../../contracts/exports.js';
import { contract } from '../../contracts/index.js';
import type { Operation } from '../../contracts/operation.js';
import { type QueryReader, queryReader } from './rest-query.js';

export interface Route {
  operation: Operation;
  /** Name of the tRPC procedure, such as `products.create`; downloads have one of the same form. */
  name: string;
  type: 'query' | 'mutation' | 'subscription' | 'download';
  readQuery: QueryReader;
}

interface Node {
  segments: Map<string, Node>;
  parameter: { name: string; node: Node } | null;
  routes: Map<string, Route>;
}

const newNode = (): Node => ({ segments: new Map(), parameter: null, routes: new Map() });

const root = newNode();
function addRoutes(tree: object, typeOf: (operation: Operation) => Route['type']): void {
  for (const [resource, operations] of Object.entries(tree)) {
    for (const [name, operation] of Object.entries(operations as Record<string, Operation>)) {
      const route = {
        operation,
        name: `${resource}.${name}`,
        type: typeOf(operation),
        readQuery: queryReader(operation),
      };
      nodeOf(operation.path).routes.set(operation.method, route);
    }
  }
}

function nodeOf(path: string): Node {
  let node = root;
  for (const segment of path.split('/').slice(1)) {
    if (segment.startsWith('{')) {
      node.parameter ??= { name: segment.slice(1, -1), node: newNode() };
      node = node.parameter.node;
    } else {
      const next = node.segments.get(segment) ?? newNode();
      node.segments.set(segment, next);
      node = next;
    }
  }
  return node;
}

addRoutes(contract, ({ streams, readOnly }) => (streams ? 'subscription' : readOnly ? 'query' : 'mutation'));
addRoutes(downloads, () => 'download');

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
