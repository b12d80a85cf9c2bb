import type { MetricRecord, MetricSink } from '@trinity-rft/core';
import { manualClock } from '@trinity-rft/testing';
import { describe, expect, it } from 'vitest';
import type { MonitorError } from './lines/monitor-error.js';
import { teeSink } from './tee-sink.js';

const clock = manualClock();

const record = (step: number): MetricRecord => ({ role: 'trainer', step, metrics: {} });

function recordingSink(
  failAt = Infinity,
): MetricSink & { readonly steps: number[]; closed: number } {
  const steps: number[] = [];
  return {
    steps,
    closed: 0,
    write: ({ step }) => {
      if (step >= failAt) throw new TypeError('disk full');
      steps.push(step);
    },
    async close() {
      this.closed++;
    },
  };
}

describe('teeSink', () => {
  it('writes to all, reports a sink that throws once, closes it and continues without it', async () => {
    const errors: MonitorError[] = [];
    const [good, bad] = [recordingSink(), recordingSink(2)];
    const tee = teeSink([bad, good], { onError: (error) => errors.push(error) });
    for (const step of [1, 2, 3]) tee.write(record(step));
    expect([good.steps, bad.steps]).toEqual([[1, 2, 3], [1]]);
    await tee.close();
    expect([good.closed, bad.closed]).toEqual([1, 1]);
    expect(errors.map((error) => error.message)).toEqual([
      'A metric sink failed at trainer step 2: disk full. The run continues without it.',
    ]);
    expect(errors[0]).toMatchObject({
      code: 'SINK_FAILED',
      cause: expect.any(TypeError) as unknown,
    });
  });

  it('closes every sink, also behind one that cannot be closed', async () => {
    const errors: MonitorError[] = [];
    const last = recordingSink();
    const stuck: MetricSink = {
      write: () => undefined,
      close: () => Promise.reject(new TypeError('busy.')),
    };
    await teeSink([stuck, last], { onError: (error) => errors.push(error) }).close();
    expect(last.closed).toBe(1);
    expect(errors.map((error) => error.message)).toEqual([
      'A metric sink could not be closed: busy. The run continues without it.',
    ]);
  });

  it('waits 30 s for a sink to close', async () => {
    const errors: MonitorError[] = [];
    const hung: MetricSink = { write: () => undefined, close: () => new Promise(() => undefined) };
    const last = recordingSink();
    const onError = (error: MonitorError) => errors.push(error);
    const closed = teeSink([hung, last], { clock, onError }).close();
    await clock.advance(30_000);
    await closed;
    expect(last.closed).toBe(1);
    expect(errors.map((error) => error.message)).toEqual([
      'A metric sink could not be closed: it took more than 30 s. The run continues without it.',
    ]);
  });

  it('survives a sink that cannot even be closed and a listener that throws', async () => {
    const broken: MetricSink = {
      write: () => {
        throw new TypeError('a');
      },
      close: () => {
        throw new TypeError('b');
      },
    };
    const good = recordingSink();
    const tee = teeSink([broken, good], {
      onError: () => {
        throw new TypeError('c');
      },
    });
    tee.write(record(1));
    await tee.close();
    expect([good.steps, good.closed]).toEqual([[1], 1]);
  });

  it('ignores records after close', async () => {
    const sink = recordingSink();
    const tee = teeSink([sink], { onError: () => undefined });
    await tee.close();
    tee.write(record(1));
    expect(sink.steps).toEqual([]);
  });

  it('writes names without secrets, and reports once that a record has too many', () => {
    const errors: MonitorError[] = [];
    const written: string[][] = [];
    const sink: MetricSink = {
      write: ({ metrics }) => void written.push(Object.keys(metrics)),
      close: () => Promise.resolve(),
    };
    const tee = teeSink([sink], { onError: (error) => errors.push(error) });
    tee.write({ ...record(1), metrics: { 'a/sk-abcdefgh12345': 1, 'rollout/reward/mean': 2 } });
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`m${i}`, i]));
    for (const step of [2, 3]) tee.write({ ...record(step), metrics: many });
    expect(written[0]).toEqual(['a/[redacted]', 'rollout/reward/mean']);
    expect(written.slice(1).map((names) => names.length)).toEqual([5000, 5000]);
    expect(errors.map(({ code }) => code)).toEqual(['METRICS_TOO_MANY']);
  });
});
