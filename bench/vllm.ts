/**
 * `pnpm bench vllm [STEPS] [SERVERS]`: trains the task of the quickstart once with the embedded engine
 * alone, and once with real vLLM servers that sample during training. Installs vLLM for this machine's
 * processor into the cache.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { prepare } from '../examples/quickstart/src/prepare.ts';
import { createModel, run } from '../packages/launcher/src/index.ts';
import {
  findVllm,
  startVllm,
  vllmSizes,
  type StartedVllm,
} from '../packages/launcher/test/support/vllm.ts';
import { readCurve } from '../packages/monitor/src/index.ts';

const [steps = 40, serverCount = 1] = process.argv.slice(2).map(Number);
const seed = 42;
const root = mkdtempSync(path.join(tmpdir(), 'trinity-bench-vllm-'));
const data = path.join(root, 'runs', 'data');
const model = path.join(data, 'model');
const quickstart = path.resolve(import.meta.dirname, '../examples/quickstart/quickstart.yaml');

async function learn(name: string, servers: readonly StartedVllm[]): Promise<void> {
  const sampler = {
    engine_type: 'vllm',
    base_url: servers.map(({ url }) => url),
    dtype: 'float32',
  };
  const explorer = servers.length > 0 ? `\n  rollout_model: ${JSON.stringify(sampler)}` : '';
  const text = readFileSync(quickstart, 'utf8')
    .replace('name: quickstart', `name: ${name}`)
    .replace('batch_size: 64', 'batch_size: 32')
    .replace('total_steps: 120', `total_steps: ${steps}`)
    .replace('explorer:', `explorer:${explorer}`);
  const configPath = path.join(root, `${name}.yaml`);
  writeFileSync(configPath, text);
  const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
  const begun = performance.now();
  await run({ configPath, cwd: root, terminal });
  const seconds = (performance.now() - begun) / 1000;
  console.log(`${name}: ${await summary(name)}, in ${seconds.toFixed(0)} s`);
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

async function summary(name: string): Promise<string> {
  const file = path.join(root, 'runs', 'Trinity-RFT', name, 'grpo', 'monitor', 'metrics.jsonl');
  const rewards = await readCurve(file, { role: 'explorer', metric: 'rollout/reward/mean' });
  const accuracy = await readCurve(file, {
    role: 'explorer',
    metric: 'eval/fresh/accuracy/mean@1',
  });
  const differences = await readCurve(file, {
    role: 'trainer',
    metric: 'training/rollout_logprobs_diff_max',
  });
  return [
    `reward ${mean(rewards.slice(0, 5)).toFixed(3)} -> ${mean(rewards.slice(-10)).toFixed(3)}`,
    `accuracy ${accuracy[0]?.toFixed(3)} -> ${accuracy.at(-1)?.toFixed(3)}`,
    `log-probabilities of sampler and trainer differ by at most ${Math.max(...differences).toExponential(1)}`,
    `rewards ${rewards.map((value) => value.toFixed(2)).join(' ')}`,
  ].join('; ');
}

const found = await findVllm();
if ('missing' in found) {
  console.error(found.missing);
  process.exit(1);
}
const servers: StartedVllm[] = [];
try {
  mkdirSync(data, { recursive: true });
  await prepare(data, seed);
  rmSync(model, { recursive: true, force: true });
  await createModel({
    directory: model,
    tokenizer: { characters: '0123456789+=\n' },
    initializerRange: 0.2,
    seed,
    config: vllmSizes,
  });
  const shared = { python: found.python, modelPath: model, folder: root, tokenizer: false };
  const started = Array.from({ length: serverCount }, () =>
    startVllm({ ...shared, maxModelLen: 64 }),
  );
  await learn('embedded', []);
  servers.push(...(await Promise.all(started)));
  await learn('vllm', servers);
} finally {
  await Promise.all(servers.map((server) => server.stop()));
  rmSync(root, { recursive: true, force: true });
}
