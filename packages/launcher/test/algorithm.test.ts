import { embeddedEngine, parseConfig } from '@trinity-rft/config';
import type { EngineCapabilities } from '@trinity-rft/core';
import { onnxCapabilities } from '@trinity-rft/engine-onnx';
import { describe, expect, it } from 'vitest';
import { assertTrainable } from '../src/assembly/algorithm.js';

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
  ).config.stages;

const lacking = (capabilities: Partial<EngineCapabilities>): EngineCapabilities => ({
  ...onnxCapabilities,
  ...capabilities,
});

describe('an algorithm that asks for more than the engine has', () => {
  it.each([
    [
      { algorithm_type: 'ppo' },
      { valueHead: false },
      /ppo estimates advantages with a critic, and the engine has no value head\./,
    ],
    [
      { algorithm_type: 'grpo' },
      { referenceModel: false },
      /grpo compares the policy with a frozen reference, and the engine keeps none\./,
    ],
    [
      { algorithm_type: 'grpo', entropy_loss_fn_args: { entropy_coef: 0.1 } },
      { entropyGradient: 'none' },
      /grpo differentiates the entropy, and the engine cannot\. Set entropy_loss_fn: none/,
    ],
  ] as const)(
    'is refused before anything is opened, with the reason: %j',
    (algorithm, capabilities, message) => {
      const stages = stagesOf(algorithm);
      expect(() => assertTrainable(stages)).not.toThrow();
      expect(() => assertTrainable(stages, { capabilities: lacking(capabilities) })).toThrow(
        message,
      );
    },
  );

  it('is told everything at once', () => {
    const stages = stagesOf({ algorithm_type: 'ppo' });
    expect(() =>
      assertTrainable(stages, {
        capabilities: lacking({ valueHead: false, referenceModel: false }),
      }),
    ).toThrow(/value head.*frozen reference/);
  });

  it('does not matter where nothing is trained', () => {
    expect(() =>
      assertTrainable(stagesOf({ algorithm_type: 'grpo' }, 'bench'), {
        capabilities: lacking({ referenceModel: false }),
      }),
    ).not.toThrow();
  });

  it('is told by the configuration, which knows the engine as it is', () => {
    expect(embeddedEngine).toEqual(onnxCapabilities);
  });
});
