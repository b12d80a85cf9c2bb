/** Metric at full width: zoom, smoothing, events, latest values, and downloads. */
import type { MetricInfo } from '@trinity-rft/inspect/studio/interface';
import { ArrowLeft } from 'lucide';
import { useMemo, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { TitleRow } from '../../design/title-row.js';
import { fileName, runPath, save } from '../../api.js';
import { Help } from '../../design/help.js';
import { Icon } from '../../design/icon.js';
import { Problem } from '../../design/states.js';
import { useKept } from '../../kept.js';
import { helpOf } from '../../metric-help.js';
import { axisOf, useCurves, useMarks, type Range, type RunCurve } from '../../metrics.js';
import { intervalText, numberText } from '../../numbers.js';
import { AxisChoice } from '../../parts/axis-choice.js';
import { Chart } from '../../parts/chart.js';
import { ChosenRuns } from '../../parts/chosen-runs.js';
import { LineStyle } from '../../parts/line-style.js';
import { NotFinite } from '../../parts/metric-card.js';
import { chartMarks, firstKinds, MarkChoice, MarkTable, type Kind } from '../../parts/marks.js';
import { savePng, saveSvg } from '../../parts/save-chart.js';
import { addressOf, type Place } from '../../place.js';
import { words as frame } from '../../words/frame.js';
import { words } from '../../words/metrics.js';
import { words as runsWords } from '../../words/runs.js';

interface MetricViewProps {
  readonly metric: MetricInfo;
  readonly ids: readonly string[];
  readonly place: Place;
  readonly version: string;
}

export function MetricView({ metric, ids, place, version }: MetricViewProps) {
  const { role, name } = metric;
  const [smooth, setSmooth] = useState(0);
  const [isLog, setLog] = useState(false);
  const [range, setRange] = useState<Range>();
  const [kinds, setKinds] = useKept<readonly Kind[]>('marks', firstKinds);
  const plot = useRef<uPlot | undefined>(undefined);
  const axis = axisOf(place.query['axis']);
  const { curves, problem } = useCurves(ids, { role, name, axis, range, smooth }, version);
  const marks = useMarks(ids, role, axis, version);
  const drawn = useMemo(() => {
    const [from, to] = range ?? [-Infinity, Infinity];
    return chartMarks(marks, kinds).filter(({ x }) => x >= from && x <= to);
  }, [marks, kinds, range]);
  // True while the chart still shows the curves of the previous metric.
  const isOld = curves.some(({ curve }) => curve.name !== name || curve.role !== role);
  const hasPoints = curves.some(({ curve }) => curve.points > 0);
  return (
    <section aria-label={name} aria-busy={isOld}>
      <a href={addressOf('metrics', place.runs, { ...place.query, metric: '' })}>
        <Icon of={ArrowLeft} /> {words.grid}
      </a>
      <MetricTitle name={name} />
      <ChosenRuns page="metrics" ids={ids} place={place} />
      <div class="controls">
        <AxisChoice page="metrics" place={place} onChange={() => setRange(undefined)} />
        <LineStyle smooth={smooth} onSmooth={setSmooth} isLog={isLog} onLog={setLog} />
        <button type="button" disabled={!range} onClick={() => setRange(undefined)}>
          {words.all}
        </button>
        <SaveButtons metric={metric} ids={ids} plot={plot} />
        <Help of={name}>{words.about}</Help>
      </div>
      <MarkChoice marks={marks} chosen={kinds} onChange={setKinds} />
      {!hasPoints && range === undefined && curves.length > 0 && <p>{words.noAxis[axis]}</p>}
      {problem !== undefined && <Problem text={problem} />}
      <NotFinite curves={curves} />
      <Chart
        curves={curves}
        marks={drawn}
        isLog={isLog}
        xLabel={frame.axes[axis]}
        label={words.chart(name, ids.join(', '))}
        onZoom={setRange}
        plot={plot}
      />
      <CurveTable curves={curves} />
      <MarkTable marks={marks} chosen={kinds} axis={frame.axes[axis]} />
    </section>
  );
}

/** Name, meaning and unit of the metric. */
function MetricTitle({ name }: { readonly name: string }) {
  const { text, unit } = helpOf(name);
  return (
    <>
      <h2>{name}</h2>
      <p>
        {text || words.unexplained} {unit !== '' && <em>({unit})</em>}
      </p>
    </>
  );
}

interface SaveProps {
  readonly metric: MetricInfo;
  readonly ids: readonly string[];
  readonly plot: { readonly current: uPlot | undefined };
}

function SaveButtons({ metric: { role, name }, ids, plot }: SaveProps) {
  const file = fileName(ids.join('-'), name);
  const withPlot = (act: (plot: uPlot) => unknown) => () => {
    if (plot.current) void act(plot.current);
  };
  return (
    <>
      <button type="button" onClick={withPlot((drawn) => savePng(drawn, name, file))}>
        {words.save('PNG')}
      </button>
      <button type="button" onClick={withPlot((drawn) => saveSvg(drawn, name, file))}>
        {words.save('SVG')}
      </button>
      {ids.map((run) => (
        <button
          key={run}
          type="button"
          onClick={() =>
            void save(runPath(run, 'curve.csv', { role, name }), `${fileName(run, name)}.csv`)
          }
        >
          {words.save('CSV')}
          {ids.length > 1 && `: ${run}`}
        </button>
      ))}
    </>
  );
}

/** Table with the values of the chart, for screen readers. */
function CurveTable({ curves }: { readonly curves: readonly RunCurve[] }) {
  const rows = useMemo(() => curves.map(summaryRow), [curves]);
  const head = [
    runsWords.columns.name,
    words.first,
    words.last,
    words.least,
    words.most,
    words.points,
  ];
  return (
    <table>
      <caption>{words.table}</caption>
      <TitleRow titles={head} />
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
  const last = {
    mean: curve.values.at(-1) ?? null,
    low: curve.low?.at(-1) ?? null,
    high: curve.high?.at(-1) ?? null,
  };
  const isEmpty = curve.values.length === 0;
  const [from, to] = values.length === 0 ? [] : [least, most];
  const lastText = isEmpty ? '' : intervalText(last) || words.notFinite;
  const ends = [numberText(values.at(0)), lastText, numberText(from), numberText(to)];
  return { run, cells: [...ends, String(curve.points)] };
}
