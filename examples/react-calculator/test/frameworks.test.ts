import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RunSummary } from '@trinity-rft/launcher';
import { readCurve } from '@trinity-rft/monitor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { frameworks, runFramework } from '../src/frameworks.ts';
import { prepare } from '../src/prepare.ts';

const warmupSteps = 160;
const grpoSteps = 3;
const runsPerStep = 16 * 8;

describe('the agent of the example, in every framework', { tags: ['slow'] }, () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'trinity-frameworks-'));
  const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
  let warm: string;
  let own: RunSummary;

  const train = (framework?: string): Promise<RunSummary> =>
    runFramework({
      framework,
      directory,
      name: framework ?? 'own',
      terminal,
      change: (config) => {
        config.setIn(['model', 'model_path'], warm);
        config.deleteIn(['stages', 0]);
        config.deleteIn(['buffer', 'explorer_input', 'eval_tasksets']);
        config.setIn(['stages', 0, 'trainer', 'total_steps'], grpoSteps);
      },
    });
  const curve = (summary: RunSummary, role: 'explorer' | 'trainer', metric: string): Promise<readonly number[]> =>
    readCurve(path.join(summary.jobDirectory, 'grpo', 'monitor', 'metrics.jsonl'), { role, metric });

  beforeAll(async () => {
    await prepare(path.join(directory, 'runs', 'data'), 7);
    const summary = await runFramework({
      directory,
      name: 'warm',
      terminal,
      change: (config) => {
        config.deleteIn(['stages', 1]);
        config.deleteIn(['buffer', 'explorer_input', 'eval_tasksets']);
        config.setIn(['stages', 0, 'buffer', 'total_steps'], warmupSteps);
      },
    });
    warm = summary.checkpoint!;
    own = await train();
  }, 120_000);
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it.each(frameworks)('trains with %s, on the same tokens as with the agent of the example', async (framework) => {
    const summary = await train(framework);
    expect(summary).toMatchObject({ interrupted: false, trainStep: grpoSteps });
    // Nothing of the weights has changed in the first step, so equal agents have equal conversations.
    for (const metric of [
      'rollout/reward/mean',
      'rollout/model/calls/mean',
      'rollout/model/tool_calls/mean',
      'rollout/model/response_tokens/mean',
    ]) {
      const [theirs, ours] = [await curve(summary, 'explorer', metric), await curve(own, 'explorer', metric)];
      expect([metric, theirs[0]]).toEqual([metric, ours[0]]);
      expect(theirs[0]).toBeGreaterThan(0);
    }
    const callsPerRun = await curve(summary, 'explorer', 'rollout/model/calls/mean');
    expect(await curve(summary, 'explorer', 'rollout/model/spliced/mean')).toEqual(callsPerRun.map((calls) => calls - 1));
    expect(await curve(summary, 'explorer', 'experience_pipeline/experience_count')).toEqual(
      callsPerRun.map((calls) => calls * runsPerStep),
    );
    const [difference] = await curve(summary, 'trainer', 'training/rollout_logprobs_diff_max');
    expect(difference).toBeLessThan(1e-5);
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

  it('has a wrapper of fifteen lines at most', () => {
    const [wrapper = ''] = read('train.ts');
    expect(wrapper).toContain('@trinity-rft');
    expect(wrapper.trim().split('\n').length).toBeLessThanOrEqual(15);
  });
});
