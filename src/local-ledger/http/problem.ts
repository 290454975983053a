/** Horizon's problem bodies (RFC 7807), by the last part of their type. */

interface ProblemKind {
  status: number;
  title: string;
  detail: string;
}

const kinds = {
  bad_request: { status: 400, title: 'Bad Request', detail: 'The request has a parameter that is not valid.' },
  wrong_host: {
    status: 403,
    title: 'Wrong Host',
    detail: 'The local ledger answers to loopback names and addresses, and to the host that HOST names.',
  },
  not_found: { status: 404, title: 'Resource Missing', detail: 'Nothing was found at this address.' },
  not_acceptable: {
    status: 406,
    title: 'Not Acceptable',
    detail: 'No content type that the request accepts can be given.',
  },
  before_history: {
    status: 410,
    title: 'Data Requested Is Before Recorded History',
    detail: 'The request asks for ledgers that are older than the history kept here.',
  },
  request_too_large: { status: 413, title: 'Request Too Large', detail: 'The request body is over the limit.' },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported Media Type',
    detail: 'Send application/x-www-form-urlencoded or multipart/form-data.',
  },
  rate_limit_exceeded: {
    status: 429,
    title: 'Rate Limit Exceeded',
    detail: 'This address has used up its requests for now.',
  },
  server_error: { status: 500, title: 'Internal Server Error', detail: 'Something went wrong inside the ledger.' },
  stale_history: {
    status: 503,
    title: 'Historical DB Is Too Stale',
    detail: 'The history is too far behind the network.',
  },
  service_unavailable: { status: 503, title: 'Service Unavailable', detail: 'The request cannot be served now.' },
  timeout: { status: 504, title: 'Timeout', detail: 'The request took too long. Send the very same one again.' },
  transaction_failed: {
    status: 400,
    title: 'Transaction Failed',
    detail: 'The network did not apply the transaction; `extras.result_codes` says why.',
  },
  transaction_malformed: {
    status: 400,
    title: 'Transaction Malformed',
    detail: 'The `tx` field is not the base64 XDR of a transaction envelope; it is echoed in `extras.envelope_xdr`.',
  },
  transaction_submission_timeout: {
    status: 504,
    title: 'Transaction Submission Timeout',
    detail:
      'The transaction may still enter a ledger: ask for its hash, and send the very same envelope again if need be.',
  },
} satisfies Record<string, ProblemKind>;

export type ProblemType = keyof typeof kinds;

/** Thrown by a handler, and answered as a problem body. */
export class Problem extends Error {
  readonly status: number;

  constructor(
    readonly type: ProblemType,
    readonly extras?: Record<string, unknown>,
    readonly detail: string = kinds[type].detail,
    /** Friendbot is a service of its own behind Horizon. */
    readonly service: 'horizon' | 'friendbot' = 'horizon',
  ) {
    super(kinds[type].title);
    this.status = kinds[type].status;
  }

  body(): Record<string, unknown> {
    return {
      type: `https://stellar.org/${this.service}-errors/${this.type}`,
      title: kinds[this.type].title,
      status: this.status,
      detail: this.detail,
      ...(this.extras === undefined ? {} : { extras: this.extras }),
    };
  }
}

export const badParameter = (field: string, reason: string): Problem =>
  new Problem('bad_request', { invalid_field: field, reason });
