import type { MetricSink } from '@trinity-rft/core';
import { manualClock } from '@trinity-rft/testing';
import { describe, expect, it } from 'vitest';
import { fakeTerminal } from '../test/fake-terminal.js';
import { consoleSink } from './console-sink.js';

const explored = (sink: MetricSink, step: number, reward: number): void =>
  sink.write({ role: 'explorer', step, metrics: { 'rollout/reward/mean': reward } });
const trained = (sink: MetricSink, step: number, loss = -0.0123): void =>
  sink.write({
    role: 'trainer',
    step,
    metrics: { 'actor/final_loss': loss, 'perf/throughput': 812.345 },
  });

describe('consoleSink on a terminal', () => {
  it('keeps one line with what is known so far, and ends it when closed', async () => {
    const [terminal, clock] = [fakeTerminal(), manualClock()];
    const sink = consoleSink({ terminal, clock, stageName: 'grpo' });
    sink.setTotalSteps(60);
    explored(sink, 1, 0.125);
    expect(terminal.screen()).toEqual(['grpo  step 0/60  reward 0.125']);
    await clock.advance(2000);
    trained(sink, 1);
    expect(terminal.screen()).toEqual([
      'grpo  step 1/60  reward 0.125  loss -0.0123  tokens/s 812',
    ]);
    await clock.advance(2000);
    trained(sink, 2);
    // The 58 remaining steps take 2 s each.
    expect(terminal.screen()).toEqual([
      'grpo  step 2/60  reward 0.125  loss -0.0123  tokens/s 812  left 1m 56s',
    ]);
    await sink.close();
    await sink.close();
    expect(terminal.screen()).toEqual([
      'grpo  step 2/60  reward 0.125  loss -0.0123  tokens/s 812  left 1m 56s',
      '',
    ]);
  });

  it('counts the time left from the step a resumed run begins with', async () => {
    const [terminal, clock] = [fakeTerminal(), manualClock()];
    const sink = consoleSink({ terminal, clock });
    sink.setTotalSteps(100);
    for (const step of [51, 52, 53]) {
      trained(sink, step);
      await clock.advance(1000);
    }
    expect(terminal.screen()[0]).toContain('left 47s');
  });

  it('redraws at most ten times a second and shows the last step all the same', async () => {
    const [terminal, clock] = [fakeTerminal(), manualClock()];
    const sink = consoleSink({ terminal, clock });
    for (let step = 1; step <= 1000; step++) {
      trained(sink, step);
      await clock.advance(1);
    }
    expect(terminal.output.split('\r').length - 1).toBe(10);
    await sink.close();
    expect(terminal.screen()).toEqual(['step 1000  loss -0.0123  tokens/s 812', '']);
  });

  it('shows no reward where nothing explores', async () => {
    const [terminal, clock] = [fakeTerminal(), manualClock()];
    const sink = consoleSink({ terminal, clock, stageName: 'warm-up' });
    trained(sink, 1, 2.5);
    await sink.close();
    expect(terminal.screen()[0]).toBe('warm-up  step 1  loss 2.5  tokens/s 812');
  });

  it('writes lines of text above the live line', async () => {
    const [terminal, clock] = [fakeTerminal(), manualClock()];
    const sink = consoleSink({ terminal, clock });
    sink.log('first');
    trained(sink, 1);
    sink.log('warning: a\nb');
    await clock.advance(1000);
    trained(sink, 2);
    await sink.close();
    sink.log('last');
    expect(terminal.screen()).toEqual([
      'first',
      'warning: a',
      'b',
      'step 2  loss -0.0123  tokens/s 812',
      'last',
      '',
    ]);
  });

  it('shows a log line with the figures of now, and does not draw twice for it', async () => {
    const [terminal, clock] = [fakeTerminal(), manualClock()];
    const sink = consoleSink({ terminal, clock });
    trained(sink, 1);
    trained(sink, 2);
    sink.log('x');
    expect(terminal.screen()).toEqual(['x', 'step 2  loss -0.0123  tokens/s 812']);
    const { length } = terminal.output;
    await sink.close();
    expect(terminal.output.slice(length)).toBe('\n');
  });

  it.each([80, 40, 20, 10, 1, 0])(
    'leaves figures out rather than wrap in %i columns',
    async (columns) => {
      const terminal = fakeTerminal({ columns });
      const sink = consoleSink({ terminal, clock: manualClock(), stageName: 'grpo' });
      trained(sink, 1);
      await sink.close();
      const shown = terminal.screen()[0]!;
      expect(shown.length).toBeLessThan(columns || 80);
      expect('grpo  step 1  loss -0.0123  tokens/s 812'.startsWith(shown)).toBe(true);
    },
  );

  it('colours unless NO_COLOR is set, and is plain on a dumb terminal', () => {
    const output = (env: Record<string, string>): string => {
      const terminal = fakeTerminal();
      trained(consoleSink({ terminal, clock: manualClock(), env }), 1);
      return terminal.output;
    };
    expect(output({})).toContain('\u001B[2mstep\u001B[22m 1');
    expect(output({ NO_COLOR: '' })).toContain('\u001B[2mstep');
    expect(output({ NO_COLOR: '1' })).toBe('\r\u001B[2Kstep 1  loss -0.0123  tokens/s 812');
    expect(output({ TERM: 'dumb' })).toBe('step 1  loss -0.0123  tokens/s 812\n');
  });

  it('gives evaluations and benchmarks lines of their own', async () => {
    const terminal = fakeTerminal();
    const sink = consoleSink({ terminal, clock: manualClock(), stageName: 'grpo' });
    explored(sink, 20, 0.5);
    trained(sink, 20);
    sink.write({
      role: 'explorer',
      step: 20,
      metrics: {
        'eval/model_version': 18,
        'eval/gsm8k/reward/mean@4': 0.5,
        'eval/gsm8k/reward/std@4': 0.1,
        'eval/a/b/reward/mean': 1,
      },
    });
    sink.write({
      role: 'explorer',
      step: 21,
      metrics: { 'eval/model_version': 20, 'eval/gsm8k/reward/mean@4': 0.6 },
    });
    sink.write({ role: 'bench', step: 40, metrics: { 'bench/gsm8k/reward/mean@1': 0.25 } });
    await sink.close();
    expect(terminal.screen()).toEqual([
      'grpo  eval after step 20 (policy version 18): gsm8k 0.500, a/b 1.000',
      'grpo  eval after step 20 (policy version 20): gsm8k 0.600',
      'grpo  bench after step 40: gsm8k 0.250',
      'grpo  step 20  reward 0.500  loss -0.0123  tokens/s 812',
      '',
    ]);
  });

  it('names the model of a benchmark that is no checkpoint of the run', async () => {
    const terminal = fakeTerminal();
    const sink = consoleSink({ terminal, clock: manualClock(), benched: 'export' });
    sink.write({
      role: 'bench',
      step: 0,
      metrics: { 'bench/model_version': 0, 'bench/gsm8k/reward/mean': 0.984 },
    });
    await sink.close();
    expect(terminal.screen()[0]).toBe('export: gsm8k 0.984');
  });

  it('says within two seconds what is in progress, also before the first step', async () => {
    const [terminal, clock] = [fakeTerminal(), manualClock()];
    const sink = consoleSink({ terminal, clock });
    sink.setTotalSteps(40);
    sink.setActivity('explore step 1', '0/64 runs');
    await clock.advance(2000);
    expect(terminal.screen()).toEqual(['explore step 1: 0/64 runs (2s)']);
    explored(sink, 1, 0.25);
    trained(sink, 1);
    sink.setActivity('explore step 2', '0/64 runs');
    await clock.advance(500);
    sink.setActivity('explore step 2', '3/64 runs');
    await clock.advance(2500);
    expect(terminal.screen()).toEqual([
      'step 1/40  explore step 2: 3/64 runs (3s)  reward 0.250  loss -0.0123',
    ]);
    await sink.close();
    expect(terminal.screen()).toEqual([
      'step 1/40  explore step 2: 3/64 runs (3s)  reward 0.250  loss -0.0123',
      '',
    ]);
  });

  it('leaves nothing of what was in progress where no step ended', async () => {
    const [terminal, clock] = [fakeTerminal(), manualClock()];
    const sink = consoleSink({ terminal, clock });
    sink.setActivity('opening the model');
    await clock.advance(5000);
    await sink.close();
    expect(terminal.screen()).toEqual(['']);
  });

  it('ignores records after close', async () => {
    const terminal = fakeTerminal();
    const sink = consoleSink({ terminal, clock: manualClock() });
    await sink.close();
    trained(sink, 1);
    expect(terminal.output).toBe('');
  });
});

describe('consoleSink into a pipe', () => {
  it('says which explore step the reward is of where it is not that of the train step', async () => {
    const terminal = fakeTerminal({ isTTY: false });
    const sink = consoleSink({ terminal, clock: manualClock() });
    explored(sink, 1, 0.5);
    explored(sink, 2, 0.25);
    trained(sink, 1);
    trained(sink, 2);
    await sink.close();
    expect(terminal.screen().slice(0, 2)).toEqual([
      'step 1  reward 0.250 (explored 2)  loss -0.0123  tokens/s 812',
      'step 2  reward 0.250  loss -0.0123  tokens/s 812',
    ]);
  });

  it('writes every train step', async () => {
    const [terminal, clock] = [fakeTerminal({ isTTY: false }), manualClock()];
    const sink = consoleSink({ terminal, clock, stageName: 'grpo' });
    sink.setTotalSteps(38);
    for (let step = 1; step <= 38; step++) {
      explored(sink, step, step / 100);
      await clock.advance(100);
      trained(sink, step);
    }
    await sink.close();
    expect(terminal.output).not.toContain('\u001B');
    const steps = terminal.screen().map((line) => Number(/step (\d+)\/38/.exec(line)?.[1]));
    expect(steps).toEqual([...Array.from({ length: 38 }, (_, i) => i + 1), Number.NaN]);
    expect(terminal.screen().at(-2)).toBe(
      'grpo  step 38/38  reward 0.380  loss -0.0123  tokens/s 812  left 0s',
    );
  });

  it('does not say the last step twice', async () => {
    const terminal = fakeTerminal({ isTTY: false });
    const sink = consoleSink({ terminal, clock: manualClock() });
    trained(sink, 1);
    sink.log('done');
    await sink.close();
    expect(terminal.screen()).toEqual(['step 1  loss -0.0123  tokens/s 812', 'done', '']);
  });

  it('says ever more seldom what is in progress', async () => {
    const [terminal, clock] = [fakeTerminal({ isTTY: false }), manualClock()];
    const sink = consoleSink({ terminal, clock });
    sink.setActivity('explore step 1', '0/64 runs');
    await clock.advance(20_000);
    expect(terminal.screen()).toEqual([
      'explore step 1: 0/64 runs (5s)',
      'explore step 1: 0/64 runs (15s)',
      '',
    ]);
    await sink.close();
    await clock.advance(60_000);
    expect(terminal.screen()).toHaveLength(3);
  });

  it('is silent where nothing was trained', async () => {
    const terminal = fakeTerminal({ isTTY: false });
    const sink = consoleSink({ terminal, clock: manualClock() });
    explored(sink, 1, 0.5);
    await sink.close();
    expect(terminal.output).toBe('');
  });
});
