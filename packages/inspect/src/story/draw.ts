/** Draws the charts of a story as SVG. */
import { drawChart, type Drawing, type Size } from '../studio/interface/drawing.js';
import type { Story, StoryChart } from '../studio/interface/types.js';
import { markup, type Markup } from './markup.js';

/** Chart of one curve. Evaluations are points with their intervals. */
export const chartSvg = (chart: StoryChart, size: Size): Markup =>
  svgOf(drawChart([chart], size), chart.title, [chart.name === 'evaluation']);

/**
 * Draws the reward curve, with the points of `evaluation` over it if given. Both must have the same
 * x axis.
 */
export function rewardSvg(reward: StoryChart, evaluation: StoryChart | undefined, size: Size) {
  const both = evaluation ? [reward, evaluation] : [reward];
  const title = both.map((each) => each.title).join('; ');
  return svgOf(drawChart(both, size), title, [false, true]);
}

function svgOf(drawing: Drawing, title: string, arePoints: readonly boolean[]): Markup {
  const { width, height, xTicks, yTicks, area, series } = drawing;
  return markup`<svg
    viewBox="0 0 ${width} ${height}"
    width="${width}"
    height="${height}"
    role="img"
    aria-label="${title}"
  >
    ${yTicks.map(
      ({ at, text }) =>
        markup`<line class="grid" x1="${area.left}" x2="${area.right}" y1="${at}" y2="${at}" /><text
            x="${area.left - 8}"
            y="${at + 4}"
            text-anchor="end"
            >${text}</text
          >`,
    )}${xTicks.map(({ at, text }) => markup`<text x="${at}" y="${height - 4}" text-anchor="middle">${text}</text>`)}
    ${series.map(({ line, points }, i) =>
      arePoints[i] === true
        ? markup`<g class="dots"><path class="curve" d="${line}" />${points.map(pointSvg)}</g>`
        : markup`<path class="curve" d="${line}" />`,
    )}
  </svg>`;
}

const pointSvg = ({ x, y, low, high }: Drawing['series'][number]['points'][number]): Markup =>
  markup`${low === undefined || high === undefined ? undefined : markup`<line class="whisker" x1="${x}" x2="${x}" y1="${low}" y2="${high}" />`}<circle
      class="dot"
      cx="${x}"
      cy="${y}"
      r="4.5"
    />`;

const bar = { width: 1000, height: 20 };

/** Draws how a role spent its time, as one bar with a segment for each part. */
export function timeSvg({ seconds, parts }: Story['time'][number]): Markup {
  let left = 0;
  const rects = parts.map((part) => {
    const width = (part.seconds / seconds) * bar.width;
    const rect = markup`<rect
      class="${colourOf(part.name)}"
      x="${left.toFixed(1)}"
      y="0"
      width="${width.toFixed(1)}"
      height="${bar.height}"
    />`;
    left += width;
    return rect;
  });
  return markup`<svg
    viewBox="0 0 ${bar.width} ${bar.height}"
    preserveAspectRatio="none"
    width="${bar.width}"
    height="${bar.height}"
    aria-hidden="true"
  >
    ${rects}
  </svg>`;
}

/** CSS class of a part of the time. Sampling and training share a class. */
export const colourOf = (name: Story['time'][number]['parts'][number]['name']): string =>
  name === 'sampling' || name === 'training' ? 'active' : name;
