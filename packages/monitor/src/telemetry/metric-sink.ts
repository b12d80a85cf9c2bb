/**
 * Exports the metrics of a training run as OpenTelemetry gauges. For example,
 * `eval/gsm8k/reward/mean@4` becomes `trinity.eval.gsm8k.reward.mean_at_4`.
 */
import { metrics, type Attributes, type Gauge } from '@opentelemetry/api';
import type { MetricSink } from '@trinity-rft/core';

/** Maximum length of an instrument name in OpenTelemetry, in characters. */
const maxName = 255;

/** Returns an instrument name for a metric that OpenTelemetry accepts. */
const instrumentOf = (name: string): string =>
  `trinity.${name.replaceAll('/', '.').replaceAll('@', '_at_')}`
    .replaceAll(/[^\w.-]/g, '_')
    .slice(0, maxName);

/**
 * Returns the attributes of a metric. If the metric's name cannot be derived from the instrument
 * name, it is added as an attribute. Otherwise, metrics that share an instrument would overwrite
 * each other's values.
 */
const attributesOf = (name: string): Attributes => {
  const shown = instrumentOf(name).slice('trinity.'.length);
  const isShown = shown.replaceAll('_at_', '@').replaceAll('.', '/') === name;
  return isShown ? {} : { 'trinity.metric': name };
};

/** Creates the sink. If no OpenTelemetry SDK is running in the process, the sink does nothing. */
export function telemetrySink(): MetricSink {
  const meter = metrics.getMeter('trinity-rft');
  const gauges = new Map<string, { readonly gauge: Gauge; readonly named: Attributes }>();
  const record = (name: string, value: number, attributes: Attributes): void => {
    const found = gauges.get(name) ?? {
      gauge: meter.createGauge(instrumentOf(name)),
      named: attributesOf(name),
    };
    gauges.set(name, found);
    found.gauge.record(value, { ...attributes, ...found.named });
  };
  return {
    write: ({ role, step, metrics: values }) => {
      const attributes = { 'trinity.role': role };
      record('step', step, attributes);
      for (const [name, value] of Object.entries(values)) record(name, value, attributes);
    },
    close: () => Promise.resolve(),
  };
}
