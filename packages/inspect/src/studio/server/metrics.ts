import type { Context } from 'hono';
import { axes } from '../interface/metrics.js';
import type { MetricList } from '../interface/types.js';
import { positionsOf, type Axis } from '../metrics/axis.js';
import { csvOf, curveOf, finite, type CurveRange } from '../metrics/curve.js';
import { recentMean } from '../metrics/names.js';
import { marksOf } from '../runs/marks.js';
import type { Run } from '../runs/run.js';
import { notFound, type AddRoutes } from './api.js';

/**
 * Time in ms after which the list is sent even if a large metrics file is not yet read completely.
 */
const listMs = 300;

export const addMetrics: AddRoutes = (api) => {
  api.ofRun('metrics', async ({ metrics }, context) => {
    await metrics.catchUp();
    return context.json(await listOf(metrics));
  });
  api.ofRun('curve', async (run, context) => {
    const found = await metricOf(run, context);
    if (!found) return context.json(notFound, 404);
    const axis = axisOf(context);
    const position = await positionsOf(run.metrics, found.lines, axis);
    return context.json(curveOf({ ...found, axis, position }, rangeOf(context)));
  });
  api.ofRun('marks', async ({ place, metrics }, context) => {
    await metrics.catchUp();
    const lines = metrics.roles.get(context.req.query('role') ?? '');
    if (!lines) return context.json(notFound, 404);
    return context.json(await marksOf(place, metrics, lines, axisOf(context)));
  });
  api.ofRun('curve.csv', async (run, context) => {
    const found = await metricOf(run, context);
    if (!found) return context.json(notFound, 404);
    return context.body(csvOf(found.lines, found.name, found.values), 200, {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="curve.csv"',
    });
  });
};

async function listOf(file: Run['metrics']): Promise<MetricList> {
  const { metrics, share } = await file.seen(listMs);
  return {
    share,
    metrics: [...metrics.values()].map((metric) => {
      const { role, name, points, last, recent } = metric;
      const { mean, low, high } = recentMean(metric);
      return {
        role,
        name,
        points,
        last: finite(last),
        recent: { mean: finite(mean), low: finite(low), high: finite(high), count: recent.length },
      };
    }),
  };
}

/** Reads the metric that a request names; undefined if no line has the metric. */
async function metricOf({ metrics }: Run, context: Context) {
  await metrics.catchUp();
  const { role = '', name = '' } = context.req.query();
  const lines = metrics.roles.get(role);
  const names = [name, `${name}/ci95_low`, `${name}/ci95_high`];
  const [values, low, high] = lines ? await metrics.columns(role, names) : [];
  return lines && values?.isRecorded() === true ? { lines, name, values, low, high } : undefined;
}

const axisOf = (context: Context): Axis =>
  axes.find((axis) => axis === context.req.query('axis')) ?? 'step';

function rangeOf(context: Context): CurveRange {
  const number = (name: string): number | undefined => {
    const text = context.req.query(name);
    const value = text === undefined || text === '' ? Number.NaN : Number(text);
    return Number.isFinite(value) ? value : undefined;
  };
  const points = Math.min(10_000, Math.max(2, Math.trunc(number('points') ?? 1000)));
  const smooth = Math.min(0.999, Math.max(0, number('smooth') ?? 0));
  return { from: number('from'), to: number('to'), points, smooth };
}
