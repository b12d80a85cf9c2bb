import { parseConfig } from '@trinity-rft/config';
import type { EngineCapabilities } from '@trinity-rft/core';
import { onnxEngine } from '@trinity-rft/engine-onnx';
import { describe, expect, it } from 'vitest';
import { assertTrainable } from '../src/assembly/algorithm.js';
import { engineTable, type EngineTable } from '../src/assembly/models/engines.js';

const stagesOf = (algorithm: object, mode = 'both') =>
  parseConfig(
    JSON.stringify({
      mode,
      model: { model_path: 'some/model', max_prompt_tokens: 8, max_response_tokens: 8 },
      algorithm: { repeat_times: 2, ...algorithm },
      buffer: {
        batch_size: 2,
        explorer_input: {
          taskset: { path: 'some/tasks' },
          eval_tasksets: [{ path: 'some/eval' }],
          default_workflow_type: 'simple_workflow',
        },
      },
    }),
    { engines: engineTable() },
  ).config.stages;

const lacking = (capabilities: Partial<EngineCapabilities>): EngineTable => ({
  onnx: { ...onnxEngine, capabilities: { ...onnxEngine.capabilities, ...capabilities } },
});

describe('an algorithm that asks for more than the engine has', () => {
  it.each([
    [
      { algorithm_type: 'ppo' },
      { valueHead: false },
      /ppo estimates advantages with a critic, and the engine "onnx" has no value head\./,
    ],
    [
      { algorithm_type: 'grpo' },
      { referenceModel: false },
      /grpo compares the policy with a frozen reference, and the engine "onnx" keeps none\./,
    ],
    [
      { algorithm_type: 'grpo', entropy_loss_fn_args: { entropy_coef: 0.1 } },
      { entropyGradient: 'none' },
      /grpo differentiates the entropy, and the engine "onnx" cannot\. Set entropy_loss_fn: none/,
    ],
  ] as const)(
    'is rejected before anything is opened, with the reason: %j',
    (algorithm, capabilities, message) => {
      const stages = stagesOf(algorithm);
      expect(() => assertTrainable(stages)).not.toThrow();
      expect(() => assertTrainable(stages, { engines: lacking(capabilities) })).toThrow(message);
    },
  );

  it('reports all unmet needs at once', () => {
    const stages = stagesOf({ algorithm_type: 'ppo' });
    expect(() =>
      assertTrainable(stages, {
        engines: lacking({ valueHead: false, referenceModel: false }),
      }),
    ).toThrow(/value head.*frozen reference/);
  });

  it('does not matter where nothing is trained', () => {
    expect(() =>
      assertTrainable(stagesOf({ algorithm_type: 'grpo' }, 'bench'), {
        engines: lacking({ referenceModel: false }),
      }),
    ).not.toThrow();
  });
});
