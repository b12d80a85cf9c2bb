import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtInTables, createAlgorithm, extendTables } from '@trinity-rft/algorithm';
import { createExperience, type LossInput } from '@trinity-rft/core';
import { diagnoseRun } from '@trinity-rft/inspect';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forkingReinforce } from '../plugins/forking-reinforce.ts';

const example = fileURLToPath(new URL('..', import.meta.url));
const hook = fileURLToPath(new URL('../../../tools/register-source.mjs', import.meta.url));

const tables = extendTables(builtInTables, [forkingReinforce]);
const preset = tables.presets['forking_reinforce']!;
const algorithm = createAlgorithm({ ...preset, lossAggNorm: undefined }, { tables });

describe('forking_reinforce', () => {
  it('compares a run with the mean of the others, down to the floor', () => {
    const group = [1, 0, 0, 1].map((reward, run) =>
      createExperience({
        tokens: [1, 2],
        promptLength: 1,
        reward,
        eid: { batch: 0, task: 0, run },
      }),
    );
    const { experiences } = algorithm.advantage!(group);
    const advantages = experiences.map((experience) => experience.advantages![0]!);
    expect(advantages).toEqual([2 / 3, -0.5, -0.5, 2 / 3].map((value) => expect.closeTo(value, 6)));
  });

  it('has the gradient of its loss', () => {
    const value = fc.double({ min: -3, max: 0, noNaN: true });
    const tokens = fc.array(
      fc.tuple(
        value,
        value,
        fc.double({ min: 0, max: 2, noNaN: true }),
        fc.integer({ min: 0, max: 1 }),
      ),
      {
        minLength: 1,
        maxLength: 6,
      },
    );
    fc.assert(
      fc.property(tokens, (rows) => {
        const input = (current: readonly number[]): LossInput => ({
          offsets: Int32Array.of(0, rows.length),
          actionMask: Uint8Array.from(rows, (row) => row[3]),
          currentLogprobs: Float32Array.from(current),
          oldLogprobs: Float32Array.from(current),
          advantages: Float32Array.from(rows, (row) => row[1] + 1),
          entropy: Float32Array.from(rows, (row) => row[2]),
          step: 1,
        });
        const at = rows.map((row) => row[0]);
        const { gradLogprobs } = algorithm.loss(input(at));
        const step = 2 ** -6;
        const moved = (t: number, by: number): number =>
          algorithm.loss(input(at.map((x, i) => (i === t ? x + by : x)))).loss;
        for (const t of rows.keys())
          expect(gradLogprobs[t]).toBeCloseTo((moved(t, step) - moved(t, -step)) / (2 * step), 3);
      }),
      { numRuns: 50 },
    );
  });

  it('raises the mean reward by at least 0.25', { tags: ['slow'] }, async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'custom-algorithm-'));
    try {
      await cp(
        path.join(example, 'custom-algorithm.yaml'),
        path.join(folder, 'custom-algorithm.yaml'),
      );
      const node = [
        '--conditions=@trinity-rft/source',
        `--import=${hook}`,
        path.join(example, 'src', 'index.ts'),
      ];
      const { stdout, stderr, status } = spawnSync(process.execPath, node, {
        cwd: folder,
        encoding: 'utf8',
        timeout: 220_000,
        killSignal: 'SIGKILL',
      });
      expect(stderr + stdout.slice(-2000)).toContain('mean reward');
      const [, first, last] = /mean reward ([\d.]+) .* -> ([\d.]+)/.exec(stdout)!;
      expect(status).toBe(0);
      expect(Number(first)).toBeLessThanOrEqual(0.3);
      expect(Number(last)).toBeGreaterThanOrEqual(Number(first) + 0.25);
      const job = path.join(folder, 'runs', 'Trinity-RFT', 'custom-algorithm');
      const { stages } = await diagnoseRun(job);
      expect(stages.map(({ findings }) => findings)).toEqual([[], []]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
