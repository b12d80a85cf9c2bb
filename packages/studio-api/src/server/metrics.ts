/** Metrics of one run. */
import type { Context } from 'hono';
import { curveOf, csvOf } from '../metrics/curve.js';
import type { Run } from '../runs/run.js';
import { notFound, type AddRoutes } from './api.js';

export const addMetrics: AddRoutes = (api) => {
  api.ofRun('metrics', async (run, context) => {
    await run.metrics.catchUp();
    return context.json(run.metricList());
  });
  api.ofRun('curve', async (run, context) => {
    const found = await metricOf(run, context);
    if (!found) return context.json(notFound, 404);
    return context.json(curveOf(found.role, found.table, found.column, rangeOf(context)));
  });
  api.ofRun('curve.csv', async (run, context) => {
    const found = await metricOf(run, context);
    if (!found) return context.json(notFound, 404);
    return context.body(csvOf(found.table, found.column), 200, {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="curve.csv"',
    });
  });
};

async function metricOf(run: Run, context: Context) {
  await run.metrics.catchUp();
  const { role = '', name = '' } = context.req.query();
  const table = run.metrics.roles.get(role);
  const column = table?.metrics.get(name);
  return table && column && { role, table, column };
}

function rangeOf(context: Context): { from?: number; to?: number; points: number } {
  const number = (name: string): number | undefined => {
    const text = context.req.query(name);
    const value = text === undefined || text === '' ? Number.NaN : Number(text);
    return Number.isFinite(value) ? value : undefined;
  };
  const points = Math.min(10_000, Math.max(2, Math.trunc(number('points') ?? 1000)));
  return { from: number('from'), to: number('to'), points };
}
