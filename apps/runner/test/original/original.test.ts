// Checks the unchanged configurations of Trinity-RFT's examples with environments, and trains each
// for two steps with a tiny model.
import path from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { mainHere } from '../support/main-here.js';
import { runHere } from '../support/run-here.js';
import { metricLines } from '../support/run-record.js';
import type { Tree, Workspace } from '../support/workspace.js';
import { examples } from './examples.js';
import { createOriginalWorkspace, small, stubPython } from './small.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createOriginalWorkspace();
});

const write = (name: string, tree: Tree): string =>
  workspace.write(`${name.replaceAll(/\W/g, '-')}.json`, JSON.stringify(tree));

/**
 * Task file that names ALFWorld games, which this repository does not have, and the expected
 * refusal.
 */
const games = [
  'rows.jsonl',
  /which is ALFWorld's.*storage_type: generated and task_count/,
] as const;

/** Task files of examples that do not use `rows.jsonl`, and the expected refusal. */
const rowsOf: Readonly<Record<string, readonly [file: string, refusal?: RegExp]>> = {
  'RAFT_alfworld/RAFT_alfworld_7B.yaml': games,
  'RAFT_alfworld/RAFT_reflect_alfworld_7B.yaml': games,
  'grpo_alfworld/alfworldv2.yaml': games,
  'grpo_alfworld/alfworld.yaml': games,
  'grpo_alfworld_general_multi_step/alfworld.yaml': games,
  'grpo_frozen_lake/frozen_lake.yaml': ['lakes.jsonl'],
  'grpo_sciworld/sciworld.yaml': ['experiments.jsonl'],
  'grpo_webshop/webshop.yaml': ['sessions.jsonl'],
  'ppo_countdown/countdown.yaml': ['countdown.jsonl'],
};

/** Examples whose environment is a Python package; original.external.test.ts runs them. */
const python: ReadonlySet<string> = new Set(['grpo_sciworld/sciworld.yaml']);
describe('an example of Trinity-RFT', () => {
  const all = Object.entries(examples);

  it.each(all)('%s is right as it is, or its rows are refused', async (name, example) => {
    const [rows = 'rows.jsonl', refusal] = rowsOf[name] ?? [];
    vi.stubEnv('TRINITY_MODEL_PATH', path.join(workspace.root, 'long'));
    vi.stubEnv('TRINITY_TASKSET_PATH', path.join(workspace.root, rows));
    vi.stubEnv('WANDB_API_KEY', 'key');
    stubPython(workspace);
    const { exitCode, stdout, stderr } = await mainHere('config', 'check', write(name, example));
    expect([exitCode, stdout + stderr]).toEqual([
      refusal === undefined ? 0 : 2,
      expect.stringMatching(refusal ?? ''),
    ]);
  });

  it.each(all.filter(([name]) => !python.has(name)))('%s trains', async (name, example) => {
    const { error, output } = await runHere(
      workspace,
      write(`small ${name}`, small(name, example)),
    );
    expect([error, output]).toEqual([undefined, expect.any(String)]);
    const job = path.join(workspace.root, 'runs', name, String(example['project']), 'small');
    const steps = metricLines(job).filter(({ role }) => role === 'trainer');
    expect(steps.length).toBeGreaterThanOrEqual(2);
  });
});
