/**
 * `pnpm bench diagnosis [NAME...]`: trains the quickstart, then the same model with one fault at a
 * time, and prints the diagnosis of `trinity doctor` for each run.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { diagnoseRun } from '../packages/inspect/src/index.ts';
import { run, type RunOptions } from '../packages/launcher/src/index.ts';
import { prepare } from '../examples/quickstart/src/prepare.ts';
import { mergeTrees, type Tree } from '../packages/core/src/support.ts';
import { sickRuns, type SickRun } from './diagnosis/sick-runs.ts';

const wanted = process.argv.slice(2);
const root = mkdtempSync(path.join(tmpdir(), 'trinity-diagnosis-'));
const data = path.join(root, 'data');
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };

const format = { prompt_key: 'question', response_key: 'answer' };
const file = (name: string): string => path.join(data, name);
const base: Tree = {
  project: 'diagnosis',
  checkpoint_root_dir: path.join(root, 'runs'),
  seed: 42,
  model: { model_path: file('model'), max_prompt_tokens: 16, max_response_tokens: 6 },
  algorithm: {
    algorithm_type: 'grpo',
    repeat_times: 8,
    optimizer: { lr: 1.5e-3, lr_warmup_steps: 5, betas: [0.9, 0.95], weight_decay: 0 },
    kl_loss_fn: 'none',
  },
  buffer: {
    batch_size: 32,
    total_steps: 20,
    explorer_input: {
      taskset: { name: 'addition', path: file('tasks.jsonl'), format },
      default_workflow_type: 'simple_workflow',
      default_reward_fn_type: 'exact_match_reward',
    },
  },
  explorer: { runner_per_model: 32, max_retry_times: 0, eval_on_startup: false, eval_interval: 0 },
  monitor: { monitor_type: [] },
};

const warmup: Tree = {
  name: 'warmup',
  mode: 'train',
  algorithm: { algorithm_type: 'sft', optimizer: { lr: 6e-3, lr_warmup_steps: 30 } },
  buffer: {
    train_batch_size: 128,
    total_steps: 400,
    trainer_input: {
      experience_buffer: {
        name: 'worked_examples',
        storage_type: 'file',
        path: file('sft.jsonl'),
        format: { ...format, prompt_type: 'plaintext' },
        data_selector: { selector_type: 'shuffle' },
      },
    },
  },
};

async function train(
  name: string,
  tree: Tree,
  extensions: Pick<RunOptions, 'workflows' | 'rewardFns'> = {},
): Promise<string> {
  const configPath = path.join(root, `${name}.yaml`);
  writeFileSync(configPath, JSON.stringify(mergeTrees(mergeTrees(base, { name }), tree)));
  await run({ configPath, terminal, env: {}, ...extensions }).catch((error: Error) =>
    say(`  ${name} ended: ${error.message.slice(0, 150)}`),
  );
  return path.join(root, 'runs', 'diagnosis', name);
}

async function namesOf(folder: string): Promise<readonly string[]> {
  const { stages } = await diagnoseRun(folder);
  return stages.flatMap(({ findings }) => findings.map(({ name }) => name));
}

async function trySick(name: string, sick: SickRun): Promise<boolean> {
  const { tree, workflows, rewardFns } = sick(file);
  const folder = await train(name, mergeTrees({ model: { model_path: trained } }, tree), {
    workflows,
    rewardFns,
  });
  const names = await namesOf(folder);
  const isNamed = names.includes(name);
  say(`${isNamed ? 'named ' : 'MISSED'} ${name.padEnd(24)} ${names.join(', ')}`);
  return isNamed;
}

await prepare(data, 42);
const trained = path.join(await train('warmup', warmup), 'global_step_400');
const healthy = await train('healthy', {
  model: { model_path: trained },
  buffer: { total_steps: 60 },
});
const blamed = await namesOf(healthy);
say(`healthy: ${blamed.length === 0 ? 'nothing found' : blamed.join(', ')}`);
const chosen = Object.entries(sickRuns).filter(
  ([name]) => wanted.length === 0 || wanted.includes(name),
);
let named = 0;
for (const [name, sick] of chosen) if (await trySick(name, sick)) named++;
say(`${named} of ${chosen.length} sick runs named`);
if (named < chosen.length || blamed.length > 0) process.exitCode = 1;
rmSync(root, { recursive: true, force: true });
