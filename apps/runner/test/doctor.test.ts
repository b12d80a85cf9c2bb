/** Tests the findings of the doctor on real runs with deliberate problems. */
import path from 'node:path';
import { whatIfRun, type StoreWhatIf } from '@trinity-rft/inspect';
import { beforeAll, describe, expect, it } from 'vitest';
import { mainHere } from './support/main-here.js';
import { runHere } from './support/run-here.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

const explorerInput = (over: Tree): Tree => ({ buffer: { explorer_input: over } });

const plugins = `
import { defineReward, defineWorkflow } from '@trinity-rft/workflow';
export const nothing = defineReward({ name: 'nothing', score: () => 0 });
export const fixed = {
  ...nothing,
  name: 'fixed',
  create: ({ value = -1 }: { value?: number }) => () => value,
};
export const throwing = defineWorkflow({
  name: 'throwing',
  run: async ({ task, model }) => {
    if (Number(task.taskId) % 2 === 1) throw new Error('on purpose');
    const [answer] = await model.chat([{ role: 'user', content: String(task.rawTask['question']) }]);
    return answer.responseText.length % 3;
  },
});
`;

const copies = (): string =>
  Array.from({ length: 40 }, () => '{"question":"1+1=","answer":"2"}\n').join('');

/** Changes to the base configuration, and the finding that each must cause. */
const sick: Readonly<Record<string, readonly [over: Tree, finding: string]>> = {
  unrewarded: [explorerInput({ default_reward_fn_type: 'nothing' }), 'reward-floor'],
  greedy: [{ model: { temperature: 0 } }, 'identical-answers'],
  cut: [{}, 'truncated-answers'],
  throwing: [explorerInput({ default_workflow_type: 'throwing' }), 'failing-runs'],
  copied: [
    explorerInput({
      tasksets: [
        {
          name: 'copies',
          path: 'copies.jsonl',
          format: { prompt_key: 'question', response_key: 'answer' },
        },
      ],
    }),
    'duplicated-tasks',
  ],
};

describe('trinity doctor and what-if', () => {
  let workspace: Workspace;
  const at = (name: string): string => path.join(workspace.root, 'runs', 'tests', name);
  beforeAll(async () => {
    workspace = await createWorkspace();
    workspace.write('plugins/sick.ts', plugins);
    workspace.write('copies.jsonl', copies());
  });

  it.each(Object.entries(sick))(
    'names what is wrong with a run: %s',
    async (name, [over, finding]) => {
      const file = workspace.config(`${name}.yaml`, { name, buffer: { total_steps: 4 } }, over);
      const { error } = await runHere(workspace, file);
      expect(error).toBeUndefined();
      const { exitCode, stdout } = await mainHere('doctor', at(name), '--json');
      expect(exitCode).toBe(1);
      const { stages } = JSON.parse(stdout) as { stages: { findings: { name: string }[] }[] };
      expect(stages.flatMap(({ findings }) => findings.map((each) => each.name))).toContain(
        finding,
      );
    },
  );

  it('tries another advantage on what was recorded, beside that of the run', async () => {
    const { exitCode, stdout } = await mainHere(
      'what-if',
      at('cut'),
      '--advantage',
      'rloo',
      '--json',
    );
    expect(exitCode).toBe(0);
    const [store] = JSON.parse(stdout) as StoreWhatIf[];
    expect(store).toMatchObject({ exploreSteps: 4, agreement: 1 });
    expect(store?.groups).toHaveLength(16);
    expect(store?.before.meanAbsAdvantage).not.toBe(store?.after.meanAbsAdvantage);
  });

  it('gives recorded answers the reward of their run again', async () => {
    const { root } = workspace;
    const change = { rewardFn: 'digits' };
    const options = { change, cwd: root, pluginDirs: ['plugins'], env: {} };
    const [store] = await whatIfRun('cut.yaml', options);
    expect(store?.after).toEqual(store?.before);
    expect(store?.after.meanReward).toBeGreaterThan(0);
    await expect(whatIfRun(at('cut'), options)).rejects.toThrow('Name the configuration');
  });

  it('gives a reward function the arguments that the configuration has for it', async () => {
    const tasksets = [
      {
        name: 'sums',
        path: 'tasks.jsonl',
        format: { prompt_key: 'question', response_key: 'answer' },
        reward_fn_args: { value: 0.25 },
      },
    ];
    const over = explorerInput({ tasksets, default_reward_fn_type: 'fixed' });
    workspace.config('fixed.yaml', { name: 'cut', buffer: { total_steps: 4 } }, over);
    const options = { cwd: workspace.root, pluginDirs: ['plugins'], env: {} };
    const [store] = await whatIfRun('fixed.yaml', { ...options, change: { rewardFn: 'fixed' } });
    expect(store?.after.meanReward).toBe(0.25);
  });

  it.each([
    [['doctor', 'nowhere'], 'There is no'],
    [['what-if', 'nowhere', '--loss', 'ppo'], 'there is no such file'],
    [['what-if', '.'], 'Nothing is changed'],
    [['what-if', '.', '--loss', 'ppo', '--drift', 'far'], '--drift is "far"'],
  ])('refuses %j', async (args, message) => {
    const { exitCode, stderr } = await mainHere(...args);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
  });
});
