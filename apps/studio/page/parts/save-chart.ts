/** Saves a chart as a file. */
import type uPlot from 'uplot';
import { saveBlob } from '../api.js';

/** Saves the chart as PNG, as shown on the screen, with the background of the page. */
export async function savePng(plot: uPlot, title: string, name: string): Promise<void> {
  const { canvas } = plot.ctx;
  const [copy, head] = [document.createElement('canvas'), 24 * devicePixelRatio];
  copy.width = canvas.width;
  copy.height = canvas.height + head;
  const context = copy.getContext('2d');
  if (!context) return;
  const { color } = getComputedStyle(plot.root);
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(canvas, 0, head);
  context.fillStyle = color;
  context.font = `${14 * devicePixelRatio}px sans-serif`;
  context.fillText(title, 12, head * 0.75);
  const blob = await new Promise<Blob | null>((resolve) => copy.toBlob(resolve));
  if (blob) saveBlob(blob, `${name}.png`);
}

const space = 'http://www.w3.org/2000/svg';

/** Saves the chart as SVG, with axes, tick labels, curves and legend. */
export function saveSvg(plot: uPlot, title: string, name: string): void {
  const text = new XMLSerializer().serializeToString(svgOf(plot, title));
  saveBlob(new Blob([text], { type: 'image/svg+xml' }), `${name}.svg`);
}

function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  content: string | readonly Element[] = [],
): Element {
  const made = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (typeof content === 'string') made.textContent = content;
  else made.append(...content);
  return made;
}

/** Private properties of uPlot axes: positions and texts of the tick labels. */
interface DrawnAxis {
  readonly _splits?: readonly number[] | null;
  readonly _values?: readonly (string | number | null)[] | null;
}

function svgOf(plot: uPlot, title: string): Element {
  const ratio = devicePixelRatio;
  const area = {
    left: plot.bbox.left / ratio,
    top: plot.bbox.top / ratio + 24,
    width: plot.bbox.width / ratio,
    height: plot.bbox.height / ratio,
  };
  const legend = plot.series
    .slice(1)
    .map(({ label, stroke }, i) =>
      element(
        'text',
        { x: area.left, y: plot.height + 44 + i * 18, fill: strokeOf(stroke) },
        typeof label === 'string' ? label : '',
      ),
    );
  const [width, height] = [plot.width, plot.height + 40 + legend.length * 18];
  return element(
    'svg',
    {
      xmlns: space,
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      'font-family': 'sans-serif',
      'font-size': 12,
      fill: getComputedStyle(plot.root).color,
    },
    [
      element('rect', { width, height, fill: getComputedStyle(document.body).backgroundColor }),
      element('text', { x: area.left, y: 16, 'font-size': 14 }, title),
      ...numbersOf(plot, area),
      ...plot.series.slice(1).map((series, i) =>
        element('path', {
          d: pathOf(plot, i + 1, area),
          fill: 'none',
          stroke: strokeOf(series.stroke),
          'stroke-width': series.width ?? 1,
        }),
      ),
      ...legend,
    ],
  );
}

interface Area {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const strokeOf = (stroke: unknown): string => {
  const value: unknown = typeof stroke === 'function' ? (stroke as () => unknown)() : stroke;
  return typeof value === 'string' ? value : '#888';
};

function numbersOf(plot: uPlot, { left, top, width, height }: Area): readonly Element[] {
  const [x, y] = plot.axes as readonly DrawnAxis[];
  const texts = (axis: DrawnAxis | undefined, at: (split: number, text: string) => Element[]) =>
    (axis?._splits ?? []).flatMap((split, i) => {
      const text = axis?._values?.[i];
      return text === null || text === undefined || text === '' ? [] : at(split, String(text));
    });
  const frame = element('rect', { x: left, y: top, width, height, fill: 'none', stroke: '#8888' });
  return [
    frame,
    ...texts(x, (split, text) => {
      const at = left + plot.valToPos(split, 'x');
      return [element('text', { x: at, y: top + height + 18, 'text-anchor': 'middle' }, text)];
    }),
    ...texts(y, (split, text) => {
      const at = top + plot.valToPos(split, 'y');
      return [
        element('line', { x1: left, x2: left + width, y1: at, y2: at, stroke: '#8884' }),
        element('text', { x: left - 6, y: at + 4, 'text-anchor': 'end' }, text),
      ];
    }),
  ];
}

function pathOf(plot: uPlot, series: number, { left, top }: Area): string {
  const [xs, values] = [plot.data[0], plot.data[series] ?? []];
  const points = Array.from(xs).flatMap((x, i) => {
    const value = values[i];
    if (value === null || value === undefined) return [];
    const [px, py] = [left + plot.valToPos(x, 'x'), top + plot.valToPos(value, 'y')];
    return [`${px.toFixed(1)} ${py.toFixed(1)}`];
  });
  return points.length === 0 ? '' : `M${points.join('L')}`;
}
