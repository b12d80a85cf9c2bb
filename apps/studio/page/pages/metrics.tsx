/**
 * Page of metrics. Shows all metrics of the chosen runs as groups of small charts, or one metric at
 * full width.
 */
import type { MetricInfo } from '@trinity-rft/inspect/studio/interface';
import { ChartLine } from 'lucide';
import { useMemo, useState } from 'preact/hooks';
import { Help } from '../design/help.js';
import { Search } from '../design/search.js';
import { Empty, Problem, Skeleton } from '../design/states.js';
import { useKept } from '../kept.js';
import { groupOf, groupRank } from '../metric-help.js';
import { allMetrics, axisOf, keyOf, shownRuns, useMetrics, useProblems } from '../metrics.js';
import { AxisChoice } from '../parts/axis-choice.js';
import { ChosenRuns } from '../parts/chosen-runs.js';
import { LineStyle } from '../parts/line-style.js';
import { MetricCard } from '../parts/metric-card.js';
import { usePinned } from '../parts/pinned.js';
import { tellingOf } from '../parts/telling.js';
import type { PageProps } from '../place.js';
import { words as frame } from '../words/frame.js';
import { words } from '../words/metrics.js';
import { MetricView } from './metrics/view.js';

export function Metrics({ runs, place }: PageProps) {
  const { ids, version } = shownRuns({ runs, place });
  const { runs: lists, share, problem: ownProblem } = useMetrics(ids, version);
  const [problem, onProblem] = useProblems(ownProblem);
  const metrics = useMemo(() => allMetrics(lists), [lists]);
  const [search, setSearch] = useState('');
  const [smooth, setSmooth] = useKept('grid smooth', 0);
  const [isLog, setLog] = useKept('grid log', false);
  const { pinned, pin } = usePinned();
  const wanted = place.query['metric'];
  const metric = metrics.find((each) => keyOf(each) === wanted);
  if (ids.length === 0) return <Empty icon={ChartLine} title={words.choose} />;
  if (lists.length === 0)
    return problem === undefined ? <Skeleton lines={8} /> : <Problem text={problem} />;
  if (metrics.length === 0) return <Empty icon={ChartLine} title={words.none} />;
  if (metric) return <MetricView metric={metric} ids={ids} place={place} version={version} />;
  const card = (each: MetricInfo) => (
    <MetricCard
      key={keyOf(each)}
      metric={each}
      ids={ids}
      place={place}
      version={version}
      axis={axisOf(place.query['axis'])}
      smooth={smooth}
      isLog={isLog}
      isPinned={pinned.includes(keyOf(each))}
      onPin={pin}
      onProblem={onProblem}
    />
  );
  const found = metrics.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()));
  return (
    <section aria-label={frame.pages.metrics}>
      {problem !== undefined && <Problem text={problem} />}
      {wanted !== undefined && <p class="callout">{words.unknown(wanted)}</p>}
      <div class="controls">
        <Search label={words.search} value={search} onInput={setSearch} />
        <AxisChoice page="metrics" place={place} />
        <LineStyle smooth={smooth} onSmooth={setSmooth} isLog={isLog} onLog={setLog} />
        <Help of={frame.pages.metrics}>{words.aboutGrid}</Help>
        {share < 1 && <span role="status">{words.reading(share)}</span>}
      </div>
      <ChosenRuns page="metrics" ids={ids} place={place} />
      {groupsOf(found, pinned, search).map(({ name, list, isOpen }) => (
        <details key={`${name} ${search !== ''}`} class="group" open={isOpen}>
          <summary>
            {name} <small>{list.length}</small>
          </summary>
          <div class="charts">{list.map(card)}</div>
        </details>
      ))}
      {found.length === 0 && <Empty title={words.notFound(search)} />}
    </section>
  );
}

interface Group {
  readonly name: string;
  readonly list: readonly MetricInfo[];
  readonly isOpen: boolean;
}

/**
 * Groups metrics by topic. Pinned metrics and key metrics form the first two groups, which are
 * expanded.
 */
function groupsOf(
  metrics: readonly MetricInfo[],
  pinned: readonly string[],
  search: string,
): readonly Group[] {
  const first: readonly Group[] = [
    {
      name: words.pinned,
      list: metrics.filter((each) => pinned.includes(keyOf(each))),
      isOpen: true,
    },
    { name: words.telling, list: tellingOf(metrics), isOpen: true },
  ];
  const rest = [...Map.groupBy(metrics, ({ name }) => groupOf(name))]
    .toSorted(([a], [b]) => groupRank(a) - groupRank(b))
    .map(([name, list]): Group => ({ name, list, isOpen: search !== '' }));
  return [...(search === '' ? first : []), ...rest].filter(({ list }) => list.length > 0);
}
