/** Shared by commands that call the running service over HTTP. */
import { TRPCClientError } from '@trpc/client';
import { InvalidArgumentError } from 'commander';
import type { ErrorBody } from '../../contracts/errors.js';

/** The service's answer; null when it did not answer. */
export const answeredError = (error: unknown): ErrorBody | null =>
  error instanceof TRPCClientError ? ((error.data?.error as ErrorBody | undefined) ?? null) : null;

/** One line with what to do. @param what that the service did not take */
export function refusal(error: unknown, service: string, what: string): Error {
  if (!(error instanceof TRPCClientError) || !error.data) {
    return new Error(`No service answers at ${service}: start it (npm start), or give its address with --url.`);
  }
  const detail = answeredError(error)?.details?.[0];
  const reason = detail ? `${detail.path}: ${detail.message}` : error.message;
  return new Error(`${service} did not accept ${what}: ${reason}`);
}

export function toHttpUrl(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError('It begins with http:// or https://.');
}
