/** Geometry of a small line chart: paths and labels for SVG, without colours. */

export interface Series {
  /** Positions in ascending order. */
  readonly x: readonly number[];
  readonly values: readonly (number | null)[];
  /** Lower ends of intervals. @default no intervals */
  readonly low?: readonly (number | null)[];
  readonly high?: readonly (number | null)[];
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Drawing extends Size {
  /** Drawn series, in the given order. */
  readonly series: readonly DrawnSeries[];
  readonly xTicks: readonly Tick[];
  readonly yTicks: readonly Tick[];
  /** Edges of the plotted area, in pixels. */
  readonly area: { readonly left: number; readonly right: number; readonly bottom: number };
}

interface DrawnSeries {
  /** Attribute `d` of an SVG path, interrupted where a value is missing. */
  readonly line: string;
  readonly points: readonly DrawnPoint[];
}

interface DrawnPoint {
  readonly x: number;
  readonly y: number;
  readonly value: number;
  /** Lower and upper end of the point's interval. */
  readonly low?: number;
  readonly high?: number;
}

interface Tick {
  readonly at: number;
  readonly text: string;
}

const margin = { top: 10, right: 12, bottom: 22 };
/** Width of a digit of a label, and the space between labels and chart, in pixels. */
const [digitWidth, labelGap] = [6.5, 8];
/** Minimum distances between two ticks of the x axis and of the y axis, in pixels. */
const [xTickRoom, yTickRoom] = [70, 38];

/** Minimum span of the y axis, as a share of the largest value. */
const leastSpread = 0.1;

/** Draws series over the same axes. */
export function drawChart(series: readonly Series[], { width, height }: Size): Drawing {
  const bottom = height - margin.bottom;
  const yTicksWanted = Math.max(2, Math.floor((bottom - margin.top) / yTickRoom));
  const values = rangeOf(
    series.flatMap((each) => [...each.values, ...(each.low ?? []), ...(each.high ?? [])]),
  );
  // A minimum span keeps noise of a nearly constant curve small.
  const ys = ticksOf(values, yTicksWanted, { span: leastSpread * Math.abs(values[1]) });
  const widest = Math.max(0, ...ys.ticks.map((tick) => tickText(tick, ys.step).length));
  const [left, right] = [widest * digitWidth + labelGap, width - margin.right];
  const range = rangeOf(series.flatMap(({ x }) => x));
  const xs = ticksOf(range, Math.max(2, Math.floor((right - left) / xTickRoom)), { step: 1 });
  const x = scale(range, [left, right]);
  const y = scale(ys.range, [bottom, margin.top]);
  return {
    width,
    height,
    series: series.map((each) => drawn(each, x, y)),
    xTicks: xs.ticks
      .filter((tick) => tick >= range[0] && tick <= range[1])
      .map((tick) => ({ at: x(tick), text: tickText(tick, xs.step) })),
    yTicks: ys.ticks.map((tick) => ({ at: y(tick), text: tickText(tick, ys.step) })),
    area: { left, right, bottom },
  };
}

type Range = readonly [low: number, high: number];
type Scale = (value: number) => number;

function drawn({ x: xs, values, low = [], high = [] }: Series, x: Scale, y: Scale): DrawnSeries {
  let line = '';
  let isDown = false;
  const points = values.flatMap((value, i): readonly DrawnPoint[] => {
    const step = xs[i];
    if (value === null || step === undefined) {
      isDown = false;
      return [];
    }
    const point = { x: rounded(x(step)), y: rounded(y(value)), value };
    line += `${isDown ? 'L' : 'M'}${point.x} ${point.y}`;
    isDown = true;
    const [below, above] = [low[i], high[i]];
    if (typeof below !== 'number' || typeof above !== 'number') return [point];
    return [{ ...point, low: rounded(y(below)), high: rounded(y(above)) }];
  });
  return { line, points };
}

/** Range of the numbers; 0 to 1 if there are none. */
function rangeOf(values: readonly (number | null)[]): Range {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : [0, 1];
}

const scale =
  ([from, to]: Range, [start, end]: Range): Scale =>
  (value) =>
    to === from ? (start + end) / 2 : start + ((value - from) / (to - from)) * (end - start);

/** Returns about `wanted` round numbers that span a range. */
function ticksOf(
  [low, high]: Range,
  wanted: number,
  least: { readonly span?: number; readonly step?: number },
): { readonly ticks: readonly number[]; readonly step: number; readonly range: Range } {
  const spread = Math.max(high - low, least.span ?? 0) || 1;
  const rough = spread / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const nice = [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10;
  const step = Math.max(least.step ?? 0, nice * power);
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
  const ticks = Array.from({ length: Math.max(1, last - first) + 1 }, (_, i) => (first + i) * step);
  return { ticks, step, range: [ticks[0] ?? low, ticks.at(-1) ?? high] };
}

/**
 * Label of a tick, with as many digits as distinguish it from the next: `1.5`, `12.3k`, `1.2e+6`.
 */
function tickText(value: number, step: number): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  const decimalsIn = (unit: number): number =>
    Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));
  if (size >= 1e6 || step < 1e-4)
    return value.toExponential(Math.max(1, decimalsIn(10 ** Math.floor(Math.log10(size)))));
  if (size >= 1e4) return `${Number((value / 1000).toFixed(decimalsIn(1000)))}k`;
  return value.toFixed(decimalsIn(1));
}

const rounded = (value: number): number => Math.round(value * 10) / 10;
