/**
 * Creates rollout endpoints that respond with a sampler given by a test, so that tests of agents
 * need neither an engine nor a model folder.
 */
import {
  buildCharTokenizer,
  chatTemplates,
  createChatFormat,
  createTokenizer,
  type ChatFormat,
} from '@trinity-rft/chat';
import { createRuntime, type Experience, type Metrics } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { openEndpointServer } from '../http/server.js';
import type { RecordingModel, RolloutModelOptions } from '../recording-model.js';
import { createRolloutModel } from '../rollout-model.js';

export interface TestRolloutOptions {
  readonly sampler: Sampler;
  /** Signal that aborts when the rollout ends. */
  readonly signal: AbortSignal;
}

export interface TestRollout {
  readonly endpoint: AgentEndpoint;
  /** All recorded calls so far, in the order in which they were made. */
  readonly records: () => readonly Experience[];
  readonly metrics: () => Metrics;
  readonly close: () => Promise<void>;
}

/** A factory of rollouts, as `describeAgentAdapter` of `@trinity-rft/testing` requires it. */
export interface TestRollouts {
  /**
   * Opens the endpoint of one rollout. Its model has the name `tiny`. The seed of call k is 1000 +
   * k.
   */
  readonly open: (options: TestRolloutOptions) => Promise<TestRollout>;
  readonly encode: (text: string) => Int32Array;
  readonly decode: (ids: Int32Array) => string;
  /** Closes all rollouts. */
  readonly close: () => Promise<void>;
}

/**
 * Creates a chat format for tests, whose tokenizer has one token for each printable ASCII
 * character, the line break, the roles, and the turn, tool call and reasoning tags. Its template is
 * `chatml`, its tool call parser `hermes`, and its reasoning parser `qwen3`. Turns end in
 * `<|im_end|>`.
 */
export function characterFormat(): ChatFormat {
  const tokenizer = createTokenizer(
    buildCharTokenizer({
      characters: `${Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')}\n`,
      words: ['system', 'user', 'assistant'],
      specialTokens: ['<|im_start|>'],
      markers: ['<tool_call>', '</tool_call>', '<think>', '</think>'],
      eosToken: '<|im_end|>',
      chatTemplate: chatTemplates.chatml,
    }),
  );
  return createChatFormat({ tokenizer, toolCallParser: 'hermes', reasoningParser: 'qwen3' });
}

/**
 * Creates rollouts within this process. Each endpoint can only be called through its own `fetch`,
 * and no socket is opened. Endpoints are strict, as those that `trinity serve` opens.
 */
export function inProcessRollouts(): TestRollouts {
  const runtime = createRuntime({ seed: 1 });
  return rolloutsOver(characterFormat(), {
    open: (options) => {
      const model = createRolloutModel({ ...options, runtime, strictFields: true });
      return { model, end: () => undefined };
    },
    close: () => Promise.resolve(),
  });
}

/**
 * Creates rollouts that share one server on the loopback interface. Each rollout has its own key.
 * @throws ConfigError if no port is available
 */
export async function servedRollouts(): Promise<TestRollouts> {
  const runtime = createRuntime({ seed: 1 });
  const server = await openEndpointServer({ runtime });
  return rolloutsOver(characterFormat(), {
    open: (options) => {
      const { signal } = options;
      const mounted = server.mount({ handler: (request) => model.answer(request), signal });
      const model = createRolloutModel({ ...options, mounted, runtime });
      return { model, end: () => mounted.unmount() };
    },
    close: () => server.close(),
  });
}

interface Place {
  open(options: Omit<RolloutModelOptions, 'runtime' | 'mounted'>): {
    readonly model: RecordingModel;
    readonly end: () => void;
  };
  close(): Promise<void>;
}

function rolloutsOver(format: ChatFormat, place: Place): TestRollouts {
  const { tokenizer } = format;
  return {
    open: async ({ sampler, signal }) => {
      const { model, end } = place.open({
        sampler,
        signal,
        format,
        modelPath: 'tiny',
        seedFor: (call) => 1000 + call,
      });
      return Promise.resolve({
        endpoint: model.endpoint(),
        records: () => model.extractExperiencesFromHistory({ clear: false }),
        metrics: () => model.metrics(),
        close: () => Promise.resolve(end()),
      });
    },
    encode: (text) => tokenizer.encode(text),
    decode: (ids) => tokenizer.decode(ids),
    close: () => place.close(),
  };
}
