/** The endpoint of one rollout over a scripted sampler, and the text format that the contract asks for. */
import { buildCharTokenizer, chatTemplates, createChatFormat, createTokenizer } from '@trinity-rft/chat';
import { createRolloutModel } from '@trinity-rft/model';
import { testRuntime, type AgentContract } from '@trinity-rft/testing';
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

/** What is the same for every way to call the framework. The handler is reached through the endpoint's `fetch`. */
export const inProcess: Pick<AgentContract<AgentEndpoint>, 'open' | 'encode' | 'decode'> = {
  open: ({ sampler, signal }) => {
    const runtime = testRuntime();
    const model = createRolloutModel({ sampler, signal, format, modelPath: 'tiny', seedFor: (call) => 1000 + call, runtime });
    return Promise.resolve({
      endpoint: model.endpoint(),
      records: () => model.extractExperiencesFromHistory({ clear: false }),
      metrics: () => model.metrics(),
      close: () => Promise.resolve(),
    });
  },
  encode: (text) => tokenizer.encode(text),
  decode: (ids) => tokenizer.decode(ids),
};
