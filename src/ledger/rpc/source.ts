/** Stellar RPC servers as servers of a network's ledger. */
import type { MonotonicClock } from '../../kit/clock.js';
import type { LedgerServer } from '../failover.js';
import { endpointOf, type Requester } from '../request.js';
import { SourceError } from '../source.js';
import { createRpcSource, newMemory } from './api.js';
import { type Call, createCall, RpcError } from './call.js';
import { createContractIds } from './token-event.js';

export function rpcServer(
  url: string,
  deps: { label: string; passphrase: string; requester: Requester; monotonic: MonotonicClock },
): LedgerServer {
  const { label, passphrase, requester, monotonic } = deps;
  const { headers, urlOf } = endpointOf(url);
  const contractIdOf = createContractIds(passphrase);
  const memory = newMemory();
  const sent = { accept: 'application/json', 'content-type': 'application/json', ...headers };
  return {
    label,
    hasHistories: false,
    connect(spend, timeoutMs) {
      const callOnce = createCall(async (body) => {
        await spend();
        memory.uncheckedCalls -= 1;
        return requester.send({ url: urlOf(''), headers: sent, body }, timeoutMs);
      });
      const call: Call = async (...args) => {
        try {
          return await callOnce(...args);
        } catch (error) {
          // The server may return with other settings, or as another one.
          if (error instanceof SourceError && !(error instanceof RpcError)) Object.assign(memory, newMemory());
          throw error;
        }
      };
      return createRpcSource({ call, memory, passphrase, contractIdOf, label, clock: monotonic });
    },
  };
}
