/** Tests runs that train adapters: their checkpoints open in every command, and the runs resume and repeat exactly. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { loadModelFolder } from '@trinity-rft/engine-onnx';
import { debugWorkflow, verifyRun } from '@trinity-rft/inspect';
import { beforeAll, describe, expect, it } from 'vitest';
import { finishHere, runHere } from './support/run-here.js';
import { checkpointSteps, metricLines, weightsDigest } from './support/run-record.js';
import { killedTrinity, runArgs, type KillPoint } from './support/trinity.js';
import {
  createWorkspace,
  evalTasksets,
  twoStages,
  type Tree,
  type Workspace,
} from './support/workspace.js';

/**
 * Supervised warm-up of all weights, then GRPO of adapters, with the warmed-up model as reference.
 */
const adapters: Tree = {
  stages: (twoStages['stages'] as readonly Tree[]).map((stage) =>
    stage['stage_name'] === 'warmup'
      ? stage
      : {
          ...stage,
          model: {
            lora_configs: [
              { lora_rank: 4, lora_alpha: 8, target_modules: ['q_proj', 'v_proj', 'down_proj'] },
            ],
          },
          algorithm: {
            algorithm_type: 'grpo',
            kl_loss_fn: 'k2',
            kl_loss_fn_args: { kl_coef: 0.01 },
          },
        },
  ),
};
const base: readonly Tree[] = [evalTasksets, adapters, { trainer: { save_interval: 1 } }];

let workspace: Workspace;
let config: string;
const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);

function recordOf(name: string) {
  const folder = path.join(job(name), 'grpo');
  const newest = path.join(folder, `global_step_${checkpointSteps(folder).at(-1)}`, 'lora_adapter');
  return {
    lines: metricLines(folder).filter(({ role }) => role === 'trainer'),
    digest: weightsDigest(folder),
    files: ['adapter_model.safetensors', 'optimizer/moments.safetensors'].map((file) =>
      readFileSync(path.join(newest, file), 'base64'),
    ),
  };
}

/** Metrics of the evaluations of a run, by step, without times. */
function evaluations(
  prefix: 'eval' | 'bench',
  name = 'single',
): readonly (readonly [step: number, metrics: Record<string, number>])[] {
  return metricLines(job(name)).flatMap(({ step, metrics }) => {
    const found = Object.entries(metrics).filter(
      ([key]) => key.startsWith(`${prefix}/`) && !key.includes('time'),
    );
    return found.length === 0
      ? []
      : [
          [
            step,
            Object.fromEntries(found.map(([key, value]) => [key.slice(prefix.length + 1), value])),
          ] as const,
        ];
  });
}

const finish = async (name: string, ...over: readonly Tree[]): Promise<string> =>
  (await finishHere(workspace, name, ...base, ...over)).file;

beforeAll(async () => {
  workspace = await createWorkspace();
  config = await finish('whole');
}, 60_000);

describe('a run that trains adapters', () => {
  it('moves only the layers that have one, away from the model of the stage before', async () => {
    const [start, end] = [
      await loadModelFolder(path.join(job('whole'), 'warmup/global_step_8')),
      await loadModelFolder(path.join(job('whole'), 'grpo/global_step_6')),
    ];
    const changed = end.weights.filter((x, i) => x !== start.weights[i]).length;
    const { hiddenSize, intermediateSize, heads, kvHeads, headDim } = end.config;
    expect(changed).toBeLessThanOrEqual(
      hiddenSize * (heads + kvHeads) * headDim + hiddenSize * intermediateSize,
    );
    expect(changed).toBeGreaterThan(1000);
    const lines = recordOf('whole').lines.map(({ metrics }) => metrics);
    expect(lines.filter((metrics) => metrics['actor/grad_norm']! > 0).length).toBeGreaterThan(2);
    expect(lines.at(-1)!['actor/kl_loss']).toBeGreaterThan(0);
  });

  it('merges them into its last checkpoint alone, or where it is told to', async () => {
    const withWeights = (name: string): readonly boolean[] =>
      checkpointSteps(job(name)).map((step) =>
        existsSync(path.join(job(name), `global_step_${step}/model.safetensors`)),
      );
    const stage = path.join('whole', 'grpo');
    expect(withWeights(stage)).toEqual([false, false, false, false, false, true]);
    for (const name of ['always', 'never']) {
      const file = workspace.config(`${name}.yaml`, {
        name,
        model: { lora_configs: [{ lora_rank: 2 }] },
        buffer: { total_steps: 2 },
        trainer: { save_interval: 1, save_hf_checkpoint: name },
      });
      expect((await runHere(workspace, file)).error).toBeUndefined();
    }
    expect([withWeights('always'), withWeights('never')]).toEqual([
      [true, true],
      [false, false],
    ]);
  });

  it('names the model that its adapters belong to', () => {
    const folder = path.join(job('whole'), 'grpo/global_step_6/lora_adapter');
    const peft = JSON.parse(
      readFileSync(path.join(folder, 'adapter_config.json'), 'utf8'),
    ) as Record<string, unknown>;
    expect(peft).toMatchObject({
      r: 4,
      lora_alpha: 8,
      base_model_name_or_path: path.join(job('whole'), 'warmup/global_step_8'),
    });
  });

  it('is verified: every recorded token under the weights that sampled it', async () => {
    const verification = await verifyRun({ run: config, cwd: workspace.root, env: {} });
    expect(verification).toMatchObject({ ok: true, uncheckedTokens: 0 });
    expect(verification.largest).toBe(0);
  });

  it('is evaluated afterwards, by step, as it was on the way', async () => {
    const single: Tree = {
      model: { lora_configs: [{ lora_rank: 4, lora_alpha: 32 }] },
      trainer: { save_interval: 3 },
    };
    const run = (mode: string) => {
      const explorer = { eval_on_startup: true, eval_interval: 3 };
      return runHere(
        workspace,
        workspace.config('single.yaml', evalTasksets, single, { name: 'single', mode, explorer }),
      );
    };
    expect((await run('both')).error).toBeUndefined();
    const [first, last] = [evaluations('eval')[0]!, evaluations('eval').at(-1)!];
    expect((await run('bench')).error).toBeUndefined();
    const afterwards = new Map(evaluations('bench'));
    expect([...afterwards.keys()]).toEqual([0, 3, 6]);
    expect(afterwards.get(0)).toEqual(first[1]);
    expect(afterwards.get(6)).toEqual(last[1]);
    expect(first[1]).not.toEqual(last[1]);
  });

  it('goes on from the adapter of another run, which is then verified and evaluated with it', async () => {
    const from = 'runs/tests/whole/grpo/global_step_6/lora_adapter';
    const model = {
      model_path: 'runs/tests/whole/warmup/global_step_8',
      lora_configs: [{ path: from }],
    };
    const run = (mode: string) => {
      const explorer = { eval_on_startup: true, eval_interval: 0 };
      const over = {
        name: 'further',
        model,
        mode,
        explorer,
        buffer: { total_steps: 2 },
        trainer: { save_interval: 1 },
      };
      return workspace.config('further.yaml', evalTasksets, over);
    };
    const file = run('both');
    expect((await runHere(workspace, file)).error).toBeUndefined();
    const verification = await verifyRun({ run: file, cwd: workspace.root, env: {} });
    expect(verification).toMatchObject({ ok: true, uncheckedTokens: 0, largest: 0 });
    expect(verification.stores[0]!.versions.map(({ policyVersion }) => policyVersion)).toContain(0);
    expect((await runHere(workspace, run('bench'))).error).toBeUndefined();
    expect(evaluations('bench', 'further')[0]).toEqual(evaluations('eval', 'further')[0]);
    const logprobsOf = async (configPath: string, newestCheckpoint: boolean) => {
      const options = {
        configPath,
        newestCheckpoint,
        cwd: workspace.root,
        env: {},
        pluginDirs: ['plugins'],
      };
      return (await debugWorkflow(options)).experiences.map(({ logprobs }) => logprobs);
    };
    // The newest checkpoint has the adapter merged, so debugging with it must not apply the adapter
    // again.
    const merged = { model: { model_path: 'runs/tests/further/global_step_2' } };
    const debugged = await logprobsOf(run('both'), true);
    expect(debugged).toEqual(
      await logprobsOf(workspace.config('merged.yaml', evalTasksets, merged), false),
    );
    expect(debugged).not.toEqual(await logprobsOf(run('both'), false));
    const peft = path.join(job('further'), 'global_step_2/lora_adapter/adapter_config.json');
    const base_model_name_or_path = path.join(job('whole'), 'warmup/global_step_8');
    expect(JSON.parse(readFileSync(peft, 'utf8'))).toMatchObject({
      r: 4,
      lora_alpha: 8,
      base_model_name_or_path,
    });
  });

  it('may do so in every stage, each on what the one before has made, also beside a critic', async () => {
    const model = {
      model_path: 'model',
      threads: 1,
      lora_configs: [{ lora_rank: 2, lora_alpha: 8, exclude_modules: 'o_proj' }],
    };
    const stages = (twoStages['stages'] as readonly Tree[]).map((stage) =>
      stage['stage_name'] === 'warmup'
        ? stage
        : { ...stage, algorithm: { algorithm_type: 'ppo', repeat_times: 4 } },
    );
    await finish('stages', { model, stages });
    const folders = ['warmup/global_step_8', 'grpo/global_step_6'].map((folder) =>
      path.join(job('stages'), folder),
    );
    const bases = folders.map((folder) => {
      const text = readFileSync(path.join(folder, 'lora_adapter/adapter_config.json'), 'utf8');
      return (JSON.parse(text) as { readonly base_model_name_or_path: string })
        .base_model_name_or_path;
    });
    expect(bases).toEqual([path.join(workspace.root, 'model'), folders[0]]);
    const weights = await Promise.all(
      [...bases, folders[1]!].map(async (folder) => (await loadModelFolder(folder)).weights),
    );
    const changed = weights
      .slice(1)
      .map((after, i) => after.filter((x, at) => x !== weights[i]![at]).length > 1000);
    expect(changed).toEqual([true, true]);
  });

  it('continues the adapter of the previous stage if the weights are quantised', async () => {
    const model = { lora_configs: [{ lora_rank: 4, lora_alpha: 8 }], quantization: 'int8' };
    const stages = (adapters['stages'] as readonly Tree[]).map((stage) => ({
      ...stage,
      model: {},
    }));
    const explorer = { eval_on_startup: true, eval_interval: 0 };
    const file = await finish('beside', { model, stages, explorer });
    const folder = (step: string) => path.join(job('beside'), step, 'lora_adapter');
    const [first, last] = [folder('warmup/global_step_8'), folder('grpo/global_step_6')].map(
      (place) => readFileSync(path.join(place, 'adapter_model.safetensors'), 'base64'),
    );
    expect(last).not.toBe(first);
    const peft = readFileSync(
      path.join(folder('grpo/global_step_6'), 'adapter_config.json'),
      'utf8',
    );
    const below = { base_model_name_or_path: path.join(workspace.root, 'model') };
    expect(JSON.parse(peft)).toMatchObject(below);
    // The reference is the model after the first stage.
    const lines = metricLines(path.join(job('beside'), 'grpo'));
    const kl = lines.flatMap(({ metrics }) => metrics['actor/kl_loss'] ?? []);
    expect([kl[0], kl.at(-1)! > 0]).toEqual([0, true]);
    const verification = await verifyRun({ run: file, cwd: workspace.root, env: {} });
    expect(verification).toMatchObject({ ok: true, uncheckedTokens: 0, largest: 0 });

    // Another run continues the adapter as well.
    const name = 'from a checkpoint';
    const other = workspace.config(`${name}.yaml`, evalTasksets, {
      name,
      model: {
        ...model,
        quantization: undefined,
        model_path: path.dirname(folder('grpo/global_step_6')),
      },
      buffer: { total_steps: 2 },
      trainer: { save_interval: 1 },
    });
    expect((await runHere(workspace, other)).error).toBeUndefined();
    const again = await verifyRun({ run: other, cwd: workspace.root, env: {} });
    expect(again).toMatchObject({ ok: true, uncheckedTokens: 0, largest: 0 });
    const own = path.join(job(name), 'global_step_2/lora_adapter/adapter_config.json');
    expect(JSON.parse(readFileSync(own, 'utf8'))).toMatchObject(below);
  });

  it('has equal bytes in two runs', async () => {
    await finish('again');
    const [one, two] = [recordOf('whole'), recordOf('again')];
    expect(two).toEqual(one);
  });

  it('publishes through checkpoints as it does through memory', async () => {
    await finish('folders', { synchronizer: { sync_method: 'checkpoint' } });
    expect(recordOf('folders')).toEqual(recordOf('whole'));
  });

  const points: readonly (readonly [string, KillPoint])[] = [
    [
      'between an optimizer step and using its experiences up',
      { call: 'commit', match: '', nth: 7, when: 'before' },
    ],
    [
      'while a checkpoint is written',
      { call: 'writeFile', match: 'grpo/global_step_5.tmp/manifest.json', nth: 1, when: 'before' },
    ],
  ];
  it.each(points)(
    'ends as if it had not been killed: %s',
    { tags: ['slow'], timeout: 240_000 },
    async (where, point) => {
      const name = `killed ${where.replaceAll(/\W+/g, ' ')}`;
      const file = workspace.config(`${name}.yaml`, ...base, { name });
      const killed = await killedTrinity(workspace.root, runArgs(file), point);
      expect([killed.signal, killed.stderr]).toEqual(['SIGKILL', '']);
      expect((await runHere(workspace, file)).error).toBeUndefined();
      expect(recordOf(name)).toEqual(recordOf('whole'));
    },
  );
});

it('refuses to go on with adapters of another rank', async () => {
  const changed = {
    stages: (adapters['stages'] as readonly Tree[]).map((stage) =>
      stage['stage_name'] === 'warmup'
        ? stage
        : { ...stage, model: { lora_configs: [{ lora_rank: 2 }] } },
    ),
  };
  const name = 'other rank';
  const file = workspace.config(`${name}.yaml`, ...base, { name });
  await killedTrinity(workspace.root, runArgs(file), {
    call: 'commit',
    match: '',
    nth: 9,
    when: 'after',
  });
  const other = workspace.config(`${name}.yaml`, ...base, changed, { name });
  const { error } = await runHere(workspace, other);
  expect(error?.message).toContain('lora_configs[0].lora_rank: changed from 4 to 2');
  // Runs of earlier versions have no file of settings.
  rmSync(path.join(workspace.root, 'runs/tests', name, 'settings.json'));
  expect((await runHere(workspace, other)).error?.message).toContain(
    'holds adapters of rank 4, alpha 8, q_proj, v_proj, down_proj, but the run trains adapters of rank 2',
  );
}, 60_000);

it('refuses an adapter of another model, naming the tensor', async () => {
  const folder = 'foreign/adapter_config.json';
  workspace.write(folder, JSON.stringify({ peft_type: 'LORA', r: 2, lora_alpha: 2 }));
  await writeFile(
    path.join(workspace.root, 'foreign/adapter_model.safetensors'),
    safetensors('base_model.model.h.0.attn.c_attn.lora_A.weight'),
  );
  const { error } = await runHere(
    workspace,
    workspace.config('foreign.yaml', {
      name: 'foreign',
      model: { lora_configs: [{ path: 'foreign' }] },
    }),
  );
  expect(error?.message).toMatch(
    /^model\.lora_configs\[0\]\.path: .*tensor base_model\.model\.h\.0\.attn\.c_attn\.lora_A\.weight has no place in the model/,
  );
});

/** Safetensors file with one tensor of two numbers. */
function safetensors(name: string): Buffer {
  const header = Buffer.from(
    JSON.stringify({ [name]: { dtype: 'F32', shape: [2, 1], data_offsets: [0, 8] } }),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, Buffer.alloc(8)]);
}
