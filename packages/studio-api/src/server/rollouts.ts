/** Recorded experiences of one run. */
import { parseQuery } from '../rollouts/query.js';
import { notFound, type AddRoutes } from './api.js';

export const addRollouts: AddRoutes = (api) => {
  api.ofRun('rollouts', async (run, context) => {
    const rollouts = await run.rollouts();
    if (!rollouts) return context.json({ rows: [], matching: 0, total: 0 });
    return context.json(await rollouts.page(parseQuery(context.req.query())));
  });
  api.ofRun('rollouts/:id', async (run, context) => {
    const rollouts = await run.rollouts();
    const detail = rollouts?.detail(Number(context.req.param('id')));
    return detail ? context.json(detail) : context.json(notFound, 404);
  });
};
