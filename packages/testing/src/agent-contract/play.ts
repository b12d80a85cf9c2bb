/** Plays a script through a framework's agent and tells what can be seen afterwards. */
import type { Experience, Metrics, SampledSequence, Sampler } from '@trinity-rft/core';
import { scriptedSampler, type ScriptedReply } from '../scripted-sampler/scripted-sampler.js';
import { toolResult } from './expected.js';
import type { AgentContract, AgentMode, AgentRun, AgentTool, AgentUnderTest } from './fixture.js';

const question = 'How warm is it in Oslo and Rome?';

export interface PlayOptions<Endpoint> {
  readonly replies: readonly (string | Error)[];
  readonly mode: AgentMode;
  readonly run?: Partial<Pick<AgentRun<Endpoint>, 'question' | 'settings'>>;
  /** An agent that several plays share. @default one of its own */
  readonly agent?: AgentUnderTest<Endpoint>;
  /** Puts something between model and sampler. */
  readonly wrap?: (sampler: Sampler) => Sampler;
  /** The run's. */
  readonly signal?: AbortSignal;
}

/** A call that the sampler answered. */
export interface Sampled {
  readonly prompt: Int32Array;
  readonly tokens: Int32Array;
}

export interface Played {
  /** What the agent said, or what it threw. */
  readonly outcome: { readonly text: string } | { readonly error: unknown };
  readonly executed: readonly unknown[];
  readonly sampled: readonly Sampled[];
  readonly records: readonly Experience[];
  readonly metrics: Metrics;
  /** Settings of every call that reached the sampler. */
  readonly settings: readonly object[];
  /** Calls of the sampler that had not ended after the run. */
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
  // What the agent does with an answer is no business of the model: a text of the script ends as a
  // model ends its turn.
  const script = replies.map((reply): ScriptedReply =>
    typeof reply === 'string' ? contract.encode(`${reply}<|im_end|>`) : reply,
  );
  const scripted = scriptedSampler({ script });
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

/** Tells the weather; `seen` is told every input. */
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
