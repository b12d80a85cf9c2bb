import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { diagnoseRun, readStory, renderStoryPage } from '@trinity-rft/inspect';
import { run } from '@trinity-rft/launcher';
import { readCurve } from '@trinity-rft/monitor';
import { describe, expect, it } from 'vitest';

const example = fileURLToPath(new URL('..', import.meta.url));
const hook = fileURLToPath(new URL('../../../tools/register-source.mjs', import.meta.url));

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

describe('the quickstart', () => {
  it(
    'raises the mean reward from at most 0.5 to at least 0.9, and with an adapter to at least 0.8 in 50 steps',
    { tags: ['slow'], timeout: 400_000 },
    async () => {
      const folder = await mkdtemp(path.join(tmpdir(), 'quickstart-'));
      try {
        for (const file of ['quickstart.yaml', 'lora.yaml'])
          await cp(path.join(example, file), path.join(folder, file));
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
        expect(Number(first)).toBeLessThanOrEqual(0.5);
        expect(Number(last)).toBeGreaterThanOrEqual(0.9);
        const [, before, after] = /greedy accuracy .* ([\d.]+) -> ([\d.]+)/.exec(stdout)!;
        expect(Number(before)).toBeGreaterThan(Number(first) + 0.2);
        expect(Number(after)).toBeGreaterThan(Number(before) + 0.03);

        const terminal = { write: () => true, isTTY: false, columns: () => 80 };
        const overrides = { buffer: { total_steps: 50 } };
        await run({ configPath: path.join(folder, 'lora.yaml'), cwd: folder, terminal, overrides });
        const metrics = path.join(folder, 'runs/Trinity-RFT/quickstart-lora/monitor/metrics.jsonl');
        const rewards = await readCurve(metrics, {
          role: 'explorer',
          metric: 'rollout/reward/mean',
        });
        expect(mean(rewards.slice(0, 5))).toBeLessThanOrEqual(0.5);
        expect(mean(rewards.slice(-10))).toBeGreaterThanOrEqual(0.8);
        for (const name of ['quickstart', 'quickstart-lora']) {
          const { stages } = await diagnoseRun(path.join(folder, 'runs', 'Trinity-RFT', name));
          expect(stages.flatMap(({ findings }) => findings)).toEqual([]);
        }
        const story = await readStory(path.join(folder, 'runs', 'Trinity-RFT', 'quickstart'));
        expect(story.verdict).toMatchObject({ kind: 'learned', evaluation: { set: 'fresh' } });
        expect(story.answers.map(({ kind }) => kind)).toEqual(['gain', 'typical', 'loss']);
        expect(story.charts).toHaveLength(6);
        const page = renderStoryPage(story);
        expect(page.length).toBeLessThan(100_000);
        expect(page).not.toMatch(/<script|https?:/);
      } finally {
        await rm(folder, { recursive: true });
      }
    },
  );
});
