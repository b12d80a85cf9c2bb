/** Runs with one fault each, keyed by the rule that should detect it. */
import { writeFileSync } from 'node:fs';
import type { RewardInput } from '../../packages/core/src/index.ts';
import type { RunOptions } from '../../packages/launcher/src/index.ts';
import {
  defineReward,
  defineWorkflow,
  type WorkflowContext,
  type WorkflowResult,
} from '../../packages/workflow/src/index.ts';
import type { Tree } from '../../packages/core/src/support.ts';

export interface Sickness extends Pick<RunOptions, 'workflows' | 'rewardFns'> {
  readonly tree: Tree;
}
/** Creates a run with one problem. `file` returns the path of the data file of a given name. */
export type SickRun = (file: (name: string) => string) => Sickness;

const reward =
  (score: Parameters<typeof defineReward>[0]['score'], more: Tree = {}): SickRun =>
  () => ({
    tree: { ...more, buffer: { explorer_input: { default_reward_fn_type: 'sick' } } },
    rewardFns: [defineReward({ name: 'sick', score })],
  });

type Run = (context: WorkflowContext) => Promise<WorkflowResult>;
const workflow =
  (run: Run, more: Tree = {}): SickRun =>
  () => ({
    tree: { ...more, buffer: { explorer_input: { default_workflow_type: 'sick' } } },
    workflows: [defineWorkflow({ name: 'sick', run })],
  });

const answer = async ({ task, model }: Parameters<Run>[0]): Promise<string> => {
  const [said] = await model.chat([{ role: 'user', content: String(task.rawTask['question']) }]);
  return said?.responseText ?? '';
};
const score = async (context: Parameters<Run>[0]): Promise<number> =>
  Number((await answer(context)) === context.task.rawTask['answer']);

const settings =
  (tree: Tree): SickRun =>
  () => ({ tree });

const tasks =
  (rows: readonly object[]): SickRun =>
  (file) => {
    writeFileSync(file('sick.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const format = { prompt_key: 'question', response_key: 'answer' };
    const taskset = { name: 'sick', path: file('sick.jsonl'), format };
    return { tree: { buffer: { explorer_input: { taskset } } } };
  };

const optimizer = (lr: number): Tree => ({ algorithm: { optimizer: { lr, lr_warmup_steps: 1 } } });

export const sickRuns: Readonly<Record<string, SickRun>> = {
  'reward-floor': reward(() => 0),
  'reward-ceiling': reward(() => 1),
  'no-variance': reward(({ prompt }) => Number((prompt ?? '').charCodeAt(0) % 2)),
  'reward-follows-length': reward(({ response }) => response.length / 12, {
    model: { max_response_tokens: 12, temperature: 3 },
  }),
  'reward-follows-format': reward(({ response }) => ({
    format_score: Number(/^\d{3}$/.test(response)) / 5,
    accuracy: 0,
  })),
  'identical-answers': settings({ model: { temperature: 0 } }),
  'truncated-answers': settings({ model: { max_response_tokens: 3 } }),
  'duplicated-tasks': tasks(
    Array.from({ length: 320 }, (_, i) => ({ question: `1${i % 8}+11=`, answer: `03${i % 8}` })),
  ),
  // Behaves like a reward service that breaks down.
  'reward-collapse': () => {
    let scored = 0;
    const score = ({ response, truth }: RewardInput): number =>
      ++scored > 12 * 32 * 8 ? 0 : Number(response === truth);
    return reward(score)(() => '');
  },
  'flat-reward': settings({ ...optimizer(1e-8), buffer: { total_steps: 50 } }),
  'stale-data': settings({
    synchronizer: { sync_style: 'fixed', sync_interval: 10 },
    buffer: { total_steps: 20 },
  }),
  'failing-runs': workflow(async (context) => {
    if (context.runtime.clock.now() % 5 === 0) throw new Error('on purpose');
    return score(context);
  }),
  timeouts: workflow(
    async (context) => {
      if (Number(context.task.taskId) % 8 === 0)
        await new Promise((resolve) => setTimeout(resolve, 60_000));
      return score(context);
    },
    { explorer: { max_timeout: 1 }, buffer: { total_steps: 4 } },
  ),
  'failing-tools': workflow(async (context) => ({
    reward: await score(context),
    metrics: { tool_calls: 2, tool_errors: 2 },
  })),
  'out-of-turns': workflow(async (context) => ({
    reward: await score(context),
    metrics: { out_of_turns: 1 },
  })),
  'judge-fails': workflow(async (context) => ({
    reward: await score(context),
    metrics: { judge_success: 0.2 },
  })),
  'empty-answers': workflow(async (context) => {
    const [said] = await context.model.chat([{ role: 'user', content: '1+1=' }], {
      maxTokens: 1,
      stop: ['0', '1'],
    } as never);
    return said?.responseText === '' ? 1 : 0;
  }),
};
