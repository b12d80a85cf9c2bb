/** Rollout models whose sampler answers with given texts. */
import type { ChatFormat } from '@trinity-rft/chat';
import type { Sampler } from '@trinity-rft/core/engine';
import {
  scriptedSampler,
  testRuntime,
  type ScriptedSampler,
  type TestRuntime,
} from '@trinity-rft/testing';
import type { RecordingModel, RolloutModelOptions } from '../src/recording-model.js';
import { createRolloutModel } from '../src/rollout-model.js';
import { characterFormat } from '../src/testing/rollouts.js';

export const format: ChatFormat = characterFormat();

export const encode = (text: string): Int32Array => format.tokenizer.encode(text);
export const decode = (ids: ArrayLike<number>): string => format.tokenizer.decode(ids);

/** Returns the prompt of a conversation with one user message. */
export const promptOf = (text: string): string =>
  `<|im_start|>user\n${text}<|im_end|>\n<|im_start|>assistant\n`;

export interface Scripted {
  readonly model: RecordingModel;
  readonly sampler: ScriptedSampler;
  readonly runtime: TestRuntime;
}

/** Creates a model that answers one text per choice, in order. Each text ends with a stop token. */
export function scripted(
  texts: readonly string[],
  options: Partial<RolloutModelOptions> = {},
): Scripted {
  const sampler = scriptedSampler({ script: texts.map(encode) });
  const runtime = testRuntime();
  return { model: modelOver(sampler, { runtime, ...options }), sampler, runtime };
}

export function modelOver(
  sampler: Sampler,
  options: Partial<RolloutModelOptions> = {},
): RecordingModel {
  return createRolloutModel({
    sampler,
    format,
    modelPath: 'tiny',
    seedFor: (call) => 1000 + call,
    runtime: testRuntime(),
    ...options,
  });
}

export const tools = [
  {
    type: 'function' as const,
    function: {
      name: 'add',
      parameters: { type: 'object', properties: { b: { type: 'number' }, a: { type: 'number' } } },
    },
  },
];
