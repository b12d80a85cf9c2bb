/** Page that compares two to five runs: curves, settings, latest numbers. */
import type { MetricInfo, RunSettings } from '@trinity-rft/inspect/studio/interface';
import { GitCompareArrows } from 'lucide';
import { useMemo, useState } from 'preact/hooks';
import { runPath } from '../api.js';
import { Help } from '../design/help.js';
import { Search } from '../design/search.js';
import { Empty, Problem, Skeleton } from '../design/states.js';
import { helpOf } from '../metric-help.js';
import {
  allMetrics,
  axisOf,
  keyOf,
  shownRuns,
  useMetrics,
  useProblems,
  type OnProblem,
  type RunMetrics,
} from '../metrics.js';
import { intervalText, type Interval } from '../numbers.js';
import { AxisChoice } from '../parts/axis-choice.js';
import { ChosenRuns } from '../parts/chosen-runs.js';
import { MetricCard } from '../parts/metric-card.js';
import { RunBoxes } from '../parts/run-boxes.js';
import { tellingOf } from '../parts/telling.js';
import { useAnswers } from '../parts/use-answers.js';
import { addressOf, type PageProps, type Place } from '../place.js';
import { words } from '../words/compare.js';
import { words as curvesWords } from '../words/metrics.js';
import { words as frame } from '../words/frame.js';

export function Compare({ runs, place }: PageProps) {
  const { ids, version } = shownRuns({ runs, place });
  const { runs: lists, problem: ownProblem } = useMetrics(ids, version);
  const [problem, onProblem] = useProblems(ownProblem);
  if (runs === undefined) return <Skeleton lines={6} />;
  if (runs.length < 2 && ids.length < 2)
    return (
      <Empty
        icon={GitCompareArrows}
        title={words.noRuns}
        text={words.noRunsText}
        command="npx trinity run train.yaml"
      />
    );
  return (
    <section aria-label={frame.pages.compare}>
      <RunBoxes page="compare" runs={runs} place={place} />
      {ids.length > 1 && (
        <>
          <ChosenRuns page="compare" ids={ids} place={place} />
          {problem !== undefined && <Problem text={problem} />}
          {lists.length === 0 ? (
            problem === undefined && <Skeleton lines={8} />
          ) : (
            <CurvesOfAll {...{ lists, ids, place, version, onProblem }} />
          )}
          <Settings ids={ids} />
          <Numbers lists={lists} place={place} />
        </>
      )}
    </section>
  );
}

interface CurvesOfAllProps {
  readonly lists: readonly RunMetrics[];
  readonly ids: readonly string[];
  readonly place: Place;
  readonly version: string;
  readonly onProblem: OnProblem;
}

function CurvesOfAll({ lists, ids, place, version, onProblem }: CurvesOfAllProps) {
  const metrics = useMemo(() => allMetrics(lists), [lists]);
  const shown = tellingOf(metrics);
  return (
    <>
      <h2>
        {words.curves} <Help of={frame.pages.compare}>{words.about}</Help>
      </h2>
      <div class="controls">
        <AxisChoice page="compare" place={place} />
        <a href={addressOf('metrics', place.runs, place.query)}>{words.allCurves}</a>
      </div>
      <div class="charts">
        {shown.map((metric) => (
          <MetricCard
            key={keyOf(metric)}
            metric={metric}
            ids={ids}
            axis={axisOf(place.query['axis'])}
            place={place}
            version={version}
            onProblem={onProblem}
          />
        ))}
      </div>
    </>
  );
}

const settingText = (value: unknown): string =>
  value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value);

function Settings({ ids }: { readonly ids: readonly string[] }) {
  const { answers: settings, problem } = useAnswers<RunSettings>(
    ids.map((run) => runPath(run, 'settings')),
  );
  const [showsAll, setShowsAll] = useState(false);
  if (problem !== undefined) return <Problem text={problem} />;
  if (settings.length !== ids.length) return null;
  const keys = [...new Set(settings.flatMap((each) => Object.keys(each)))].toSorted();
  const rows = keys.map((key) => ({ key, cells: settings.map((each) => settingText(each[key])) }));
  const without = ids.filter((_, i) => Object.keys(settings[i] ?? {}).length === 0);
  const recorded = ids.flatMap((id, i) => (without.includes(id) ? [] : [i]));
  const different = rows.filter(({ cells }) =>
    recorded.some((i) => cells[i] !== cells[recorded[0] ?? 0]),
  );
  return (
    <>
      <h2>{words.settings}</h2>
      {without.length > 0 && <p>{words.noSettings(without.join(', '))}</p>}
      {keys.length > 0 && (
        <p class="controls">
          {words.different(different.length, keys.length)}
          <label>
            <input
              type="checkbox"
              checked={showsAll}
              onChange={({ currentTarget }) => setShowsAll(currentTarget.checked)}
            />{' '}
            {words.showAll}
          </label>
        </p>
      )}
      <RunTable
        label={words.settings}
        first={words.setting}
        ids={ids}
        rows={(showsAll ? rows : different).map(({ key, cells }) => ({
          key,
          name: key,
          isApart: different.some((row) => row.key === key),
          cells,
        }))}
      />
    </>
  );
}

interface NumbersProps {
  readonly lists: readonly RunMetrics[];
  readonly place: Place;
}

function Numbers({ lists, place }: NumbersProps) {
  const [search, setSearch] = useState('');
  const metrics = useMemo(() => allMetrics(lists), [lists]);
  const found = metrics.filter(({ name }) => isShown(name, search));
  return (
    <>
      <h2>
        {words.numbers} <Help of={words.numbers}>{words.aboutNumbers}</Help>
      </h2>
      <div class="controls">
        <Search label={curvesWords.search} value={search} onInput={setSearch} />
      </div>
      <RunTable
        label={words.numbers}
        first={words.metric}
        ids={lists.map(({ run }) => run)}
        rows={found.map((metric) => ({
          key: keyOf(metric),
          name: metric.name,
          href: addressOf('metrics', place.runs, { ...place.query, metric: keyOf(metric) }),
          title: helpOf(metric.name).text,
          ...numbersOf(metric, lists),
        }))}
      />
    </>
  );
}

/** True if a metric is shown. An empty search hides statistics such as the maximum or deviation. */
const isShown = (name: string, search: string): boolean =>
  search === ''
    ? !/\/(?:max|min|std|ci95_low|ci95_high|std@\d+)$/.test(name)
    : name.toLowerCase().includes(search.toLowerCase());

/**
 * Returns the interval of a metric. For evaluations this is the recorded interval; for other
 * metrics, one that the server computes from the latest values. Returns an interval of nulls if the
 * latest value is not finite, and undefined if the run does not have the metric.
 */
function intervalOf(metric: MetricInfo, { metrics }: RunMetrics): Interval | undefined {
  const named = (name: string) =>
    metrics.find((each) => each.role === metric.role && each.name === name);
  const found = named(metric.name);
  if (!found) return undefined;
  if (found.last === null) return { mean: null, low: null, high: null };
  const [low, high] = [named(`${metric.name}/ci95_low`), named(`${metric.name}/ci95_high`)];
  return low && high ? { mean: found.last, low: low.last, high: high.last } : found.recent;
}

function numbersOf(metric: MetricInfo, lists: readonly RunMetrics[]) {
  const intervals = lists.map((list) => intervalOf(metric, list));
  const known = intervals.filter((each) => each?.low !== null && each?.high !== null);
  const isApart = known.some((one) =>
    known.some((other) => one && other && (one.low ?? 0) > (other.high ?? 0)),
  );
  return {
    cells: intervals.map((each) => (each ? intervalText(each) || curvesWords.notFinite : '–')),
    isApart,
  };
}

interface RunTableProps {
  readonly label: string;
  readonly first: string;
  readonly ids: readonly string[];
  readonly rows: readonly {
    readonly key: string;
    readonly name: string;
    readonly href?: string;
    readonly title?: string;
    readonly isApart: boolean;
    readonly cells: readonly string[];
  }[];
}

function RunTable({ label, first, ids, rows }: RunTableProps) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table class="compared">
        <thead>
          <tr>
            <th scope="col">{first}</th>
            {ids.map((id) => (
              <th key={id} scope="col">
                {id}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, name, href, title, isApart, cells }) => (
            <tr key={key} class={isApart ? 'apart' : undefined}>
              <th scope="row" title={title}>
                {href === undefined ? name : <a href={href}>{name}</a>}
                {isApart && <span class="hidden"> {words.apart}</span>}
              </th>
              {cells.map((cell, i) => (
                <td key={i}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
