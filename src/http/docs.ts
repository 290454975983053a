/** Swagger UI over the committed openapi.json. It forgets the API key when the page is closed or reloaded: what a browser stores for this
 *  origin could be read by any script that ever runs on a payment page of the same origin. */
import { type RequestHandler, Router } from 'express';
import helmet from 'helmet';
import swaggerUi from 'swagger-ui-express';

/** Serves `/docs` and `/openapi.json`, the latter byte for byte. */
export function createDocs(openapiJson: Buffer): Router {
  const docs = Router();
  const sendDocument: RequestHandler = (_req, res) => {
    // Tools of other origins may read it: it holds nothing that is not public.
    res.setHeader('Access-Control-Allow-Origin', '*');
    res.type('application/json').send(openapiJson);
  };
  docs.get('/openapi.json', sendDocument);
  // With upgradeInsecureRequests the page would stay blank over plain http on any host but localhost.
  const security = helmet({
    contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } },
    strictTransportSecurity: false,
  });
  const page = swaggerUi.setup(undefined, {
    customSiteTitle: 'stellar-collect API',
    swaggerOptions: { url: '/openapi.json', persistAuthorization: false, displayRequestDuration: true },
  });
  docs.use('/docs', security, swaggerUi.serve);
  docs.get('/docs', page);
  return docs;
}
