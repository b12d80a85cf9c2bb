/** The endpoint of one rollout over a scripted sampler, and the text format that the contract asks for. */
import { buildCharTokenizer, chatTemplates, createChatFormat, createTokenizer } from '@trinity-rft/chat';
import { createRuntime } from '@trinity-rft/core';
import { createRolloutModel, openEndpointServer } from '@trinity-rft/model';
import { recordingLogger, type AgentContract } from '@trinity-rft/testing';
import type { AgentEndpoint } from '@trinity-rft/workflow';

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
const format = createChatFormat({ tokenizer, toolCallParser: 'hermes', reasoningParser: 'qwen3' });

/** One for all rollouts of a test file, on the loopback interface. */
export interface Served extends Pick<AgentContract<AgentEndpoint>, 'open' | 'encode' | 'decode'> {
  readonly close: () => Promise<void>;
}

/** What is the same for every way to call the framework: each rollout is mounted on one server. */
export async function serve(): Promise<Served> {
  const runtime = createRuntime({ seed: 1, logger: recordingLogger() });
  const server = await openEndpointServer({ runtime });
  return {
    open: ({ sampler, signal }) => {
      const mounted = server.mount({ handler: (request) => model.handler(request), signal });
      const model = createRolloutModel({ sampler, signal, format, modelPath: 'tiny', seedFor: (call) => 1000 + call, mounted, runtime });
      return Promise.resolve({
        endpoint: model.endpoint(),
        records: () => model.extractExperiencesFromHistory({ clear: false }),
        metrics: () => model.metrics(),
        close: () => Promise.resolve(mounted.unmount()),
      });
    },
    encode: (text) => tokenizer.encode(text),
    decode: (ids) => tokenizer.decode(ids),
    close: () => server.close(),
  };
}
