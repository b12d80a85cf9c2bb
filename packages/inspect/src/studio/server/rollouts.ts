/** Adds the routes of recorded rollouts. */
import type { Context } from 'hono';
import { parseQuery, parseTaskQuery } from '../rollouts/query.js';
import type { Rollouts } from '../rollouts/rollouts.js';
import { notFound, type AddRoutes } from './api.js';

const nothing = { rows: [], matching: 0, total: 0, recorded: 0, upTo: 0, tools: [] };
const noTasks = { rows: [], tasks: 0, better: 0, worse: 0, same: 0 };

export const addRollouts: AddRoutes = (api) => {
  api.ofRun('rollouts', async (run, context) => {
    const rollouts = await run.rollouts();
    if (!rollouts) return context.json(nothing);
    return context.json(await rollouts.page(parseQuery(context.req.query())));
  });
  api.ofRun('tasks', async (run, context) => {
    const rollouts = await run.rollouts();
    if (!rollouts) return context.json(noTasks);
    return context.json(await rollouts.tasks(parseTaskQuery(context.req.query())));
  });
  const ofRow = (path: string, read: (rollouts: Rollouts, id: number) => Promise<unknown>): void =>
    api.ofRun(`rollouts/:id${path}`, async (run, context) => {
      const rollouts = await run.rollouts();
      const id = idOf(context);
      const answer = rollouts && id !== undefined ? await read(rollouts, id) : undefined;
      return answer ? context.json(answer) : context.json(notFound, 404);
    });
  ofRow('', (rollouts, id) => rollouts.detail(id));
  ofRow('/trace', (rollouts, id) => rollouts.trace(id));
  ofRow('/conversation', (rollouts, id) => rollouts.conversation(id));
  ofRow('/group', (rollouts, id) => rollouts.group(id));
  ofRow('/history', (rollouts, id) => rollouts.history(id));
};

function idOf(context: Context): number | undefined {
  const id = Number(context.req.param('id'));
  return Number.isSafeInteger(id) ? id : undefined;
}
