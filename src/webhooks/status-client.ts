/** A connection that reports the status of an answer as soon as its status line arrives. undici reports it after the headers, and never if they are too large,
 *  malformed or endless. */
import type { Socket } from 'node:net';
import { Client, type Dispatcher } from 'undici';

const STATUS_LINE = /^HTTP\/1\.[01] ([2-5]\d\d)/;
/** Length of a status line up to the code. */
const CODE_ENDS = 'HTTP/1.1 200'.length;

export interface StatusOptions extends Dispatcher.DispatchOptions {
  /** Called when the request has its connection. */
  onClient(client: StatusClient): void;
}

/** One request at a time: undici's `pipelining` is 1. */
export class StatusClient extends Client {
  readonly #connected: { socket: Socket | null };

  /** @param options with a connector */
  constructor(origin: string | URL, options: Client.Options) {
    const { connect } = options;
    if (typeof connect !== 'function') throw new TypeError('a connector is needed');
    const connected: { socket: Socket | null } = { socket: null };
    super(origin, {
      ...options,
      connect: (target, callback) =>
        connect(target, (...result) => {
          connected.socket = result[1];
          callback(...result);
        }),
    });
    this.#connected = connected;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if ('onClient' in options) (options as StatusOptions).onClient(this);
    return super.dispatch(options, handler);
  }

  /** Call when a request starts. Does not call back if an interim answer (1xx) comes first.
   *
   *  undici reads the socket when it is readable. Node emits each piece as `data` before undici parses it. */
  hearStatus(onStatus: (status: number) => void): void {
    const { socket } = this.#connected;
    let line = '';
    const onData = (piece: Buffer) => {
      line += piece.toString('latin1', 0, CODE_ENDS - line.length);
      if (line.length < CODE_ENDS) return;
      socket?.removeListener('data', onData);
      const code = STATUS_LINE.exec(line)?.[1];
      if (code !== undefined) onStatus(Number(code));
    };
    socket?.on('data', onData);
  }
}
