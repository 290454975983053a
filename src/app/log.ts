/** The service's log: JSON lines. An error is logged with name, code, message and stack only,
 *  each bounded. */
import { type DestinationStream, type Logger, pino } from 'pino';

const MAX_MESSAGE = 500;
const MAX_FRAMES = 12;

interface LoggedError {
  name: string;
  code?: string | number;
  message: string;
  /** Where it was thrown, without the message. */
  stack?: string;
  cause?: LoggedError;
}

/** Drops every other field: MongoDB's bulk write errors, for example, carry the documents. */
function toLoggedError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { name: typeof error, message: bounded(String(error)) };
  const { name, code, message, stack, cause } = error as Error & { code?: unknown };
  const frames = stack?.split('\n').filter((line) => /^\s+at /.test(line));
  return {
    name,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    message: bounded(message),
    ...(frames ? { stack: frames.slice(0, MAX_FRAMES).join('\n') } : {}),
    ...(cause === undefined || depth > 0 ? {} : { cause: toLoggedError(cause, depth + 1) }),
  };
}

const bounded = (text: string) => (text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text);

/** @param destination stderr except in tests: stdout stays readable for people */
export function createLog(level: string, destination: DestinationStream = pino.destination(2)): Logger {
  return pino(
    {
      level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: (error: unknown) => toLoggedError(error) },
    },
    destination,
  );
}
