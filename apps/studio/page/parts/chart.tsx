/** Curves, drawn by uPlot. */
import type { Curve } from '@trinity-rft/studio-api/interface';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

interface ChartProps {
  readonly curves: readonly { readonly run: string; readonly curve: Curve }[];
  readonly isLog: boolean;
  /** Share of the value before that stays in the next, 0 to 0.99. */
  readonly smoothing: number;
  /** Of steps; undefined = all. */
  readonly onZoom: (range: readonly [number, number] | undefined) => void;
}

const colours = ['#2a78d6', '#c4511f', '#2e8540', '#8a4fbf', '#a86a00'];
const height = 360;

export function Chart({ curves, isLog, smoothing, onZoom }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const plot = draw(element, { curves, isLog, smoothing, onZoom });
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.destroy();
    };
  }, [curves, isLog, smoothing]);
  const label = curves.map(({ run, curve }) => `${curve.name}, ${run}`).join('; ');
  return <div ref={place} class="chart" role="img" aria-label={label} />;
}

function draw(element: HTMLElement, { curves, isLog, smoothing, onZoom }: ChartProps): uPlot {
  const ink = getComputedStyle(element).color;
  const axis: uPlot.Axis = { stroke: ink, grid: { stroke: '#8884' }, ticks: { stroke: '#8884' } };
  const series = curves.flatMap(({ run }, i): uPlot.Series[] => {
    const stroke = colours[i % colours.length] ?? '#888';
    if (smoothing === 0) return [{ label: run, stroke, width: 2, spanGaps: true }];
    return [
      { label: run, stroke, width: 2, spanGaps: true },
      { label: `${run}, as written`, stroke: `${stroke}55`, width: 1, spanGaps: true },
    ];
  });
  const tables = curves.flatMap(({ curve }) => {
    const values = curve.values.map((value) => (isLog && (value ?? 0) <= 0 ? null : value));
    const smoothed: uPlot.AlignedData = [[...curve.steps], smooth(values, smoothing)];
    const written: uPlot.AlignedData = [[...curve.steps], values];
    return smoothing === 0 ? [smoothed] : [smoothed, written];
  });
  const options: uPlot.Options = {
    width: element.clientWidth,
    height,
    series: [{ label: 'step' }, ...series],
    axes: [axis, { ...axis, size: 70 }],
    scales: { x: { time: false }, y: { distr: isLog ? 3 : 1 } },
    cursor: { drag: { x: true, y: false } },
    hooks: {
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width > 2) onZoom([plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')]);
        },
      ],
      ready: [(plot) => plot.over.addEventListener('dblclick', () => onZoom(undefined))],
    },
  };
  return new uPlot(options, tables.length === 0 ? [[]] : uPlot.join(tables), element);
}

/** Exponential mean, without the pull of the first value. */
function smooth(values: readonly (number | null)[], share: number): (number | null)[] {
  if (share === 0) return [...values];
  let [sum, weight] = [0, 0];
  return values.map((value) => {
    if (value === null) return null;
    sum = share * sum + (1 - share) * value;
    weight = share * weight + (1 - share);
    return sum / weight;
  });
}
