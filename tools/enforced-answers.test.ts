/** Draws random answers within the grammar of a request, and reads them as the endpoint does. */
import { describe, expect, it } from 'vitest';
import {
  buildCharTokenizer,
  chatTemplates,
  createChatFormat,
  createTokenizer,
  type ResponseConstraint,
} from '../packages/chat/src/index.ts';
import { tokenByteTable } from '../packages/chat/src/tokenizer/token-bytes.ts';
import { toolCallParsers } from '../packages/chat/src/tool-call-parser/table.ts';
import { createRandom } from '../packages/core/src/index.ts';
import { packTokenBytes } from '../packages/engine-onnx/src/model/token-bytes.ts';
import { createConstraintFactory } from '../packages/engine-onnx/src/sample/constraint/constraint.ts';

/** Tokenizer with the control tokens of all syntaxes, and with words that spell them. */
const tokenizer = createTokenizer(
  buildCharTokenizer({
    characters: `${Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')}\n`,
    words: ['system', 'user', 'assistant', '</', 'think>', 'tool_call>', '[TOOL_', 'CALLS]', '"}'],
    specialTokens: [
      ...['<|im_start|>', '<|python_tag|>', '[TOOL_CALLS]', '[ARGS]', '<|channel>', '<channel|>'],
      ...['<|tool_call>', '<tool_call|>', '<|tool_call_start|>', '<|tool_call_end|>'],
    ],
    markers: ['<think>', '</think>', '<tool_call>', '</tool_call>', '<tool_response>'],
    eosToken: '<|im_end|>',
    chatTemplate: chatTemplates.chatml,
  }),
);
const bytes = packTokenBytes([...tokenByteTable(tokenizer)].map((each) => each ?? Buffer.alloc(0)));
const factory = createConstraintFactory(bytes, tokenizer.vocabularySize);

const tools = ['look', 'act'].map((name) => ({
  type: 'function' as const,
  function: { name, parameters: { type: 'object' } },
}));
const answers = 50;
/** Matches tokens that end strings and objects, and texts that may end them by mistake. */
const frequent = /^(["}\]]|"}|.{3,})$/;

/** Answer of a model with uniform probabilities within the grammar. */
function randomAnswer(
  grammar: Parameters<typeof factory.begin>[0],
  random: ReturnType<typeof createRandom>,
): Int32Array {
  const answer = factory.begin(grammar);
  const tokens: number[] = [];
  for (;;) {
    const { mask, complete } = answer.allowed();
    const ids = [...mask.keys()].filter((id) => mask[id] === 1);
    if (complete && (ids.length === 0 || random.next() < 0.3)) return Int32Array.from(tokens);
    const likely = ids.filter((id) => frequent.test(tokenizer.idToToken(id) ?? ''));
    const from = likely.length > 0 && random.next() < 0.5 ? likely : ids;
    const token = from[Math.floor(random.next() * from.length)]!;
    tokens.push(token);
    answer.push(token);
  }
}

/** Control tokens of reasoning. */
const thoughts = {
  qwen3: /(<think>)?(<\/think>)?/,
  deepseek_r1: /(<think>)?(<\/think>)?/,
  gemma4: /(<\|channel>)?(<channel\|>)?/,
} as const;
/** Control tokens of calls, in order; empty if calls cannot be forced. */
const calls: Readonly<Record<string, string>> = {
  hermes: '(<tool_call></tool_call>)+',
  lfm2: String.raw`<\|tool_call_start\|><\|tool_call_end\|>`,
  llama3_json: '',
  mistral: String.raw`\[TOOL_CALLS\]`,
  phi4_mini_json: '',
};

const reasoningParsers = Object.keys(thoughts) as (keyof typeof thoughts)[];

describe.each(reasoningParsers)('after reasoning in the syntax %s', (reasoningParser) => {
  const thought = thoughts[reasoningParser].source;
  it.each(Object.keys(toolCallParsers))(
    'answers and calls of %s hold control tokens only as syntax, and none is lost',
    (toolCallParser) => {
      const format = createChatFormat({ tokenizer, toolCallParser, reasoningParser });
      const promptIds = format.encode('<|im_start|>assistant\n');
      const random = createRandom(1);
      const draw = (constraint: ResponseConstraint, syntax: string) => {
        const grammar = format.constrain(constraint, promptIds)!;
        return Array.from({ length: answers }, () => {
          const ids = randomAnswer(grammar, random);
          const controls = ids.filter((id) => tokenizer.controlTokenIds.has(id));
          expect(tokenizer.decode(controls)).toMatch(new RegExp(`^${thought}${syntax}$`));
          return format.readTurn(ids, { tools: constraint.tools ?? false, promptIds });
        });
      };
      const json = { type: 'json_object', param: 'response_format' } as const;
      for (const { text } of draw({ json }, '')) expect(JSON.parse(text)).toBeTypeOf('object');
      const syntax = calls[toolCallParser];
      if (syntax === undefined) return;
      for (const turn of draw({ calls: 'required', tools }, syntax)) {
        expect(turn).toMatchObject({ text: '', malformedToolCalls: 0 });
        expect(turn.toolCalls.length).toBeGreaterThan(0);
        for (const call of turn.toolCalls) expect(JSON.parse(call.arguments)).toBeTypeOf('object');
      }
    },
  );
});
