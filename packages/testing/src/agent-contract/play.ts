/** Runs an agent with scripted model outputs, and returns everything that tests can observe. */
import type { Experience, Metrics } from '@trinity-rft/core';
import type { Sampler, SampledSequence } from '@trinity-rft/core/engine';
import { scriptedSampler, type ScriptedReply } from '../scripted-sampler/scripted-sampler.js';
import { toolResult } from './expected.js';
import type { AgentContract, AgentRun, AgentTool, AgentUnderTest } from './fixture.js';
import type { AgentMode } from './expected.js';

const question = 'How warm is it in Oslo and Rome?';

export interface PlayOptions<Endpoint> {
  readonly replies: readonly (string | Error)[];
  readonly mode: AgentMode;
  readonly run?: Partial<Pick<AgentRun<Endpoint>, 'question' | 'settings'>>;
  /** Agent to run, for tests in which several rollouts share it. @default a new agent */
  readonly agent?: AgentUnderTest<Endpoint>;
  /** Function that wraps the scripted sampler. @default the sampler is not wrapped */
  readonly wrap?: (sampler: Sampler) => Sampler;
  /** Signal that aborts the rollout. */
  readonly signal?: AbortSignal;
}

/** Prompt and tokens of a successful sampler call. */
export interface Sampled {
  readonly prompt: Int32Array;
  readonly tokens: Int32Array;
}

export interface Played {
  /** Text of the agent's answer, or the error with which it rejected. */
  readonly outcome: { readonly text: string } | { readonly error: unknown };
  readonly executed: readonly unknown[];
  readonly sampled: readonly Sampled[];
  readonly records: readonly Experience[];
  readonly metrics: Metrics;
  /** Sampling options of each sampler call, in order. */
  readonly settings: readonly object[];
  /** Number of sampler calls that are still in progress after the agent has ended. */
  readonly open: number;
}

export async function play<Endpoint>(
  contract: AgentContract<Endpoint>,
  options: PlayOptions<Endpoint>,
): Promise<Played> {
  const {
    replies,
    mode,
    run,
    wrap = (same) => same,
    signal = new AbortController().signal,
  } = options;
  const executed: unknown[] = [];
  const agent =
    options.agent ?? contract.createAgent([weatherTool((input) => executed.push(input))]);
  // Like a model, the script ends each turn with the end token.
  const script = replies.map((reply): ScriptedReply =>
    typeof reply === 'string' ? contract.encode(`${reply}<|im_end|>`) : reply,
  );
  // The limit is high, because frameworks put stack traces into prompts.
  const scripted = scriptedSampler({ script, maxModelLen: 100_000 });
  const sampled: Sampled[] = [];
  const sampler = wrap(observed(scripted, sampled));
  const rollout = await contract.open({ sampler, signal });
  try {
    const outcome = await settle(
      agent({
        question,
        settings: {},
        ...run,
        endpoint: rollout.endpoint,
        streamed: mode === 'streamed',
        signal,
      }),
    );
    return {
      outcome,
      executed,
      sampled,
      records: rollout.records(),
      metrics: rollout.metrics(),
      settings: scripted.calls.map((call) => call.options),
      open: scripted.inFlight,
    };
  } finally {
    await rollout.close();
  }
}

/** Creates a weather tool that calls `seen` with its arguments. */
export function weatherTool(seen: (input: unknown) => void): AgentTool {
  return {
    name: 'weather',
    description: 'Tells the weather in a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'number' } },
      required: ['city'],
      additionalProperties: false,
    },
    execute: (input) => {
      seen(input);
      return toolResult((input as { readonly city: string }).city);
    },
  };
}

function observed(inner: Sampler, sampled: Sampled[]): Sampler {
  return {
    maxModelLen: inner.maxModelLen,
    get policyVersion() {
      return inner.policyVersion;
    },
    adopt: (source, version) => inner.adopt(source, version),
    sample: async (prompt, options, signal) => {
      const sequences: readonly SampledSequence[] = await inner.sample(prompt, options, signal);
      for (const { tokens } of sequences) sampled.push({ prompt: prompt.slice(), tokens });
      return sequences;
    },
  };
}

const settle = (work: Promise<string>): Promise<Played['outcome']> =>
  work.then(
    (text) => ({ text }),
    (error: unknown) => ({ error }),
  );
