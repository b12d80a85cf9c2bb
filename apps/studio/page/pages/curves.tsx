/** Metrics over steps. */
import type { Curve, MetricInfo } from '@trinity-rft/studio-api/interface';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ask, runPath, save } from '../api.js';
import { groupOf, helpOf } from '../metric-help.js';
import { numberText } from '../numbers.js';
import { Chart } from '../parts/chart.js';
import { addressOf, type PageProps, type Place } from '../place.js';
import { texts } from '../texts.js';

const { curves: words } = texts;

const firstMetric = 'explorer rollout/reward/mean';

export function Curves({ runs = [], place }: PageProps) {
  const shown = runs.filter(({ id }) => place.runs.includes(id));
  const version = shown.map(({ changedAt }) => changedAt).join();
  const metrics = useMetrics(place.runs, version);
  const wanted = place.query['metric'] ?? firstMetric;
  const metric = metrics.find((each) => keyOf(each) === wanted) ?? metrics[0];
  if (place.runs.length === 0) return <p>{words.choose}</p>;
  if (!metric) return <p>{words.none}</p>;
  return (
    <div class="columns">
      <MetricList metrics={metrics} chosen={metric} place={place} />
      <MetricView key={keyOf(metric)} metric={metric} runs={place.runs} version={version} />
    </div>
  );
}

const keyOf = ({ role, name }: MetricInfo): string => `${role} ${name}`;

/** Those of all runs, without repetition. */
function useMetrics(runs: readonly string[], version: string): readonly MetricInfo[] {
  const [metrics, setMetrics] = useState<readonly MetricInfo[]>([]);
  useEffect(() => {
    const left = new AbortController();
    const lists = runs.map((run) => ask<MetricInfo[]>(runPath(run, 'metrics'), left.signal));
    Promise.all(lists)
      .then((all) => {
        const byKey = new Map(
          all
            .toReversed()
            .flat()
            .map((metric) => [keyOf(metric), metric]),
        );
        setMetrics([...byKey.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)));
      })
      // The next event of the run asks again.
      .catch(() => undefined);
    return () => left.abort();
  }, [runs.join('\n'), version]);
  return metrics;
}

interface MetricListProps {
  readonly metrics: readonly MetricInfo[];
  readonly chosen: MetricInfo;
  readonly place: Place;
}

function MetricList({ metrics, chosen, place }: MetricListProps) {
  const [search, setSearch] = useState('');
  const found = metrics.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()));
  const groups = Map.groupBy(found, ({ name }) => groupOf(name));
  return (
    <nav class="metrics" aria-label={texts.pages.curves}>
      <label>
        {words.search}
        <input
          type="search"
          value={search}
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
      </label>
      {[...groups].map(([group, list]) => (
        <details key={group} open={search !== '' || list.includes(chosen)}>
          <summary>
            {group} ({list.length})
          </summary>
          <ul>
            {list.map((metric) => (
              <li key={keyOf(metric)}>
                <a
                  href={addressOf('curves', place.runs, { metric: keyOf(metric) })}
                  aria-current={metric === chosen ? 'true' : undefined}
                >
                  {metric.name}
                </a>{' '}
                <small>{numberText(metric.last)}</small>
              </li>
            ))}
          </ul>
        </details>
      ))}
    </nav>
  );
}

interface MetricViewProps {
  readonly metric: MetricInfo;
  readonly runs: readonly string[];
  readonly version: string;
}

function MetricView({ metric, runs, version }: MetricViewProps) {
  const [smoothing, setSmoothing] = useState(0);
  const [isLog, setLog] = useState(false);
  const [range, setRange] = useState<readonly [number, number]>();
  const curves = useCurves(metric, runs, range, version);
  const help = helpOf(metric.name);
  return (
    <section aria-label={metric.name}>
      <h2>{metric.name}</h2>
      <p>
        {help.text || words.unexplained} {help.unit !== '' && <em>({help.unit})</em>}
      </p>
      <div class="controls">
        <label>
          {words.smooth}{' '}
          <input
            type="range"
            min="0"
            max="0.98"
            step="0.02"
            value={smoothing}
            onInput={({ currentTarget }) => setSmoothing(currentTarget.valueAsNumber)}
          />
        </label>
        <label>
          <input
            type="checkbox"
            checked={isLog}
            onChange={({ currentTarget }) => setLog(currentTarget.checked)}
          />{' '}
          {words.log}
        </label>
        {runs.map((run) => (
          <button key={run} type="button" onClick={() => void saveCurve(run, metric)}>
            {words.csv}
            {runs.length > 1 && `: ${run}`}
          </button>
        ))}
      </div>
      <Chart curves={curves} isLog={isLog} smoothing={smoothing} onZoom={setRange} />
      <p class="about">{words.about}</p>
      <CurveTable curves={curves} />
    </section>
  );
}

interface RunCurve {
  readonly run: string;
  readonly curve: Curve;
}

function useCurves(
  { role, name }: MetricInfo,
  runs: readonly string[],
  range: readonly [number, number] | undefined,
  version: string,
): readonly RunCurve[] {
  const [curves, setCurves] = useState<readonly RunCurve[]>([]);
  const [from, to] = range ?? [];
  useEffect(() => {
    const left = new AbortController();
    const query = { role, name, from, to, points: 2000 };
    const asked = runs.map(async (run): Promise<RunCurve[]> => {
      const path = runPath(run, 'curve', query);
      // A run may lack a metric that another has.
      const curve = await ask<Curve>(path, left.signal).catch(() => undefined);
      return curve ? [{ run, curve }] : [];
    });
    void Promise.all(asked).then((all) => left.signal.aborted || setCurves(all.flat()));
    return () => left.abort();
  }, [role, name, runs.join('\n'), from, to, version]);
  return curves;
}

const saveCurve = (run: string, { role, name }: MetricInfo): Promise<void> =>
  save(
    runPath(run, 'curve.csv', { role, name }),
    `${run}-${name}`.replaceAll(/[^\w.-]+/g, '_') + '.csv',
  );

/** What the chart shows, for those who do not see it. */
function CurveTable({ curves }: { readonly curves: readonly RunCurve[] }) {
  const rows = useMemo(() => curves.map(summaryRow), [curves]);
  const head = [
    texts.runs.columns.name,
    words.first,
    words.last,
    words.least,
    words.most,
    words.points,
  ];
  return (
    <table>
      <caption>{words.table}</caption>
      <thead>
        <tr>
          {head.map((label) => (
            <th key={label} scope="col">
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ run, cells }) => (
          <tr key={run}>
            <th scope="row">{run}</th>
            {cells.map((cell, i) => (
              <td key={i}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function summaryRow({ run, curve }: RunCurve) {
  const values = curve.values.filter((value) => value !== null);
  const least = values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const ends = [values.at(0), values.at(-1), least, most].map(numberText);
  return { run, cells: [...ends, String(curve.points)] };
}
