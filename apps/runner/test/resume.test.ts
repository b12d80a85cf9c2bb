import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runHere } from './support/run-here.js';
import {
  checkpointSteps,
  criticDigest,
  metricLines,
  usedRows,
  weightsDigest,
} from './support/run-record.js';
import { killedTrinity, runArgs, type Ended, type KillPoint } from './support/trinity.js';
import {
  actorCritic,
  createWorkspace,
  evalTasksets,
  twoStages,
  type Tree,
  type Workspace,
} from './support/workspace.js';

const stages = ['warmup', 'grpo'] as const;

/**
 * Results of a run that must not depend on where it was killed: all except times and the order of lines across roles.
 */
function recordOf({ root }: Workspace, name: string) {
  const job = path.join(root, 'runs/tests', name);
  return {
    stages: stages.map((stage) => {
      const lines = metricLines(path.join(job, stage));
      return {
        digest: weightsDigest(path.join(job, stage)),
        critic: criticDigest(path.join(job, stage)),
        checkpoints: checkpointSteps(path.join(job, stage)),
        explorer: lines.filter(({ role }) => role === 'explorer'),
        trainer: lines.filter(({ role }) => role === 'trainer'),
        previews: ['rollouts', 'samples'].map((preview) => previewOf(job, stage, preview)),
      };
    }),
    rows: usedRows(path.join(job, 'grpo/buffer/experience_buffer.db')),
  };
}

function previewOf(job: string, stage: string, name: string): string {
  const file = path.join(job, stage, 'monitor', `${name}.jsonl`);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

const at = (
  call: KillPoint['call'],
  match: string,
  nth = 1,
  when: KillPoint['when'] = 'before',
): KillPoint => ({ call, match, nth, when });

/** Warm-up and GRPO, with evaluations at the start, during the run and at the end. */
const base: readonly Tree[] = [
  evalTasksets,
  twoStages,
  { trainer: { save_interval: 3 }, explorer: { eval_on_startup: true, eval_interval: 2 } },
];

/**
 * Points at which the run is killed. The commits of the second stage are the roll-back at its start
 * and, for each step, storing the experiences, recording that a due evaluation was made, and marking
 * the experiences as used.
 */
const everywhere: readonly (readonly [where: string, point: KillPoint])[] = [
  ['before anything was trained', at('append', 'warmup/monitor/metrics.jsonl')],
  ['between a supervised step and its record', at('append', 'warmup/monitor/metrics.jsonl', 5)],
  ['while a checkpoint is written', at('writeFile', 'warmup/global_step_3.tmp/manifest.json')],
  ['when a checkpoint is complete but not in place', at('rename', 'warmup/global_step_6.tmp ')],
  ['between the stages', at('rename', 'stage_meta.json', 3)],
  ['after the first evaluation', at('append', 'grpo/monitor/metrics.jsonl', 1, 'after')],
  ['after the rollouts of an explore step, before they are stored', at('commit', '', 4)],
  ['when an evaluation is due', at('commit', '', 4, 'after')],
  ['between the line of an evaluation and its record', at('commit', '', 5)],
  ['when an explore step has been stored', at('commit', '', 7, 'after')],
  ['between the two lines of a preview', at('append', 'grpo/monitor/rollouts.jsonl', 4)],
  ['between an optimizer step and using its experiences up', at('commit', '', 8)],
  [
    'when a train step has used its experiences up, before its record',
    at('commit', '', 11, 'after'),
  ],
  [
    'while a checkpoint of the second stage is written',
    at('writeFile', 'grpo/global_step_6.tmp/manifest.json'),
  ],
  [
    'when the last checkpoint has been taken away to be replaced',
    at('rename', 'grpo/global_step_6.tmp ', 2),
  ],
  [
    'when everything is trained, before the last evaluation',
    at('rename', 'latest_checkpointed_iteration.txt', 6, 'after'),
  ],
  ['when all is done but said so', at('rename', 'stage_meta.json', 4)],
];

const farApart: typeof everywhere = [
  ['when the first of three explore steps has been stored', at('commit', '', 2, 'after')],
  ['in the middle of the interval', at('commit', '', 8)],
  ['at a train step between two publications', at('append', 'grpo/monitor/metrics.jsonl', 9)],
  ['late', at('commit', '', 16, 'after')],
];

const unaligned: typeof everywhere = [
  [
    'when the explorer waits for weights of which only older ones are saved',
    at('rename', 'grpo/global_step_6.tmp '),
  ],
  [
    'when the weights that the explorer waits for are saved',
    at('rename', 'grpo/global_step_6.tmp ', 1, 'after'),
  ],
];

const starving: typeof everywhere = [
  ['when the trainer has too little for a step', at('commit', '', 5, 'after')],
  ['after an explore step without one good run', at('commit', '', 9, 'after')],
  ['before the last train step', at('commit', '', 14)],
];

const withCritic: typeof everywhere = [
  ['between an optimizer step and using its experiences up', at('commit', '', 13)],
  [
    'when the critic has been written and the coefficient has not',
    at('writeFile', 'grpo/global_step_3.tmp/trainer_state.json'),
  ],
  [
    'when everything is trained, before the last evaluation',
    at('rename', 'latest_checkpointed_iteration.txt', 6, 'after'),
  ],
];
/**
 * Stages of which the second keeps its name, but trains with a critic and an adaptive KL penalty.
 */
const ppoStage: Tree = {
  stages: (twoStages['stages'] as readonly Tree[]).map((stage) =>
    stage['mode'] === 'both' ? { ...stage, algorithm: actorCritic } : stage,
  ),
};

interface Kind {
  readonly what: string;
  readonly over: Tree;
  /** Kill points in the order in which the run reaches them. */
  readonly points: typeof everywhere;
  /** Number of experiences of each train step. */
  readonly trainSteps: readonly number[];
}

const steps = (count: number, experiences: number): readonly number[] =>
  Array.from({ length: count }, () => experiences);

const kinds: readonly Kind[] = [
  {
    what: 'whose explorer and trainer go in step',
    over: {},
    points: everywhere,
    trainSteps: steps(6, 16),
  },
  {
    what: 'whose explorer goes two steps at a time, one ahead, with two batches in each,',
    over: {
      synchronizer: { sync_interval: 2, sync_offset: 1 },
      buffer: { train_batch_size: 8 },
      trainer: { max_checkpoints_to_keep: 1 },
    },
    points: farApart,
    trainSteps: steps(12, 8),
  },
  {
    what: 'that saves and publishes at different steps',
    over: {
      synchronizer: { sync_interval: 3 },
      buffer: { total_steps: 9 },
      trainer: { save_interval: 2 },
    },
    points: unaligned,
    trainSteps: steps(9, 16),
  },
  {
    what: 'of whose explore steps the fourth fails and others fail in part',
    over: { buffer: { explorer_input: { default_workflow_type: 'moody' } } },
    points: starving,
    trainSteps: [16, 8, 16, 16, 8],
  },
  {
    what: 'whose agent makes three calls, with an uneven number of calls in each train step,',
    over: {
      synchronizer: { sync_interval: 2, sync_offset: 1 },
      buffer: {
        train_batch_size: 40,
        train_batch_unit: 'experiences',
        total_steps: 5,
        explorer_input: { default_workflow_type: 'chatty' },
      },
      trainer: { max_checkpoints_to_keep: 1 },
    },
    points: farApart,
    trainSteps: steps(6, 40),
  },
  {
    what: 'with a critic and an adaptive penalty',
    over: ppoStage,
    points: withCritic,
    trainSteps: steps(6, 16),
  },
];

describe.each(kinds)(
  'a run $what, killed and started again,',
  { tags: ['slow'] },
  ({ over, points, trainSteps }) => {
    let workspace: Workspace;
    let whole: ReturnType<typeof recordOf>;
    let killed: Ended;
    const copyAt = (where: string): string =>
      path.join(workspace.root, `killed ${where.replaceAll(/\W+/g, ' ')}`);
    const killedFolder = (): string => path.join(workspace.root, 'runs/tests/killed');
    beforeAll(async () => {
      workspace = await createWorkspace();
      await runHere(workspace, workspace.config('whole.yaml', ...base, over, { name: 'whole' }));
      whole = recordOf(workspace, 'whole');
    });

    it('is killed at the last place, without a word', () => {
      expect([killed.signal, killed.stderr]).toEqual(['SIGKILL', '']);
    });

    it('uses every experience exactly once', () => {
      const used = trainSteps.flatMap((count, i) => Array.from({ length: count }, () => i + 1));
      expect(new Set(whole.rows.map(({ uid }) => uid)).size).toBe(used.length);
      expect(whole.rows.map(({ trainStep }) => trainStep)).toEqual(used);
    });

    /** One process passes all points; its folder is copied at each, and it is killed at the last one. */
    beforeAll(async () => {
      const config = workspace.config('killed.yaml', ...base, over, { name: 'killed' });
      const from = killedFolder();
      const passed = points
        .slice(0, -1)
        .map(([where, point]) => ({ ...point, copy: { from, to: copyAt(where) } }));
      const [last, point] = points.at(-1)!;
      killed = await killedTrinity(workspace.root, runArgs(config), [...passed, point]);
      cpSync(from, copyAt(last), { recursive: true });
    });

    it.each(points)('ends as if it had not been: %s', async (where) => {
      rmSync(killedFolder(), { recursive: true });
      cpSync(copyAt(where), killedFolder(), { recursive: true });
      const config = path.join(workspace.root, 'killed.yaml');
      expect((await runHere(workspace, config)).error).toBeUndefined();
      expect(recordOf(workspace, 'killed')).toEqual(whole);
    });
  },
);
