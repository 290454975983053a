/** Answers are sent compressed to clients that take them so. Only what is read is: an answer that shows a secret (a new key, a webhook's secret) is to a
 *  POST, so no length tells of one. Event streams and files are sent as they come, and what has its own encoding keeps it. */
import compression from 'compression';
import type { RequestHandler } from 'express';
import { EVENT_STREAM } from './event-stream.js';

export const compressAnswers = (): RequestHandler =>
  compression({
    filter(req, res) {
      const isStream = String(res.getHeader('content-type')).startsWith(EVENT_STREAM);
      const isFile = res.hasHeader('content-disposition');
      return req.method === 'GET' && !isStream && !isFile && compression.filter(req, res);
    },
  });
