import { describe, expect, it } from 'vitest';

import { verdictOf, type DeviceReport } from './report.js';

const right = { logprobs: 1e-6, gradients: 1e-6, weights: 1e-6, unequal: 0 };
const step = { model: 'm', cpuMs: 300, gpuMs: 100, isStopped: false, logprobs: 1e-5, unequal: 0 };
const report: DeviceReport = { gpu: 'G', numbers: right, step };

describe('the device by a report', () => {
  it('is the GPU from half as fast again', () => {
    expect(verdictOf(report)).toEqual({
      device: 'webgpu',
      why: 'A step of m takes 300 ms on the CPU; on G it takes 100 ms, 3.0 times faster.',
    });
    expect(verdictOf({ ...report, step: { ...step, gpuMs: 200 } }).device).toBe('webgpu');
  });

  it.each([
    [{ gpuMs: 250 }, 'it takes 250 ms, 1.2 times faster, but not 1.5 times.'],
    [{ gpuMs: 12_000 }, 'it takes 12 s, 40.0 times slower.'],
    [{ gpuMs: 100, isStopped: true }, 'two were not done after 100 ms.'],
  ])('is the CPU for a step with %j', (over, why) => {
    const verdict = verdictOf({ ...report, step: { ...step, ...over } });
    expect(verdict.device).toBe('cpu');
    expect(verdict.why).toContain(why);
  });

  it.each([
    [{ logprobs: 2e-4 }, 'a log-probability differs', '0.00020; at most 0.0001'],
    [{ gradients: Number.MAX_VALUE }, 'a gradient differs', '1.8e+308'],
    [{ weights: NaN }, 'a weight differs', 'NaN'],
    [{ unequal: 2 }, 'the log-probabilities of 2 sampled tokens differ', 'same bits'],
  ])('is the CPU for numbers with %j', (over, ...why) => {
    const verdict = verdictOf({ ...report, numbers: { ...right, ...over } });
    expect(verdict.device).toBe('cpu');
    for (const part of why) expect(verdict.why).toContain(part);
  });

  it('is the CPU if the measured model gets other numbers', () => {
    expect(verdictOf({ ...report, step: { ...step, logprobs: 0.1 } }).why).toContain(
      'a log-probability of m differs',
    );
    expect(verdictOf({ ...report, step: { ...step, unequal: 1 } }).device).toBe('cpu');
  });
});
