/** A small chart on a run's overview: one curve, or points with their intervals. */
import {
  drawChart,
  type Size,
  type StoryChart as Chart,
} from '@trinity-rft/inspect/studio/interface';

interface StoryChartProps {
  /** Charts that share the axes, in drawing order. */
  readonly charts: readonly Chart[];
  readonly size: Size;
}

export function StoryChart({ charts, size }: StoryChartProps) {
  const { width, height, series, xTicks, yTicks, area } = drawChart(charts, size);
  return (
    <svg
      class="story-chart"
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={charts.map(({ title }) => title).join('; ')}
    >
      {yTicks.map(({ at, text }) => (
        <g key={at}>
          <line class="grid" x1={area.left} x2={area.right} y1={at} y2={at} />
          <text x={area.left - 8} y={at + 4} text-anchor="end">
            {text}
          </text>
        </g>
      ))}
      {xTicks.map(({ at, text }) => (
        <text key={at} x={at} y={height - 4} text-anchor="middle">
          {text}
        </text>
      ))}
      {series.map(({ line, points }, i) =>
        charts[i]?.name === 'evaluation' ? (
          <g key={i} class="dots">
            <path class="curve" d={line} />
            {points.map(({ x, y, low, high }) => (
              <g key={x}>
                {low !== undefined && <line class="whisker" x1={x} x2={x} y1={low} y2={high} />}
                <circle class="dot" cx={x} cy={y} r="4.5" />
              </g>
            ))}
          </g>
        ) : (
          <path key={i} class="curve" d={line} />
        ),
      )}
    </svg>
  );
}
