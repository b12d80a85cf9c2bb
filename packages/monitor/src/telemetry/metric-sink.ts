/**
 * Exports the metrics of a training run as gauges. For example, `rollout/reward/mean` becomes
 * `trinity.rollout.reward.mean`.
 */
import { metrics, type Gauge } from '@opentelemetry/api';
import type { MetricSink } from '@trinity-rft/core';

/** Creates the sink. Without an SDK in the operating-system process, the sink does nothing. */
export function telemetrySink(): MetricSink {
  const meter = metrics.getMeter('trinity-rft');
  const gauges = new Map<string, Gauge>();
  const gaugeOf = (name: string): Gauge => {
    const known = gauges.get(name);
    if (known !== undefined) return known;
    const gauge = meter.createGauge(`trinity.${name.replaceAll('/', '.')}`);
    gauges.set(name, gauge);
    return gauge;
  };
  return {
    write: ({ role, step, metrics: values }) => {
      const attributes = { 'trinity.role': role };
      gaugeOf('step').record(step, attributes);
      for (const [name, value] of Object.entries(values)) gaugeOf(name).record(value, attributes);
    },
    close: () => Promise.resolve(),
  };
}
