/**
 * Metrics in Prometheus' text format.
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/ (version 0.0.4)
 */

/** Names and values of labels; values may be any string. */
export type Labels = Readonly<Record<string, string>>;

/** A metric that only increases. */
export interface Counter {
  add(labels: Labels, count?: number): void;
}

/** A metric that counts durations in buckets with fixed upper bounds. */
export interface Histogram {
  observe(labels: Labels, seconds: number): void;
}

type ReadValues = () => readonly (readonly [Labels, number])[];

/** Metrics of a program, which are output in the order in which they were added. */
export interface Registry {
  counter(name: string, help: string): Counter;
  histogram(name: string, help: string): Histogram;
  /** Adds a gauge. Its values are read on each request for the metrics. */
  gauge(name: string, help: string, read: ReadValues): void;
  /** Adds a counter. Its values are read on each request for the metrics. */
  total(name: string, help: string, read: ReadValues): void;
  text(): string;
}

/**
 * Upper bounds of the duration buckets, in seconds. They range from the time for a token of a small
 * model to that for a long response of a large model.
 */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** Value of the `content-type` header for {@link Registry.text}. */
export const prometheusType = 'text/plain; version=0.0.4; charset=utf-8';

/** Creates an empty registry. */
export function createRegistry(): Registry {
  const families: (() => string)[] = [];
  const family = (name: string, type: string, help: string, lines: () => readonly string[]): void =>
    void families.push(() =>
      [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines()].join('\n'),
    );
  const readFamily =
    (type: 'gauge' | 'counter') =>
    (name: string, help: string, read: ReadValues): void =>
      family(name, type, help, () =>
        read().map(([labels, value]) => `${name}${inBraces(labels)} ${value}`),
      );
  return {
    counter: (name, help) => {
      const counts = new Map<string, number>();
      family(name, 'counter', help, () =>
        [...counts].map(([labels, count]) => `${name}${labels} ${count}`),
      );
      return {
        add: (labels, count = 1) => {
          const key = inBraces(labels);
          counts.set(key, (counts.get(key) ?? 0) + count);
        },
      };
    },
    histogram: (name, help) => {
      const series = new Map<
        string,
        { readonly labels: Labels; readonly counts: number[]; sum: number }
      >();
      family(name, 'histogram', help, () =>
        [...series.values()].flatMap(({ labels, counts, sum }) => {
          const total = counts.at(-1) ?? 0;
          return [
            ...bounds.map(
              (bound, i) =>
                `${name}_bucket${inBraces({ ...labels, le: String(bound) })} ${counts[i]}`,
            ),
            `${name}_bucket${inBraces({ ...labels, le: '+Inf' })} ${total}`,
            `${name}_sum${inBraces(labels)} ${sum}`,
            `${name}_count${inBraces(labels)} ${total}`,
          ];
        }),
      );
      return {
        observe: (labels, seconds) => {
          const key = inBraces(labels);
          const found = series.get(key) ?? {
            labels,
            counts: [...bounds, Infinity].map(() => 0),
            sum: 0,
          };
          series.set(key, found);
          found.sum += seconds;
          for (const [i, bound] of [...bounds, Infinity].entries())
            if (seconds <= bound) found.counts[i] = (found.counts[i] ?? 0) + 1;
        },
      };
    },
    gauge: readFamily('gauge'),
    total: readFamily('counter'),
    text: () => `${families.map((lines) => lines()).join('\n')}\n`,
  };
}

const inBraces = (labels: Labels): string => {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
};

const escaped = (value: string): string =>
  value
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('"', String.raw`\"`);

/**
 * Adds the memory and CPU time of the process, under the names that Prometheus' own clients use.
 */
export function addProcess(registry: Registry): void {
  registry.gauge('process_resident_memory_bytes', 'Memory of the process.', () => [
    [{}, process.memoryUsage.rss()],
  ]);
  registry.total('process_cpu_seconds_total', 'Processor time of the process.', () => {
    const { user, system } = process.cpuUsage();
    return [[{}, (user + system) / 1e6]];
  });
}

const routes =
  /^(?:\/r\/[^/]+)?(\/v1\/(?:chat\/completions|completions|responses|messages(?:\/count_tokens)?|models)|\/feedback|\/commit)\/*$/;

/**
 * Returns the value of the route label for a path: the route, or `other` for paths outside of the
 * API. With a fixed set of labels, requests for random paths cannot fill the memory with time
 * series.
 */
export const routeLabel = (pathname: string): string => routes.exec(pathname)?.[1] ?? 'other';
