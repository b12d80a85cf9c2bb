/** A real TuFT server that trains over a bfloat16 model, and one over its float32 twin. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLogger } from '@trinity-rft/core';
import type { Engine } from '@trinity-rft/core/engine';
import { createOnnxEngine } from '@trinity-rft/engine-onnx';
import { createTinkerEngine, type TinkerEngineOptions } from '@trinity-rft/tinker';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { run } from '../src/run/run.js';
import { lengths, taughtModel, writeRun } from './support/addition.js';
import { adapterGradient, proportionalStep, readAdapter } from './support/adapter-gradient.js';
import { halfPrecision } from './support/half-precision.js';
import { batch, difference, gradients, learn, logprobsOf } from './support/server-batch.js';
import { findTuft, startTuft, tuftKey, type StartedTuft } from './support/tuft.js';

const root = path.join(tmpdir(), `tuft-${process.pid}`);
beforeAll(() => void mkdirSync(root, { recursive: true }));
const at = (...names: readonly string[]): string => path.join(root, ...names);
let models: Readonly<Record<'float32' | 'bfloat16', string>>;
let start: (port?: number) => Promise<StartedTuft>;
let server: StartedTuft;
let python = '';
let missing = '';

beforeAll(async () => {
  const found = await findTuft();
  if ('missing' in found) {
    ({ missing } = found);
    return;
  }
  ({ python } = found);
  const float32 = await taughtModel(root);
  models = { float32, bfloat16: halfPrecision(float32, at('bfloat16')) };
  mkdirSync(at('server'));
  start = (port) => startTuft({ python, models, directory: at('server'), port });
  server = await start();
}, 2_400_000);
afterAll(async () => {
  await server?.stop();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});
beforeEach(({ skip }) => skip(missing !== '', missing));

type Name = keyof typeof models;

async function withEngine<T>(
  name: Name,
  work: (engine: Engine, said: readonly string[]) => Promise<T>,
  options: Partial<TinkerEngineOptions> = {},
): Promise<T> {
  const said: string[] = [];
  const engine = await createTinkerEngine({
    modelPath: models[name],
    baseModel: name,
    baseUrl: server.url,
    apiKey: tuftKey,
    rank: 4,
    seed: 3,
    samples: false,
    trainUnembed: false,
    logger: { ...silentLogger, debug: (text) => said.push(text), info: (text) => said.push(text) },
    ...options,
  });
  try {
    return await work(engine, said);
  } finally {
    await engine.close();
  }
}

/**
 * Cosine similarity between the gradients of an adapter on the server and on the embedded engine.
 */
async function compareGradients(name: Name): Promise<number> {
  const folder = (part: string): string => at(name, part);
  mkdirSync(at(name), { recursive: true });
  const gather = async ({ trainer }: Engine): Promise<void> => {
    const pass = await trainer.forward(batch);
    await trainer.backward(pass, { logprobs: gradients });
  };
  const there = await withEngine(name, async (engine) => {
    await learn(engine, 2);
    await engine.trainer.save(folder('before'), { optimizer: false });
    await gather(engine);
    return adapterGradient(engine.trainer, folder('before'), folder('after'));
  });
  const lora = { path: path.join(folder('before'), 'lora_adapter') };
  const local = await createOnnxEngine({ modelPath: models.float32, lora, threads: 1 });
  try {
    await gather(local);
    const here = await adapterGradient(local.trainer, folder('before'), folder('here'));
    return cosine(there, here);
  } finally {
    await local.close();
  }
}

type Tensors = ReadonlyMap<string, Float32Array>;
function cosine(a: Tensors, b: Tensors): number {
  const [sums, names] = [[0, 0, 0], [...a.keys()]];
  expect(names.toSorted()).toEqual([...b.keys()].toSorted());
  for (const name of names)
    for (const [i, x] of a.get(name)!.entries()) {
      const y = b.get(name)![i]!;
      for (const [k, value] of [x * y, x * x, y * y].entries()) sums[k]! += value;
    }
  return sums[0]! / Math.sqrt(sums[1]! * sums[2]!);
}

const dtypes = `
import json, sys, torch
from safetensors.torch import load_file
adapter = load_file(sys.argv[1] + "/adapter/adapter_model.safetensors")
state = torch.load(sys.argv[1] + "/optimizer/optimizer.pt", map_location="cpu")
state = state.get("state", state)
moments = {str(v.dtype) for one in state.values() for k, v in one.items() if k.startswith("exp_avg")}
print(json.dumps([sorted({str(v.dtype) for v in adapter.values()}), sorted(moments)]))
`;

/** One update of a fresh AdamW, by torch and PEFT over the float32 model. */
const torchStep = `
import json, sys, torch
from peft import PeftModel
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM
folder, before, rows, out = sys.argv[1:]
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
model = PeftModel.from_pretrained(model, before, is_trainable=True)
named = {name: each for name, each in model.named_parameters() if each.requires_grad}
loss = 0
for tokens, prompt, gradients in json.load(open(rows)):
    logits = model(torch.tensor([tokens])).logits[0].log_softmax(-1)
    for i, gradient in enumerate(gradients):
        loss = loss + gradient * logits[prompt + i - 1, tokens[prompt + i]]
loss.backward()
torch.optim.AdamW(named.values(), lr=1e-5, betas=(0.9, 0.999), eps=1e-8, weight_decay=0).step()
save_file({name.replace(".default", ""): each.detach() for name, each in named.items()}, out)
`;

/** Largest |a - b| of adapters with the same tensors. */
function apart(a: Tensors, b: Tensors): number {
  expect([...a.keys()].toSorted()).toEqual([...b.keys()].toSorted());
  return Math.max(...[...a].map(([name, values]) => difference([...values], [...b.get(name)!])));
}

describe('TuFT 0.2.2', { tags: ['external'], timeout: 600_000 }, () => {
  it('keeps adapters and moments of a bfloat16 model in float32', () =>
    withEngine('bfloat16', async (engine, said) => {
      expect(said.join('\n')).toMatch(/Small steps move (?:100\.0|99\.\d) % of a Tinker adapter/);
      await learn(engine, 2);
      await engine.trainer.save(at('checkpoint'), { optimizer: true });
      const saved = readdirSync(at('server', 'saved'), { recursive: true })
        .map(String)
        .find((name) => name.includes('step-2') && name.endsWith('optimizer.pt'));
      const folder = at('server', 'saved', path.dirname(path.dirname(saved ?? '')));
      const found = execFileSync(python, ['-c', dtypes, folder], {
        encoding: 'utf8',
        timeout: 120_000,
        killSignal: 'SIGKILL',
      });
      expect(JSON.parse(found)).toEqual([['torch.float32'], ['torch.float32']]);
    }));

  it('has the gradients of the embedded engine', async () => {
    expect(await compareGradients('float32')).toBeGreaterThan(0.9999);
    expect(await compareGradients('bfloat16')).toBeGreaterThan(0.99);
  });

  it('makes the AdamW step of torch', async () => {
    await withEngine('float32', async ({ trainer }) => {
      await trainer.save(at('fresh'), { optimizer: false });
      const pass = await trainer.forward(batch);
      await trainer.backward(pass, { logprobs: gradients });
      await trainer.step({ learningRate: 1e-5, weightDecay: 0, clipGradNorm: 0 });
      await trainer.save(at('stepped'), { optimizer: false });
    });
    let from = 0;
    const rows = batch.rows.map(({ tokens, promptLength }) => {
      const own = gradients.slice(from, (from += tokens.length - promptLength));
      return [[...tokens], promptLength, [...own]];
    });
    writeFileSync(at('rows.json'), JSON.stringify(rows));
    const folder = at('torch', 'lora_adapter');
    mkdirSync(folder, { recursive: true });
    const files = [
      at('fresh', 'lora_adapter'),
      at('rows.json'),
      path.join(folder, 'adapter_model.safetensors'),
    ];
    execFileSync(python, ['-c', torchStep, models.float32, ...files], {
      stdio: 'pipe',
      timeout: 120_000,
      killSignal: 'SIGKILL',
    });
    const [before, there, here] = [at('fresh'), at('stepped'), at('torch')].map(readAdapter);
    // A fresh AdamW moves what has a gradient by its learning rate.
    expect(apart(before!, here!)).toBeGreaterThan(0.9e-5);
    expect(apart(there!, here!)).toBeLessThan(1e-8);
  });

  it('may be killed and started again while a run trains on it: the run goes on by itself', async () => {
    const tinker = { server: 'tuft', base_url: server.url, base_model: 'bfloat16', rank: 4 };
    const experience_buffer = {
      name: 'answers',
      storage_type: 'file',
      path: 'sft.jsonl',
      format: { prompt_type: 'plaintext', prompt_key: 'question', response_key: 'answer' },
    };
    const said: string[] = [];
    const configPath = writeRun({
      root,
      name: 'restarted',
      changes: {
        mode: 'train',
        model: {
          model_path: models.bfloat16,
          ...lengths,
          tinker: { ...tinker, train_unembed: false },
        },
        algorithm: { algorithm_type: 'sft', optimizer: { lr: 1e-3, weight_decay: 0 } },
        buffer: { train_batch_size: 16, total_steps: 40, trainer_input: { experience_buffer } },
        trainer: { trainer_type: 'tinker', save_interval: 5 },
      },
    });
    const restarting = (async () => {
      await expect.poll(() => said.join(''), { timeout: 120_000 }).toMatch(/step 1\d/);
      await server.stop();
      server = await start(server.port);
    })();
    const terminal = {
      write: (text: string) => void said.push(text),
      isTTY: false,
      columns: () => 80,
    };
    const before = process.env['TINKER_API_KEY'];
    process.env['TINKER_API_KEY'] = tuftKey;
    try {
      const { trainStep } = await run({ configPath, cwd: root, terminal });
      await restarting;
      expect(trainStep).toBe(40);
    } finally {
      if (before === undefined) delete process.env['TINKER_API_KEY'];
      else process.env['TINKER_API_KEY'] = before;
    }
    expect(said.join('')).toContain('The run goes on by itself, from its last checkpoint.');
  });

  it('keeps the reference in an adapter that is not trained', () =>
    withEngine(
      'float32',
      async (engine) => {
        const base = await createOnnxEngine({ modelPath: models.float32, threads: 1 });
        const expected = await logprobsOf(base);
        await base.close();
        const reference = async () => [
          ...(await engine.trainer.forward(batch, { weights: 'reference' })).logprobs,
        ];
        expect(difference(await reference(), expected)).toBeLessThan(1e-4);
        await learn(engine, 3);
        expect(difference(await logprobsOf(engine), expected)).toBeGreaterThan(0.1);
        expect(difference(await reference(), expected)).toBeLessThan(1e-4);
      },
      { reference: true },
    ));

  it('continues from a checkpoint after it was killed, with the moments', async () => {
    const before = await withEngine('bfloat16', async (engine) => {
      await learn(engine, 3);
      await engine.trainer.save(at('kept'), { optimizer: true });
      return logprobsOf(engine);
    });
    await server.stop();
    server = await start(server.port);
    await withEngine('bfloat16', async (engine) => {
      await engine.trainer.load(at('kept'));
      expect(difference(await logprobsOf(engine), before)).toBeLessThan(1e-6);
      const pass = await engine.trainer.forward(batch);
      await engine.trainer.backward(pass, { logprobs: gradients });
      expect((await engine.trainer.step({ ...proportionalStep, learningRate: 0 })).step).toBe(4);
    });
  });

  it('names a checkpoint that it has lost at once', async () => {
    await withEngine('bfloat16', (engine) => engine.trainer.save(at('lost'), { optimizer: true }));
    await server.stop();
    rmSync(at('server', 'state.json'), { force: true });
    server = await start(server.port);
    await withEngine('bfloat16', (engine) =>
      expect(engine.trainer.load(at('lost'))).rejects.toMatchObject({
        code: 'CHECKPOINT_LOST',
        message: expect.stringContaining('persistence: { mode: FILE }'),
      }),
    );
  });

  it('is refused where the run samples on it', async () => {
    await expect(withEngine('bfloat16', async () => undefined, { samples: true })).rejects.toThrow(
      'only trains bfloat16',
    );
  });
});
