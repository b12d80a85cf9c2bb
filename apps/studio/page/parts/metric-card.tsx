/** A metric as a small chart, drawn once it comes into view. */
import type { MetricInfo } from '@trinity-rft/inspect/studio/interface';
import { Pin } from 'lucide';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../design/icon.js';
import { helpOf } from '../metric-help.js';
import { keyOf, useCurves, type Axis } from '../metrics.js';
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
  /** From 0 to below 1. */
  readonly smooth?: number;
  readonly isLog?: boolean;
  readonly isPinned?: boolean;
  readonly onPin?: (key: string) => void;
}

export function MetricCard(props: MetricCardProps) {
  const { metric, ids, place, isPinned = false, onPin } = props;
  const key = keyOf(metric);
  const card = useRef<HTMLElement>(null);
  const isSeen = useSeen(card);
  return (
    <article ref={card} class="card metric-card" aria-label={metric.name}>
      <header>
        <h3 title={helpOf(metric.name).text}>
          <a href={addressOf('metrics', place.runs, { ...place.query, metric: key })}>
            {metric.name}
          </a>
        </h3>
        {ids.length === 1 && <strong>{numberText(metric.last)}</strong>}
        {onPin && (
          <button
            type="button"
            class="quiet icon-only"
            aria-pressed={isPinned}
            aria-label={words.pin(metric.name)}
            onClick={() => onPin(key)}
          >
            <Icon of={Pin} />
          </button>
        )}
      </header>
      {isSeen ? <CardChart {...props} /> : <div class="chart small" />}
    </article>
  );
}

function CardChart({ metric, ids, version, axis, smooth = 0, isLog = false }: MetricCardProps) {
  const { role, name } = metric;
  const curves = useCurves(ids, { role, name, axis, smooth, points: 400 }, version);
  return (
    <Chart
      curves={curves}
      height={160}
      isLog={isLog}
      xLabel={frame.axes[axis]}
      label={words.chart(name, ids.join(', '))}
    />
  );
}

/** True from the first time on. */
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
