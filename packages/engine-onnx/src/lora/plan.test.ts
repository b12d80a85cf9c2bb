import { describe, expect, test } from 'vitest';

import { architectureConfig } from '../../test/support/architectures.js';
import { tinyModels } from '../../test/support/models.js';
import { initialAdapters } from './initial.js';
import { adapterTargets, planAdapters } from './plan.js';

const config = tinyModels.qwen3;
const linear = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'];

describe('a plan', () => {
  test('takes every linear layer but the head by default', () => {
    expect(planAdapters(tinyModels.llama, { rank: 8, alpha: 16 })).toEqual({
      rank: 8,
      alpha: 16,
      modules: linear,
    });
  });

  test('leaves out experts, which PEFT does not adapt either', () => {
    const moe = architectureConfig('qwen3_moe');
    const names = adapterTargets(moe, planAdapters(moe, { rank: 1, alpha: 1 })).map(
      ({ weight }) => weight.name,
    );
    expect(names).toContain('model.layers.0.mlp.up_proj.weight');
    expect(names).toContain('model.layers.1.self_attn.q_proj.weight');
    expect(names.filter((name) => name.includes('experts'))).toEqual([]);
  });

  test('takes the projections of convolutions, but not their taps', () => {
    const modules = ['in_proj', 'out_proj', 'w1', 'w3', 'w2', 'q_proj', 'k_proj', 'v_proj'];
    expect(planAdapters(architectureConfig('lfm2'), { rank: 8, alpha: 16 }).modules).toEqual(
      modules,
    );
  });

  test('takes the projections of the gated delta rule, and gated attention', () => {
    const modules = ['in_proj_qkv', 'in_proj_z', 'in_proj_b', 'in_proj_a', 'out_proj'];
    expect(
      planAdapters(architectureConfig('qwen3_5_text'), { rank: 8, alpha: 16 }).modules,
    ).toEqual([
      ...modules,
      'gate_proj',
      'up_proj',
      'down_proj',
      'q_proj',
      'k_proj',
      'v_proj',
      'o_proj',
    ]);
  });

  test('leaves out the inputs of layers of Gemma 4, and keys of layers without keys', () => {
    const gemma4 = architectureConfig('gemma4_text');
    const plan = planAdapters(gemma4, { rank: 1, alpha: 1 });
    const modules = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'];
    expect(plan.modules).toEqual(modules);
    const names = adapterTargets(gemma4, plan).map(({ weight }) => weight.name);
    expect(names.filter((name) => name.includes('k_proj'))).toHaveLength(4);
    expect(names.filter((name) => name.includes('q_proj'))).toHaveLength(6);
  });

  test('has its layers in the order of the model', () => {
    expect(
      planAdapters(config, { rank: 1, alpha: 1, targetModules: ['up_proj', 'q_proj'] }).modules,
    ).toEqual(['q_proj', 'up_proj']);
  });

  test.each([
    [{ rank: 0, alpha: 1 }, 'The rank of the adapters is 0; expected an integer of at least 1.'],
    [{ rank: 1.5, alpha: 1 }, 'The rank of the adapters is 1.5'],
    [{ rank: 2, alpha: 0 }, 'The alpha of the adapters is 0; expected a positive number.'],
    [{ rank: 2, alpha: NaN }, 'The alpha of the adapters is NaN'],
    [
      { rank: 2, alpha: 1, targetModules: ['q_proj', 'lm_head'] },
      `"lm_head" is not a layer that can get an adapter; expected all-linear, or some of ${linear.join(', ')}.`,
    ],
    [
      { rank: 2, alpha: 1, targetModules: [] },
      'No layer is named to get an adapter; expected all-linear',
    ],
  ])('of %j is rejected', (options, message) => {
    expect(() => planAdapters(config, options)).toThrow(message);
  });
});

describe('adapters', () => {
  const targets = adapterTargets(
    config,
    planAdapters(config, { rank: 4, alpha: 4, targetModules: ['k_proj', 'down_proj'] }),
  );

  test('have matrices of the shapes that their layers ask for, one after the other', () => {
    expect(
      targets.flatMap(({ a, b }) => [a, b]).map(({ name, shape, offset }) => [name, shape, offset]),
    ).toEqual([
      ['model.layers.0.self_attn.k_proj.lora_A.weight', [4, 16], 0],
      ['model.layers.0.self_attn.k_proj.lora_B.weight', [16, 4], 64],
      ['model.layers.0.mlp.down_proj.lora_A.weight', [4, 24], 128],
      ['model.layers.0.mlp.down_proj.lora_B.weight', [16, 4], 224],
      ['model.layers.1.self_attn.k_proj.lora_A.weight', [4, 16], 288],
      ['model.layers.1.self_attn.k_proj.lora_B.weight', [16, 4], 352],
      ['model.layers.1.mlp.down_proj.lora_A.weight', [4, 24], 416],
      ['model.layers.1.mlp.down_proj.lora_B.weight', [16, 4], 512],
    ]);
  });

  test('begin with B = 0 and an A that fills its interval evenly', () => {
    const wide = adapterTargets(
      { ...config, hiddenSize: 100 },
      planAdapters(config, { rank: 50, alpha: 1, targetModules: ['q_proj'] }),
    );
    const flat = initialAdapters(wide, 3);
    for (const { a, b } of wide) {
      const numbers = flat.subarray(a.offset, a.offset + a.size);
      expect(flat.subarray(b.offset, b.offset + b.size).every((x) => x === 0)).toBe(true);
      expect(Math.max(...numbers)).toBeLessThanOrEqual(0.1);
      expect(Math.min(...numbers)).toBeGreaterThanOrEqual(-0.1);
      expect(numbers.reduce((sum, x) => sum + x, 0) / a.size).toBeCloseTo(0, 2);
      expect(numbers.reduce((sum, x) => sum + x * x, 0) / a.size).toBeCloseTo(0.01 / 3, 3);
    }
  });

  test('begin alike for one seed, whatever other layers have adapters', () => {
    const all = adapterTargets(config, planAdapters(config, { rank: 4, alpha: 4 }));
    const [few, many, other] = [
      initialAdapters(targets, 1),
      initialAdapters(all, 1),
      initialAdapters(targets, 2),
    ];
    const [here, there] = [targets[0]!.a, all.find(({ a }) => a.name === targets[0]!.a.name)!.a];
    expect(few.subarray(here.offset, here.offset + here.size)).toEqual(
      many.subarray(there.offset, there.offset + there.size),
    );
    expect(few).not.toEqual(other);
  });
});
