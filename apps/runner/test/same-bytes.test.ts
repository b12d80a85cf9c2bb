import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { finishHere } from './support/run-here.js';
import { criticDigest, weightsDigest } from './support/run-record.js';
import { actorCritic, createWorkspace, evalTasksets, type Tree } from './support/workspace.js';

const kinds: readonly (readonly [what: string, over: Tree])[] = [
  [
    'a policy, its critic and a penalty that adapts',
    { algorithm: { ...actorCritic, repeat_times: 2 } },
  ],
  ['a workflow that repeats by itself', { explorer: { eval_on_startup: true, eval_interval: 3 } }],
  [
    'an agent of several turns whose sixteen runs overtake each other',
    {
      algorithm: { algorithm_type: 'multi_step_grpo' },
      buffer: { total_steps: 4, explorer_input: { default_workflow_type: 'chatty' } },
    },
  ],
  [
    'the same agent with its calls merged',
    {
      algorithm: { algorithm_type: 'multi_step_grpo' },
      buffer: { total_steps: 4, explorer_input: { default_workflow_type: 'chatty' } },
      explorer: { experience_shape: 'trajectory' },
    },
  ],
];

describe('two runs of one seed', () => {
  it.each(kinds)(
    'have equal metrics and weights, and another seed has others: %s',
    { timeout: 240_000 },
    async (_what, over) => {
      const workspace = await createWorkspace();
      const record = async (name: string, seed: number) => {
        const { lines } = await finishHere(workspace, name, evalTasksets, over, { seed });
        const job = path.join(workspace.root, 'runs/tests', name);
        return { lines, digest: weightsDigest(job), critic: criticDigest(job) };
      };
      const [first, second, other] = await Promise.all([
        record('first', 7),
        record('second', 7),
        record('other', 8),
      ]);
      expect(second.lines).toEqual(first.lines);
      expect([second.digest, second.critic]).toEqual([first.digest, first.critic]);
      expect(other.digest).not.toBe(first.digest);
      expect(other.lines).not.toEqual(first.lines);
      // The comparison is meaningful only if the weights have changed.
      expect(
        first.lines.filter(({ metrics }) => (metrics['actor/grad_norm'] ?? 0) > 0).length,
      ).toBeGreaterThan(2);
    },
  );
});
