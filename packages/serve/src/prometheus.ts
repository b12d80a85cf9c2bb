/** Metrics of a server in Prometheus' text format, version 0.0.4. */

/** Value of the `content-type` header. */
export const prometheusType = 'text/plain; version=0.0.4; charset=utf-8';

const routes = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/responses',
  '/v1/models',
  '/feedback',
  '/commit',
  '/metrics',
];

/** Upper bounds in seconds. */
const bounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** The path as a label of few values: a known route, or `other`. */
export function routeLabel(pathname: string): string {
  const path = pathname.replace(/\/+$/, '').replace(/^\/r\/[^/]+(?=\/v1\/)/, '');
  return routes.find((route) => path === route) ?? 'other';
}

export interface RequestMetrics {
  /** Starts a request; the returned function ends it, once, with the status of its answer. */
  begin(pathname: string): (status: number) => void;
  /** @param gauges of the server, by the names of its JSON metrics */
  text(gauges: Readonly<Record<string, number>>): string;
}

/** @param now milliseconds */
export function createRequestMetrics(now: () => number): RequestMetrics {
  const counts = new Map<string, number>();
  const durations = new Map<string, { buckets: number[]; count: number; sum: number }>();
  let inFlight = 0;
  return {
    begin: (pathname) => {
      const route = routeLabel(pathname);
      const start = now();
      let ended = false;
      inFlight++;
      return (status) => {
        if (ended) return;
        ended = true;
        inFlight--;
        const labels = labelled({ route, status: `${status}` });
        counts.set(labels, (counts.get(labels) ?? 0) + 1);
        const seconds = (now() - start) / 1000;
        const taken = durations.get(route) ?? { buckets: bounds.map(() => 0), count: 0, sum: 0 };
        taken.buckets = taken.buckets.map((n, i) => n + (seconds <= (bounds[i] ?? 0) ? 1 : 0));
        taken.count++;
        taken.sum += seconds;
        durations.set(route, taken);
      };
    },
    text: (gauges) => {
      const { user, system } = process.cpuUsage();
      const histogram = [...durations].flatMap(([route, { buckets, count, sum }]) => [
        ...buckets.map((n, i) => `_bucket${labelled({ route, le: `${bounds[i]}` })} ${n}`),
        `_bucket${labelled({ route, le: '+Inf' })} ${count}`,
        `_sum${labelled({ route })} ${sum}`,
        `_count${labelled({ route })} ${count}`,
      ]);
      const requests = [...counts].map(([labels, n]) => `${labels} ${n}`);
      return [
        family('trinity_requests_total', 'counter', requests),
        family('trinity_request_duration_seconds', 'histogram', histogram),
        family('trinity_requests_in_flight', 'gauge', [` ${inFlight}`]),
        family('process_resident_memory_bytes', 'gauge', [` ${process.memoryUsage.rss()}`]),
        family('process_cpu_seconds_total', 'counter', [` ${(user + system) / 1e6}`]),
        ...Object.entries(gauges).map(([name, value]) =>
          family(`trinity_${name.replace(/[^a-zA-Z0-9_]/g, '_')}`, 'gauge', [` ${value}`]),
        ),
      ].join('');
    },
  };
}

const family = (name: string, type: string, samples: readonly string[]): string =>
  [`# TYPE ${name} ${type}`, ...samples.map((sample) => `${name}${sample}`), ''].join('\n');

const labelled = (labels: Readonly<Record<string, string>>): string =>
  `{${Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',')}}`;

const escaped = (value: string): string =>
  value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
