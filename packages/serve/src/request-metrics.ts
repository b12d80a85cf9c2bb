/** Prometheus metrics about the requests to a server that records calls and feedback. */
import { addProcess, createRegistry, routeLabel } from '@trinity-rft/http-server';

export interface RequestMetrics {
  /**
   * Registers the start of a request. When the response is ready, the returned function must be
   * called once with its status.
   */
  begin(pathname: string): (status: number) => void;
  /**
   * Returns the metrics in Prometheus' text format.
   * @param gauges further values to include, keyed by their names in the JSON metrics
   */
  text(gauges: Readonly<Record<string, number>>): string;
}

/**
 * Creates the metrics of a server.
 * @param now returns the current time in milliseconds
 */
export function createRequestMetrics(now: () => number): RequestMetrics {
  const registry = createRegistry();
  const requests = registry.counter('trinity_requests_total', 'Answered requests.');
  const duration = registry.histogram('trinity_request_seconds', 'Time until the answer was sent.');
  let inFlight = 0;
  registry.gauge('trinity_requests_in_flight', 'Requests in progress.', () => [[{}, inFlight]]);
  addProcess(registry);
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
        requests.add({ route, status: String(status) });
        duration.observe({ route }, (now() - start) / 1000);
      };
    },
    text: (gauges) => {
      const own = createRegistry();
      for (const [name, value] of Object.entries(gauges))
        own.gauge(`trinity_${name.replaceAll(/\W/g, '_')}`, name, () => [[{}, value]]);
      return registry.text() + own.text();
    },
  };
}
