/** Curves, drawn by uPlot. */
import { useEffect, useMemo, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { mostRuns, type Range, type RunCurve } from '../metrics.js';
import { numberText } from '../numbers.js';
import { dataOf, linesOf } from './chart-data.js';

export interface ChartMark {
  readonly x: number;
  readonly colour: string;
  /** True to draw a tick at the axis instead of a line, for frequent events. */
  readonly isShort: boolean;
}

export interface ChartProps {
  readonly curves: readonly RunCurve[];
  /** The x axis includes all of them. @default no marks */
  readonly marks?: readonly ChartMark[];
  readonly isLog?: boolean;
  /** Height in pixels. @default 360 */
  readonly height?: number;
  readonly xLabel: string;
  readonly label: string;
  /**
   * Called with the range to which the user has zoomed; undefined for the whole axis.
   * @default no callback: the chart is small and cannot be zoomed
   */
  readonly onZoom?: (range: Range | undefined) => void;
  /** Receives the uPlot instance, so that the chart can be saved. */
  readonly plot?: { current: uPlot | undefined };
}

/** Name of the CSS property with the colour of a run. */
const colourName = (run: number): string => `--curve-${(run % mostRuns) + 1}`;
export const colourOf = (run: number): string => `var(${colourName(run)})`;

/**
 * Returns a function that reads the colour of a run when uPlot draws, so that charts follow the
 * theme.
 * @param alpha opacity as two hexadecimal digits
 */
const inkOf =
  (element: HTMLElement, run: number, alpha = '') =>
  (): string =>
    getComputedStyle(element).getPropertyValue(colourName(run)).trim() + alpha;

export function Chart({ curves, marks = noMarks, isLog = false, label, ...rest }: ChartProps) {
  const { height = 360, xLabel, onZoom, plot: outer } = rest;
  const place = useRef<HTMLDivElement>(null);
  const inner = useRef<uPlot | undefined>(undefined);
  const shownMarks = useRef(marks);
  const data = useMemo(() => dataOf(curves, isLog), [curves, isLog]);
  // New values are put into the existing plot. Changed runs, scale, height or label create a new
  // plot.
  const runs = curves.map(({ run, index, curve }) => [run, index, Object.keys(linesOf(curve))]);
  const parts = JSON.stringify([runs, isLog, height, xLabel]);
  useEffect(() => {
    const element = place.current;
    if (!element || curves.length === 0) return undefined;
    const options = optionsOf({ curves, isLog, xLabel, onZoom }, element, height, shownMarks);
    const plot = new uPlot(options, data, element);
    inner.current = plot;
    if (outer) outer.current = plot;
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resize.observe(element);
    // Redraws when the theme has changed the colours of the page.
    const redraw = (): void => plot.redraw(false);
    addEventListener('themechange', redraw);
    return () => {
      removeEventListener('themechange', redraw);
      resize.disconnect();
      plot.destroy();
      inner.current = undefined;
    };
  }, [parts]);
  useEffect(() => {
    shownMarks.current = marks;
    inner.current?.setData(data);
  }, [data, marks]);
  return <div ref={place} class={onZoom ? 'chart' : 'chart small'} role="img" aria-label={label} />;
}

const noMarks: readonly ChartMark[] = [];

function seriesOf(curves: readonly RunCurve[], element: HTMLElement): uPlot.Series[] {
  return curves.flatMap(({ run, index, curve }) =>
    Object.keys(linesOf(curve)).map((name): uPlot.Series => {
      const [stroke, width] =
        name === '' ? [inkOf(element, index), 2] : [inkOf(element, index, '55'), 1];
      return { label: `${run}${name}`, stroke, width };
    }),
  );
}

/** Bands between the low and high ends of intervals. The two ends are adjacent series. */
function bandsOf(curves: readonly RunCurve[], element: HTMLElement): uPlot.Band[] {
  let end = 0;
  return curves.flatMap(({ index, curve }): uPlot.Band[] => {
    end += Object.keys(linesOf(curve)).length;
    const isBand = curve.low !== undefined && curve.high !== undefined;
    return isBand ? [{ series: [end, end - 1], fill: inkOf(element, index, '22') }] : [];
  });
}

function optionsOf(
  { curves, isLog = false, xLabel, onZoom }: Omit<ChartProps, 'label'>,
  element: HTMLElement,
  height: number,
  marks: { readonly current: readonly ChartMark[] },
): uPlot.Options {
  const isSmall = onZoom === undefined;
  const ink = (): string => getComputedStyle(element).color;
  const line = { stroke: '#8882', width: 1 };
  const axis: uPlot.Axis = { stroke: ink, grid: line, ticks: { ...line, size: 4 } };
  return {
    width: element.clientWidth,
    height,
    series: [{ label: xLabel }, ...seriesOf(curves, element)],
    bands: bandsOf(curves, element),
    axes: [
      isSmall ? { ...axis, size: 28, grid: { show: false } } : axis,
      { ...axis, size: isSmall ? 52 : 70 },
    ],
    scales: {
      x: { time: false, range: (_, min, max) => rangeWith(marks.current, min, max) },
      y: { distr: isLog ? 3 : 1 },
    },
    legend: { show: !isSmall },
    cursor: {
      drag: { x: !isSmall, y: false, setScale: false },
      ...(isSmall && { sync: { key: 'small' } }),
    },
    hooks: {
      ...(isSmall && { setCursor: [(plot) => readOut(plot, element)] }),
      drawClear: [(plot) => drawMarks(plot, marks.current)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width <= 2) return;
          onZoom?.([plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')]);
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
      ready: [(plot) => plot.over.addEventListener('dblclick', () => onZoom?.(undefined))],
    },
  };
}

/** Extends the range of the curves to the marks. Without curves, both ends are null. */
const rangeWith = (marks: readonly ChartMark[], min: number, max: number): uPlot.Range.MinMax =>
  (min as number | null) === null
    ? [min, max]
    : [Math.min(min, ...marks.map(({ x }) => x)), Math.max(max, ...marks.map(({ x }) => x))];

/** Shows the values under the cursor, for a chart without a legend. */
function readOut({ cursor: { idx }, data, series }: uPlot, element: HTMLElement): void {
  const at = idx ?? -1;
  const values = series.flatMap(({ width }, i) => {
    const value = data[i]?.[at];
    // Skips thin lines: ends of intervals and unsmoothed values.
    return i === 0 || width === 1 || value === null || value === undefined
      ? []
      : [numberText(value)];
  });
  element.dataset['readout'] =
    values.length === 0 ? '' : `${numberText(data[0][at])}: ${values.join(' · ')}`;
}

/** Draws the marks as lines behind the curves. */
function drawMarks(plot: uPlot, marks: readonly ChartMark[]): void {
  const { ctx, bbox, scales } = plot;
  const { min = -Infinity, max = Infinity } = scales['x'] ?? {};
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  const bottom = bbox.top + bbox.height;
  for (const { x, colour, isShort } of marks) {
    if (x < (min ?? -Infinity) || x > (max ?? Infinity)) continue;
    const left = plot.valToPos(x, 'x', true);
    ctx.strokeStyle = colour;
    ctx.beginPath();
    ctx.moveTo(left, isShort ? bottom - 6 * devicePixelRatio : bbox.top);
    ctx.lineTo(left, bottom);
    ctx.stroke();
  }
  ctx.restore();
}
