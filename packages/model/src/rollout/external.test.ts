import {
  buildCharTokenizer,
  chatTemplates,
  createChatFormat,
  createTokenizer,
} from '@trinity-rft/chat';
import type { ChatResponse } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import { askExternal } from './external.js';

/** ChatML whose tokenizer ends texts with another token than the one that closes a turn. */
const tokenizer = createTokenizer(
  buildCharTokenizer({
    characters: `${Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')}\n`,
    specialTokens: ['<|im_start|>', '<|im_end|>'],
    eosToken: '<|endoftext|>',
    chatTemplate: chatTemplates.chatml,
  }),
);
const format = createChatFormat({ tokenizer });
const end = (token: string): number => tokenizer.tokenToId(token)!;

async function tokensOf(
  response: Partial<ChatResponse>,
  chatFormat = format,
): Promise<readonly number[]> {
  const answer = { responseText: 'ok', toolCalls: [], finishReason: 'stop', ...response };
  const external = { chat: async () => [answer as unknown as ChatResponse] };
  const [first] = await askExternal(external, chatFormat, {
    messages: [{ role: 'user', content: 'hi' }],
    ...{ tools: undefined, enableThinking: undefined, signal: undefined },
    ...{ settings: { maxTokens: 9, seed: 0 }, policyVersion: 0 },
  });
  return [...first!.sequence.tokens];
}

const ok = [...tokenizer.encode('ok')];

it('an external answer ends in the token that closes a turn of the template', async () => {
  expect(await tokensOf({})).toEqual([...ok, end('<|im_end|>')]);
  expect(await tokensOf({ finishReason: 'length' })).toEqual(ok);
});

it('an external answer keeps the stop token that the template writes, whichever it is', async () => {
  const stopTokenIds = ['<|endoftext|>', '<|im_end|>'].map(end);
  expect(await tokensOf({}, { ...format, stopTokenIds })).toEqual([...ok, end('<|im_end|>')]);
});
