import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RunSummary } from '@trinity-rft/launcher';
import { readCurve } from '@trinity-rft/monitor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canRun, frameworks, programs } from '../src/frameworks.ts';
import { prepareShortRuns, sizes, type Exactness, type ShortRuns } from '../src/short-runs.ts';

describe('the agent of the example, in every framework', { tags: ['slow'] }, () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'trinity-frameworks-'));
  const seen = new Map<string, Exactness>();
  let runs: ShortRuns;
  let own: Readonly<Record<keyof typeof sizes, RunSummary>>;

  const curve = (
    summary: RunSummary,
    role: 'explorer' | 'trainer',
    metric: string,
  ): Promise<readonly number[]> =>
    readCurve(path.join(summary.jobDirectory, 'grpo', 'monitor', 'metrics.jsonl'), {
      role,
      metric,
    });

  beforeAll(async () => {
    runs = await prepareShortRuns(directory, {
      write: () => undefined,
      isTTY: false,
      columns: () => 80,
    });
    own = {
      full: await runs.train('own-full', sizes.full),
      small: await runs.train('own-small', sizes.small),
    };
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it.for(frameworks)(
    'trains with %s, on the same tokens as with the agent of the example',
    async (framework, { skip }) => {
      skip(!canRun(framework), 'this machine has no python3');
      const size = programs.has(framework) ? 'small' : 'full';
      const { steps, tasks, runsPerTask } = sizes[size];
      const summary = await runs.train(framework, sizes[size], framework);
      expect(summary).toMatchObject({ interrupted: false, trainStep: steps });
      // No weight has changed before the end of the first step, so equal agents have equal
      // conversations.
      for (const metric of [
        'rollout/reward/mean',
        'rollout/model/calls/mean',
        'rollout/model/tool_calls/mean',
        'rollout/model/response_tokens/mean',
      ]) {
        const [theirs, ours] = [
          await curve(summary, 'explorer', metric),
          await curve(own[size], 'explorer', metric),
        ];
        expect([metric, theirs[0]]).toEqual([metric, ours[0]]);
        expect(theirs[0]).toBeGreaterThan(0);
      }
      const callsPerRun = await curve(summary, 'explorer', 'rollout/model/calls/mean');
      expect(await curve(summary, 'explorer', 'rollout/model/spliced/mean')).toEqual(
        callsPerRun.map((calls) => calls - 1),
      );
      expect(await curve(summary, 'explorer', 'experience_pipeline/experience_count')).toEqual(
        callsPerRun.map((calls) => calls * tasks * runsPerTask),
      );
      const exactness = await runs.exactness(framework);
      expect(exactness).toEqual(
        expect.objectContaining({ ok: true, forks: {}, continued: exactness.later }),
      );
      seen.set(framework, exactness);
    },
  );

  it('has recorded a thousand turns at least, exact in all', () => {
    const turns = [...seen.values()].reduce((sum, exactness) => sum + exactness.turns, 0);
    expect(turns).toBeGreaterThan(1000);
  });
});

describe.each(frameworks)('the folder of %s', (framework) => {
  const folder = path.join(import.meta.dirname, '..', 'frameworks', framework);
  const read = (pattern: string): readonly string[] =>
    globSync(pattern, { cwd: folder }).map((file) => readFileSync(path.join(folder, file), 'utf8'));

  it('has an agent with no import of ours', () => {
    const agent = read('agent/*');
    expect(agent.length).toBeGreaterThan(0);
    expect(agent.join('\n')).not.toContain('@trinity-rft');
  });

  it('has a wrapper of at most fifteen lines', () => {
    const [wrapper = ''] = read('train.ts');
    expect(wrapper).toContain('@trinity-rft');
    expect(wrapper.trim().split('\n').length).toBeLessThanOrEqual(15);
  });
});
