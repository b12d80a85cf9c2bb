/** Adds the routes of recorded rollouts. */
import { rolloutRoutes } from '../interface/rollouts.js';
import { toQuery, toTaskQuery } from '../rollouts/query.js';
import type { Rollouts } from '../rollouts/rollouts.js';
import { notFound, type AddRoutes } from './api.js';

const nothing = { rows: [], matching: 0, total: 0, recorded: 0, upTo: 0, tools: [] };
const noTasks = { rows: [], tasks: 0, better: 0, worse: 0, same: 0 };

export const addRollouts: AddRoutes = (api) => {
  api.ofRun(rolloutRoutes, '/api/runs/{run}/rollouts', async (run, query) => {
    const rollouts = await run.rollouts();
    return Response.json(rollouts ? await rollouts.page(toQuery(query)) : nothing);
  });
  api.ofRun(rolloutRoutes, '/api/runs/{run}/tasks', async (run, query) => {
    const rollouts = await run.rollouts();
    return Response.json(rollouts ? await rollouts.tasks(toTaskQuery(query)) : noTasks);
  });
  const ofRow = (
    path: Exclude<keyof typeof rolloutRoutes, '/api/runs/{run}/rollouts' | '/api/runs/{run}/tasks'>,
    read: (rollouts: Rollouts, id: number) => Promise<unknown>,
  ): void =>
    api.ofRun(rolloutRoutes, path, async (run, _, context) => {
      const rollouts = await run.rollouts();
      const id = Number(context.req.param('id'));
      const answer = rollouts && Number.isSafeInteger(id) ? await read(rollouts, id) : undefined;
      if (answer) return Response.json(answer);
      return notFound(`${run.place.id} has no rollout with the row ${context.req.param('id')}.`);
    });
  ofRow('/api/runs/{run}/rollouts/{id}', (rollouts, id) => rollouts.detail(id));
  ofRow('/api/runs/{run}/rollouts/{id}/trace', (rollouts, id) => rollouts.trace(id));
  ofRow('/api/runs/{run}/rollouts/{id}/conversation', (rollouts, id) => rollouts.conversation(id));
  ofRow('/api/runs/{run}/rollouts/{id}/group', (rollouts, id) => rollouts.group(id));
  ofRow('/api/runs/{run}/rollouts/{id}/history', (rollouts, id) => rollouts.history(id));
};
