/** Tests agents whose runs differ in the number of model calls. */
import { defineWorkflow } from '@trinity-rft/workflow';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runHere } from './support/run-here.js';
import { metricLines, type Metrics } from './support/run-record.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
});

let started = 0;
/** Workflow with one to four calls, 2.5 on average. */
const rambling = defineWorkflow({
  name: 'rambling',
  run: async ({ task, model }) => {
    const calls = 1 + (started++ % 4);
    let text = '';
    for (let call = 0; call < calls; call++) {
      const question = `${String(task.rawTask['question'])}${call}`;
      const [answer] = await model.chat([{ role: 'user', content: question }]);
      text += answer!.responseText;
    }
    return [...text].filter((character) => character > '4').length / (4 * calls);
  },
});

interface Trained {
  readonly steps: readonly Metrics[];
  readonly output: string;
}

async function train(name: string, over: Tree = {}): Promise<Trained> {
  const config = workspace.config(
    `${name}.yaml`,
    {
      name,
      algorithm: {
        optimizer: { lr: 1e-2, lr_scheduler_type: 'cosine', min_lr_ratio: 0, weight_decay: 0 },
      },
      buffer: { explorer_input: { default_workflow_type: 'rambling' } },
    },
    over,
  );
  const { error, output } = await runHere(workspace, config, { workflows: [rambling] });
  if (error) throw error;
  const lines = metricLines(path.join(workspace.root, 'runs/tests', name));
  const steps = lines.filter(({ role }) => role === 'trainer').map(({ metrics }) => metrics);
  return { steps, output };
}

const staleness = ({ steps }: Trained): number[] =>
  steps.map((metrics) => metrics['sample/staleness/max']!);

describe('a run of an agent that makes one to four calls', () => {
  it('trains once per explore step, on policy, and a cosine schedule spans it', async () => {
    const trained = await train('in-step');
    expect(staleness(trained)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(trained.steps.map((metrics) => metrics['sample/run_count'])).toEqual(
      Array.from({ length: 6 }, () => 16),
    );
    const rates = trained.steps.map((metrics) => metrics['actor/lr']!);
    expect(rates).toEqual(rates.toSorted((a, b) => b - a));
    expect(rates.at(-2)).toBeGreaterThan(0);
    expect(rates.at(-1)).toBeCloseTo(0, 12);
    expect(trained.output).not.toContain('sample/staleness');
  });

  it('stays within the age that it announces, where an explore step makes several train steps', async () => {
    const cut = await train('cut', { buffer: { train_batch_size: 6 } });
    expect(cut.output).toContain('sample/staleness then reaches 2, and no more');
    expect(staleness(cut)).toEqual(Array.from({ length: 6 }, () => [0, 1, 2]).flat());
    const runs = cut.steps.map((metrics) => metrics['sample/run_count']!);
    expect(runs.slice(0, 3)).toEqual([6, 5, 5]);
  });

  it('counts calls as the original does where the file says so, and ages no more than one explore step', async () => {
    const calls = await train('calls', {
      algorithm: { optimizer: { lr_scheduler_type: 'constant' } },
      buffer: { train_batch_size: 16, train_batch_unit: 'experiences' },
    });
    expect(calls.output).toContain('experiences are counted, one for each call of the model');
    // An explore step has 40 calls, which make 2 or 3 batches of 16.
    expect(calls.steps).toHaveLength(15);
    expect(Math.max(...staleness(calls))).toBeLessThanOrEqual(3);
  });
});
