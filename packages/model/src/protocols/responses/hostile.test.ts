import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scripted } from '../../../test/helpers.js';
import { add, call, post } from '../../../test/responses.js';

const word = fc.constantFrom(
  'message',
  'function_call',
  'function_call_output',
  'reasoning',
  'item_reference',
  'constructor',
  '__proto__',
  'user',
);
const scalar = fc.oneof(
  word,
  fc.string(),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constantFrom(null, 'msg_0', 'rs_0', 'resp_0', 'call_0_0_0'),
);
const part = fc.oneof(
  scalar,
  fc.dictionary(
    fc.constantFrom('type', 'text', 'refusal'),
    fc.oneof(scalar, fc.constantFrom('input_text', 'summary_text')),
  ),
);
const itemKeys = [
  'type',
  'id',
  'role',
  'content',
  'summary',
  'call_id',
  'name',
  'arguments',
  'output',
  'encrypted_content',
  'status',
];
const item = fc.dictionary(
  fc.constantFrom(...itemKeys),
  fc.oneof(scalar, fc.array(part, { maxLength: 3 })),
);
const requestKeys = [
  ...[
    'input',
    'instructions',
    'tools',
    'tool_choice',
    'text',
    'include',
    'metadata',
    'reasoning',
    'previous_response_id',
  ],
  ...[
    'max_output_tokens',
    'temperature',
    'top_p',
    'stream',
    'store',
    'parallel_tool_calls',
    'top_logprobs',
    'conversation',
    'prompt',
  ],
];
const body = fc.dictionary(
  fc.constantFrom(...requestKeys),
  fc.oneof(scalar, fc.array(fc.oneof(item, scalar), { maxLength: 4 }), item),
);

it('whatever a client sends is answered or rejected by name, and the run continues', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({ input: fc.array(item, { minLength: 1, maxLength: 4 }) }),
      body,
      async (likely, unlikely) => {
        const { model, runtime } = scripted([
          `<think>hm</think>so${call('{"a":1}')}<|im_end|>`,
          'a<|im_end|>',
          'b<|im_end|>',
          'c<|im_end|>',
        ]);
        const first = { input: 'hi', tools: [add] };
        expect((await model.handler(post(first))).status).toBe(200);
        for (const hostile of [
          { ...first, ...likely },
          { ...first, ...unlikely },
        ]) {
          const response = await model.handler(post(hostile));
          const text = await response.text();
          expect([200, 400, 404]).toContain(response.status);
          if (response.status === 200) continue;
          const { error } = JSON.parse(text) as {
            readonly error: { readonly param: string; readonly message: string };
          };
          expect(error.message.startsWith(error.param)).toBe(true);
        }
        const answer = { type: 'function_call_output', call_id: 'call_0_0_0', output: '2' };
        const next = { ...first, input: [answer], previous_response_id: 'resp_0' };
        const response = await model.handler(post(next));
        expect(response.status).toBe(200);
        expect(model.metrics()).toHaveProperty('model/spliced');
        expect(runtime.logger.messages('error')).toEqual([]);
      },
    ),
    { numRuns: 150 },
  );
});
