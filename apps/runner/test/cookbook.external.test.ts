/** Runs unchanged recipes of the Tinker cookbook against `trinity serve --tinker`. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { installOnce } from '@trinity-rft/test-support';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTrinity, type Trinity } from './support/trinity.js';
import { createWorkspace, type Workspace } from './support/workspace.js';

const script = path.join(import.meta.dirname, 'external', 'cookbook_recipe.py');
const practice = path.join(import.meta.dirname, '../../../apps/create/templates/practice/model');
/** Model name by which recipes choose their renderer. */
const name = 'Qwen/Qwen3-8B';
/** Newest version that installs from PyPI alone; 0.6 needs a renderer that is not on PyPI. */
const cookbook = {
  name: 'tinker-cookbook-0.5.8',
  packages: ['tinker==0.38.0', 'tinker-cookbook==0.5.8', 'sympy', 'pylatexenc', 'math-verify'],
};

let workspace: Workspace;
let server: Trinity | undefined;
let program = '';
let missing = '';
let environment: NodeJS.ProcessEnv;

/** Puts the tokenizer into the cache of the hub's client. */
function fillCache(folder: string): string {
  const repository = path.join(folder, 'hub', `models--${name.replace('/', '--')}`);
  for (const part of ['refs', 'snapshots/local'])
    mkdirSync(path.join(repository, part), { recursive: true });
  writeFileSync(path.join(repository, 'refs/main'), 'local');
  for (const file of ['tokenizer.json', 'tokenizer_config.json', 'config.json'])
    cpSync(path.join(practice, file), path.join(repository, 'snapshots/local', file));
  return folder;
}

beforeAll(async () => {
  const found = await installOnce(cookbook);
  if ('missing' in found) {
    ({ missing } = found);
    return;
  }
  program = found.python;
  workspace = await createWorkspace();
  // The recipes' prompts exceed the context length of the practice model.
  const folder = path.join(workspace.root, 'longer');
  cpSync(practice, folder, { recursive: true });
  const file = path.join(folder, 'config.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...config, max_position_embeddings: 2048 }));
  const model = { model_path: folder, max_prompt_tokens: 900, max_response_tokens: 100 };
  const explorer = { rollout_model: { name } };
  const yaml = workspace.config('serve.yaml', { name: 'cookbook', mode: 'serve', model, explorer });
  server = startTrinity(workspace.root, ['serve', yaml, '--tinker', '--port', '0']);
  const { child, output, ended } = server;
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', () => {
      if (output().includes('Saved weights')) resolve();
    });
    void ended.then(() => reject(new Error(output())));
  });
  environment = {
    ...process.env,
    HF_HOME: fillCache(path.join(workspace.root, 'hf')),
    HF_HUB_OFFLINE: '1',
  };
  for (const key of ['TINKER_BASE_URL', 'TINKER_API_KEY'])
    environment[key] = new RegExp(`^${key}=(.*)$`, 'm').exec(output())?.[1] ?? '';
}, 1_200_000);
afterAll(async () => {
  server?.child.kill('SIGINT');
  await server?.ended;
});
beforeEach(({ skip }) => skip(missing !== '', missing));

const lines = (text: string): readonly Record<string, unknown>[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

async function play(module: string, settings: Readonly<Record<string, string | number>>) {
  const log = path.join(workspace.root, module.replaceAll('.', '-'));
  const given = { model_name: name, log_path: log, ...settings };
  const words = Object.entries(given).map(([key, value]) => `${key}=${value}`);
  const args = [script, `tinker_cookbook.recipes.${module}`, ...words];
  await promisify(execFile)(program, args, { env: environment, cwd: workspace.root });
  const read = (file: string) => lines(readFileSync(path.join(log, file), 'utf8'));
  return { metrics: read('metrics.jsonl'), checkpoints: read('checkpoints.jsonl') };
}

describe('the cookbook 0.5.8', { tags: ['external'], timeout: 600_000 }, () => {
  it('sl_loop lowers its loss, and saves with a lifetime', async () => {
    const settings = { batch_size: 32, learning_rate: 2e-3, save_every: 4, max_steps: 14 };
    const { metrics, checkpoints } = await play('sl_loop', settings);
    const losses = metrics.map((line) => Number(line['train_mean_nll']));
    expect(losses).toHaveLength(14);
    expect(losses.at(-1)).toBeLessThan(0.6 * (losses[0] ?? 0));
    expect(checkpoints.map((line) => line['name'])).toEqual([
      '000004',
      '000008',
      '000012',
      'final',
    ]);
  });

  it('rl_loop samples, trains and saves to its end', async () => {
    const settings = { batch_size: 8, group_size: 4, max_tokens: 24, save_every: 2, max_steps: 5 };
    const { metrics, checkpoints } = await play('rl_loop', settings);
    expect(metrics).toHaveLength(5);
    expect(checkpoints.map((line) => line['name'])).toEqual(['000002', '000004', 'final']);
  });

  it('math_rl raises the reward of arithmetic', async () => {
    const { metrics, checkpoints } = await play('math_rl.train', {
      env: 'arithmetic',
      ...{ groups_per_batch: 16, group_size: 4, learning_rate: 5e-4 },
      ...{ max_steps: 12, save_every: 4, eval_every: 0 },
    });
    const rewards = metrics.map((line) => Number(line['env/all/reward/total']));
    expect(rewards.at(-1)).toBeGreaterThan((rewards[0] ?? 0) + 0.05);
    expect(checkpoints.at(-1)).toMatchObject({ name: 'final', batch: 12 });
  });
});
