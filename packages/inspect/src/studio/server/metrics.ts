import { metricRoutes } from '../interface/metrics.js';
import type { QueryOf } from '../interface/route.js';
import type { MetricList } from '../interface/types.js';
import { positionsOf } from '../metrics/axis.js';
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
  api.ofRun(metricRoutes, '/api/runs/{run}/metrics', async ({ metrics }) => {
    await metrics.catchUp();
    return Response.json(await listOf(metrics));
  });
  api.ofRun(metricRoutes, '/api/runs/{run}/curve', async (run, query) => {
    const found = await metricOf(run, query);
    if (!found) return noMetric(run, query);
    const { axis = 'step' } = query;
    const position = await positionsOf(run.metrics, found.lines, axis);
    return Response.json(curveOf({ ...found, axis, position }, rangeOf(query)));
  });
  api.ofRun(metricRoutes, '/api/runs/{run}/marks', async ({ place, metrics }, { role, axis }) => {
    await metrics.catchUp();
    const lines = metrics.roles.get(role);
    if (!lines) return notFound(`${place.id} has no metrics for role ${role}.`);
    return Response.json(await marksOf(place, metrics, lines, axis ?? 'step'));
  });
  api.ofRun(metricRoutes, '/api/runs/{run}/curve.csv', async (run, query) => {
    const found = await metricOf(run, query);
    if (!found) return noMetric(run, query);
    return new Response(csvOf(found.lines, found.name, found.values), {
      headers: {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': 'attachment; filename="curve.csv"',
      },
    });
  });
};

async function listOf(file: Run['metrics']): Promise<MetricList> {
  const { metrics, share } = await file.seen(listMs);
  return {
    share,
    metrics: [...metrics.values()].map((metric) => {
      const { role, name, points, last } = metric;
      const { mean, low, high, count } = recentMean(metric);
      return {
        role,
        name,
        points,
        last: finite(last),
        recent: { mean: finite(mean), low: finite(low), high: finite(high), count },
      };
    }),
  };
}

type MetricQuery = QueryOf<(typeof metricRoutes)['/api/runs/{run}/curve.csv']>;
type CurveQuery = QueryOf<(typeof metricRoutes)['/api/runs/{run}/curve']>;

/** Reads the metric that a request names. Returns undefined if no line has the metric. */
async function metricOf({ metrics }: Run, { role, name }: MetricQuery) {
  await metrics.catchUp();
  const lines = metrics.roles.get(role);
  const names = [name, `${name}/ci95_low`, `${name}/ci95_high`];
  const [values, low, high] = lines ? await metrics.columns(role, names) : [];
  return lines && values?.isRecorded() === true ? { lines, name, values, low, high } : undefined;
}

const noMetric = ({ place }: Run, { role, name }: MetricQuery): Response =>
  notFound(`${place.id} has no metric ${name} of the role ${role}.`);

const rangeOf = ({ from, to, points = 1000, smooth = 0 }: CurveQuery): CurveRange => ({
  from,
  to,
  points: Math.min(10_000, Math.max(4, Math.trunc(points))),
  smooth: Math.min(0.999, Math.max(0, smooth)),
});
