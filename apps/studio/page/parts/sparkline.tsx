/** Small curve without axes. */

interface SparklineProps {
  readonly values: readonly (number | null)[];
}

const [width, height] = [120, 24];

export function Sparkline({ values }: SparklineProps) {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return null;
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const y = (value: number): number =>
    most === least ? height / 2 : 2 + (height - 4) * (1 - (value - least) / (most - least));
  const points = values.flatMap((value, i) =>
    value === null
      ? []
      : [`${((i * width) / (values.length - 1)).toFixed(1)},${y(value).toFixed(1)}`],
  );
  return (
    <svg class="sparkline" width={width} height={height} aria-hidden="true">
      <polyline points={points.join(' ')} />
    </svg>
  );
}
