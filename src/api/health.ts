/** Health and metrics. Whether the process is ready is public; why it is not, and what it counts,
 *  is for the operator. */
import express, { type Request, Router } from 'express';
import type { Registry } from 'prom-client';
import type { Readiness } from './readiness.js';

interface HealthDeps {
  checkReadiness: () => Promise<Readiness>;
  metrics: Registry;
}

/** Serves `/health/live`, `/health/ready` and `/metrics`.
 *  @param deps.showsDetails decides who sees the metrics and the reasons; for others `/metrics`
 *  does not exist */
export function createHealth(deps: HealthDeps & { showsDetails: (req: Request) => boolean }): Router {
  const { checkReadiness, metrics, showsDetails } = deps;
  const router = Router();
  router.get('/health/live', (_req, res) => {
    res.json({ status: 'ok' });
  });
  router.get('/health/ready', async (req, res) => {
    const { reasons, warnings } = await checkReadiness();
    const isReady = reasons.length === 0;
    const status = isReady ? 'ok' : 'unavailable';
    res.status(isReady ? 200 : 503).json(showsDetails(req) ? { status, reasons, warnings } : { status });
  });
  router.get('/metrics', async (req, res, next) => {
    if (!showsDetails(req)) return next();
    res.type(metrics.contentType).send(await metrics.metrics());
  });
  return router;
}

/** The app on `METRICS_PORT`, which shows everything to any client that reaches it. */
export function createHealthApp(deps: HealthDeps): express.Express {
  const app = express().disable('x-powered-by').disable('etag');
  app.use(createHealth({ ...deps, showsDetails: () => true }));
  return app;
}
