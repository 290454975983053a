/** Swagger UI over the committed openapi.json. It forgets the API key when the page is closed or reloaded: what a browser stores for this
 *  origin could be read by any script that ever runs on a payment page of the same origin. */
import { gzipSync } from 'node:zlib';
import { type RequestHandler, Router } from 'express';
import helmet from 'helmet';
import swaggerUi from 'swagger-ui-express';

/** Serves `/docs` and `/openapi.json`, the latter byte for byte where the service has no path of its own, and sends `/` to the docs.
 *  @param base path of the service as callers see it, `/pay` or empty: a proxy takes it off */
export function createDocs(openapiJson: Buffer, base: string): Router {
  const docs = Router();
  const served = base === '' ? openapiJson : withServer(openapiJson, base);
  const compressed = gzipSync(served);
  const sendDocument: RequestHandler = (req, res) => {
    // Tools of other origins may read it: it holds nothing that is not public.
    res.setHeader('Access-Control-Allow-Origin', '*');
    res.type('application/json').vary('Accept-Encoding');
    if (req.acceptsEncodings('gzip', 'identity') !== 'gzip') return void res.send(served);
    res.set('Content-Encoding', 'gzip').send(compressed);
  };
  docs.get('/openapi.json', sendDocument);
  // With upgradeInsecureRequests the page would stay blank over plain http on any host but localhost.
  const security = helmet({
    contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } },
    strictTransportSecurity: false,
  });
  const page = swaggerUi.setup(undefined, {
    customSiteTitle: 'stellar-collect API',
    swaggerOptions: { url: `${base}/openapi.json`, persistAuthorization: false, displayRequestDuration: true },
  });
  docs.get('/', (_req, res) => res.redirect(`${base}/docs/`));
  // Its files are named relative to the page, so the last slash matters.
  docs.get(/^\/docs$/, (_req, res) => res.redirect(301, `${base}/docs/`));
  // Swagger UI's middleware would refuse this one by itself, without the envelope.
  docs.use(/^\/docs\/.*package\.json$/, (_req, _res, next) => next('router'));
  docs.use('/docs', security, swaggerUi.serve);
  docs.get('/docs', page);
  return docs;
}

const withServer = (openapiJson: Buffer, url: string): Buffer =>
  Buffer.from(JSON.stringify({ ...JSON.parse(openapiJson.toString()), servers: [{ url }] }));
