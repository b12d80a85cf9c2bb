/** A metric as a small chart, drawn once it comes into view. */
import type { MetricInfo } from '@trinity-rft/inspect/studio/interface';
import { Pin } from 'lucide';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../design/icon.js';
import { helpOf } from '../metric-help.js';
import { keyOf, useCurves, type Axis, type OnProblem, type RunCurve } from '../metrics.js';
import { numberText } from '../numbers.js';
import { addressOf, type Place } from '../place.js';
import { words as frame } from '../words/frame.js';
import { words } from '../words/metrics.js';
import { Chart } from './chart.js';

interface MetricCardProps {
  readonly metric: MetricInfo;
  readonly ids: readonly string[];
  readonly place: Place;
  readonly version: string;
  readonly axis: Axis;
  /** Weight of the previous value in the smoothed value, from 0 to below 1. */
  readonly smooth?: number;
  readonly isLog?: boolean;
  readonly isPinned?: boolean;
  readonly onPin?: (key: string) => void;
  /**
   * Reports a problem of the card to the page. The page shows equal problems of several cards only
   * once.
   */
  readonly onProblem: OnProblem;
}

const noRuns: readonly string[] = [];

export function MetricCard(props: MetricCardProps) {
  const { metric, ids, place, version, axis, smooth = 0, isLog = false } = props;
  const { isPinned = false, onPin, onProblem } = props;
  const { role, name } = metric;
  const key = keyOf(metric);
  const card = useRef<HTMLElement>(null);
  const isSeen = useSeen(card);
  const query = { role, name, axis, smooth, points: 400 };
  const { curves, problem } = useCurves(isSeen ? ids : noRuns, query, version);
  useEffect(() => {
    onProblem(card, problem);
    return () => onProblem(card, undefined);
  }, [problem, onProblem]);
  // The curve is newer than `metric.last`: the list of metrics is loaded less often. On other axes, a
  // point can be the mean of several steps.
  const values = axis === 'step' ? curves[0]?.curve.values : undefined;
  const last = values?.length ? values.at(-1) : metric.last;
  return (
    <article ref={card} class="card metric-card" aria-label={name}>
      <header>
        <h3 title={helpOf(name).text}>
          <a href={addressOf('metrics', place.runs, { ...place.query, metric: key })}>{name}</a>
        </h3>
        {ids.length === 1 && <strong>{numberText(last) || words.notFinite}</strong>}
        {onPin && (
          <button
            type="button"
            class="quiet icon-only"
            aria-pressed={isPinned}
            aria-label={words.pin(name)}
            onClick={() => onPin(key)}
          >
            <Icon of={Pin} />
          </button>
        )}
      </header>
      <NotFinite curves={curves} />
      <Chart
        curves={curves}
        height={160}
        isLog={isLog}
        xLabel={frame.axes[axis]}
        label={words.chart(name, ids.join(', '))}
      />
    </article>
  );
}

/** Names the runs whose latest values are not finite. */
export const NotFinite = ({ curves }: { readonly curves: readonly RunCurve[] }) => (
  <>
    {curves.map(
      ({ run, curve: { notFiniteSince } }) =>
        notFiniteSince !== undefined && (
          <p key={run} class="problem">
            {run}: {words.notFiniteSince(notFiniteSince)}
          </p>
        ),
    )}
  </>
);

/** True once the element has been in view. */
function useSeen(element: { readonly current: Element | null }): boolean {
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (!element.current || isSeen) return undefined;
    const observer = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && setSeen(true),
      { rootMargin: '300px' },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [isSeen]);
  return isSeen;
}
