// Trains Trinity-RFT's ScienceWorld example for two steps in the real ScienceWorld (Java), which
// runs in a Python process.
import path from 'node:path';
import { findPython } from '@trinity-rft/test-support';
import { expect, it } from 'vitest';
import { runHere } from '../support/run-here.js';
import { metricLines } from '../support/run-record.js';
import type { Tree } from '../support/workspace.js';
import { examples } from './examples.js';
import { createOriginalWorkspace, small } from './small.js';

const name = 'grpo_sciworld/sciworld.yaml';
/** Timeout in ms, which includes downloads. */
const timeout = 1_800_000;

it('grpo_sciworld/sciworld.yaml trains', { tags: ['external'], timeout }, async (context) => {
  const found = await findPython([
    'textarena==0.7.4',
    'scienceworld==1.2.3',
    'reasoning-gym==0.1.25',
  ]);
  if ('missing' in found) return context.skip(found.missing);
  const workspace = await createOriginalWorkspace();
  const rows = [0, 1, 2, 3].map((variation) =>
    JSON.stringify({ game_file: JSON.stringify({ task_name: 'boil', var_num: variation }) }),
  );
  workspace.write('experiments.jsonl', rows.join('\n'));
  const example = examples[name] ?? {};
  const config = small(name, example, {
    file: 'experiments.jsonl',
    args: { environment_args: { python: found.program } },
  });
  // Answers may be long enough to end by themselves, so that the conversation continues.
  const model = { ...(config['model'] as Tree), max_response_tokens: 400 };
  const { error, output } = await runHere(
    workspace,
    workspace.write('sciworld.json', JSON.stringify({ ...config, model })),
  );
  expect([error, output]).toEqual([undefined, expect.any(String)]);
  const job = path.join(workspace.root, 'runs', name, String(example['project']), 'small');
  const steps = metricLines(job);
  expect(steps.filter(({ role }) => role === 'trainer')).toHaveLength(2);
  const [explored] = steps.filter(({ role }) => role === 'explorer');
  expect(explored?.metrics['rollout/turns/mean']).toBeGreaterThan(2);
});
