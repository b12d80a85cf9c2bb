import { describe, expect, it } from 'vitest';
import { decode, scripted } from '../../test/helpers.js';

const call = (args: string): string => `<tool_call>\n{"name": "add", "arguments": ${args}}\n</tool_call>`;
const add = {
  type: 'function' as const,
  name: 'add',
  parameters: { type: 'object', properties: { b: { type: 'number' }, a: { type: 'number' } } },
  strict: null,
};
const model = 'gpt-5';

describe('the OpenAI client', () => {
  it('gets a response that it can read', async () => {
    const { model: rollout } = scripted(['<think>hm</think>4<|im_end|>']);
    const response = await rollout.openaiClient().responses.create({ model, input: 'hi' });
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      model: 'tiny',
      output_text: '4',
      output: [
        { type: 'reasoning', summary: [{ text: 'hm' }], content: [{ text: 'hm' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: '4', annotations: [] }] },
      ],
    });
  });

  it('streams to the same response', async () => {
    const { model: rollout } = scripted([`<think>hm</think>so\n${call('{"a":1}')}\n${call('{"a":2}')}<|im_end|>`]);
    const client = rollout.openaiClient();
    const stream = client.responses.stream({ model, input: 'hi', tools: [add] });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    const final = await stream.finalResponse();
    expect(final.output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call', 'function_call']);
    expect(types.at(-1)).toBe('response.completed');
  });

  it('runs a tool loop on exact tokens', async () => {
    const turns = [`so\n${call('{"b":1,  "a":2.0}')}<|im_end|>`, `${call('{"a":3}')}<|im_end|>`, 'fin<|im_end|>'];
    const { model: rollout, sampler } = scripted(turns);
    const client = rollout.openaiClient();
    let response = await client.responses.create({ model, input: 'hi', tools: [add] });
    for (let i = 0; i < 2; i++) {
      const calls = response.output.filter((item) => item.type === 'function_call');
      const input = calls.map(({ call_id }) => ({ type: 'function_call_output' as const, call_id, output: 'ok' }));
      response = await client.responses.create({ model, input, tools: [add], previous_response_id: response.id });
    }
    expect(response.output_text).toBe('fin');
    const prompts = sampler.calls.map(({ prompt }) => decode(prompt));
    expect(prompts[1]!.startsWith(prompts[0]! + turns[0]!)).toBe(true);
    expect(prompts[2]!.startsWith(prompts[1]! + turns[1]!)).toBe(true);
    expect(rollout.metrics()).toMatchObject({ 'model/spliced': 2, 'model/tool_calls': 2 });
  });
});
