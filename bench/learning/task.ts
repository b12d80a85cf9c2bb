/** The task of the learning bench: the quickstart's addition, with a half-trained model per seed. */
import { cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from '../../packages/launcher/src/index.ts';
import { readCurve } from '../../packages/monitor/src/index.ts';
import { createRuntime } from '../../packages/core/src/index.ts';
import { prepare } from '../../examples/quickstart/src/prepare.ts';
import { splitProblems, withSlips } from '../../examples/quickstart/src/problems.ts';

type Tree = Readonly<Record<string, unknown>>;

/**
 * A folder with problems, a model trained on answers with mistakes, and a teacher trained on correct
 * ones.
 */
export interface Ground {
  readonly directory: string;
  readonly seed: number;
}

const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
const keys = { prompt_key: 'question', response_key: 'answer' };
export const supervisedFormat = { prompt_type: 'plaintext', ...keys };
export const adam = { betas: [0.9, 0.95], weight_decay: 0 };

/** Configuration that all stages share. Evaluation uses temperature 1, like training. */
const common = (name: string, seed: number): Tree => ({
  project: 'learning',
  name,
  seed,
  checkpoint_root_dir: 'runs',
  model: { model_path: 'model', max_prompt_tokens: 16, max_response_tokens: 6 },
  buffer: {
    batch_size: 64,
    explorer_input: {
      taskset: {
        name: 'addition',
        path: 'data/tasks.jsonl',
        format: keys,
        data_selector: { selector_type: 'shuffle' },
      },
      eval_tasksets: [
        { name: 'fresh', path: 'data/eval.jsonl', format: keys, rollout_args: { temperature: 1 } },
      ],
      default_workflow_type: 'simple_workflow',
      default_reward_fn_type: 'exact_match_reward',
    },
  },
  explorer: { runner_per_model: 64, eval_on_startup: true, eval_interval: 100_000 },
  synchronizer: { sync_method: 'memory', sync_style: 'fixed', sync_interval: 1 },
});

/** Creates data, the initial model and the teacher. */
export async function prepareGround(root: string, seed: number): Promise<Ground> {
  const directory = path.join(root, `seed-${seed}`);
  await prepare(path.join(directory, 'data'), seed);
  const { train } = splitProblems(createRuntime({ seed }).random('problems'), 512);
  const rows = (values: readonly object[]): string =>
    values.map((value) => `${JSON.stringify(value)}\n`).join('');
  const slips = withSlips(train, createRuntime({ seed }).random('wrong'), 1);
  const pairs = slips.map(({ question, answer: rejected }, i) => ({
    question,
    chosen: train[i]?.answer,
    rejected,
  }));
  await writeFile(path.join(directory, 'data/right.jsonl'), rows(train));
  await writeFile(
    path.join(directory, 'data/pairs.jsonl'),
    rows(pairs.filter(({ chosen, rejected }) => chosen !== rejected)),
  );
  const ground = { directory, seed };
  await cp(path.join(directory, 'data/model'), path.join(directory, 'model'), { recursive: true });
  const warm = await runStage(ground, 'warmup', supervised('data/sft.jsonl', 400));
  const teacher = await runStage(ground, 'teacher', supervised('data/right.jsonl', 400));
  await cp(teacher.checkpoint, path.join(directory, 'teacher'), { recursive: true });
  await cp(warm.checkpoint, path.join(directory, 'model'), { recursive: true, force: true });
  return ground;
}

const supervised = (file: string, steps: number): Tree => ({
  mode: 'train',
  algorithm: { algorithm_type: 'sft', optimizer: { lr: 6e-3, lr_warmup_steps: 30, ...adam } },
  buffer: {
    train_batch_size: 128,
    total_steps: steps,
    trainer_input: {
      experience_buffer: {
        name: 'worked',
        storage_type: 'file',
        path: file,
        format: supervisedFormat,
        data_selector: { selector_type: 'shuffle' },
      },
    },
  },
});

export interface StageRun {
  readonly jobDirectory: string;
  readonly checkpoint: string;
}

/** Runs one configuration, merged into the shared one. */
export async function runStage(
  { directory, seed }: Ground,
  name: string,
  stage: Tree,
  syncInterval = 1,
): Promise<StageRun> {
  const configPath = path.join(directory, `${name}.json`);
  await mkdir(directory, { recursive: true });
  await writeFile(
    configPath,
    JSON.stringify(
      merge(merge(common(name, seed), { synchronizer: { sync_interval: syncInterval } }), stage),
    ),
  );
  const { checkpoint } = await run({ configPath, cwd: directory, terminal });
  const jobDirectory = path.join(directory, 'runs', 'learning', name);
  return { jobDirectory, checkpoint: checkpoint ?? jobDirectory };
}

/** Share of correct answers of a model to new problems. */
export async function scoreOf(ground: Ground, name: string, modelPath: string): Promise<number> {
  const { jobDirectory } = await runStage(ground, name, {
    mode: 'bench',
    model: { model_path: modelPath },
  });
  const scores = await readCurve(path.join(jobDirectory, 'monitor', 'metrics.jsonl'), {
    role: 'bench',
    metric: 'bench/fresh/accuracy/mean@1',
  });
  return scores[0] ?? NaN;
}

function merge(base: Tree, over: Tree): Tree {
  const out: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = out[key];
    out[key] = isTree(below) && isTree(value) ? merge(below, value) : value;
  }
  return out;
}

const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
