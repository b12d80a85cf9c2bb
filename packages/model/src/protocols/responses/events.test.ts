import { describe, expect, it } from 'vitest';
import { scripted } from '../../../test/helpers.js';
import { add, at, call, post } from '../../../test/responses.js';

const text = `<think>hm</think>so\n${call('{"a":1}')}\n${call('{"a":2}')}<|im_end|>`;
const body = { input: 'hi', tools: [add], stream: true };

interface Event {
  readonly type: string;
  readonly sequence_number: number;
  readonly output_index?: number;
  readonly [field: string]: unknown;
}

function read(stream: string): readonly Event[] {
  const pieces = stream.split('\n\n').filter(Boolean);
  return pieces.map((piece) => {
    const [name, data] = piece.split('\ndata: ') as [string, string];
    const event = JSON.parse(data) as Event;
    expect(name).toBe(`event: ${event.type}`);
    return event;
  });
}

describe('the events of a stream', () => {
  it('tell of every item from its beginning to its end', async () => {
    const events = read(await (await scripted([text]).model.handler(post(body))).text());
    expect(
      events.map(
        ({ type, output_index: item }) =>
          `${type.replace('response.', '')}${item === undefined ? '' : ` ${item}`}`,
      ),
    ).toEqual([
      'created',
      'in_progress',
      'output_item.added 0',
      'reasoning_summary_part.added 0',
      'content_part.added 0',
      'reasoning_summary_text.delta 0',
      'reasoning_text.delta 0',
      'reasoning_summary_text.done 0',
      'reasoning_summary_part.done 0',
      'reasoning_text.done 0',
      'content_part.done 0',
      'output_item.done 0',
      'output_item.added 1',
      'content_part.added 1',
      'output_text.delta 1',
      'output_text.done 1',
      'content_part.done 1',
      'output_item.done 1',
      'output_item.added 2',
      'function_call_arguments.delta 2',
      'function_call_arguments.done 2',
      'output_item.done 2',
      'output_item.added 3',
      'function_call_arguments.delta 3',
      'function_call_arguments.done 3',
      'output_item.done 3',
      'completed',
    ]);
    expect(events.map(({ sequence_number: n }) => n)).toEqual(events.map((_, i) => i));
  });

  it('begin empty and end with the response', async () => {
    const { model } = scripted([text]);
    const events = read(await (await model.handler(post(body))).text());
    const stored: unknown = await (await model.handler(at('resp_0'))).json();
    expect(events[0]).toMatchObject({
      response: { id: 'resp_0', status: 'in_progress', output: [], usage: null },
    });
    expect(events.at(-1)!['response']).toEqual(stored);
    const done = events
      .filter(({ type }) => type === 'response.output_item.done')
      .map(({ item }) => item);
    expect(done).toEqual((stored as { readonly output: unknown }).output);
  });

  it('become the response again in the helper of the OpenAI client', async () => {
    const { model } = scripted([text]);
    const stream = model
      .openaiClient()
      .responses.stream({ model: 'gpt-5', input: 'hi', tools: [add] });
    let args = '';
    stream.on('response.function_call_arguments.delta', ({ delta }) => void (args += delta));
    const final = await stream.finalResponse();
    expect(final).toMatchObject({
      output_text: 'so',
      usage: { output_tokens_details: { reasoning_tokens: 2 } },
    });
    expect(final.output.map(({ type }) => type)).toEqual([
      'reasoning',
      'message',
      'function_call',
      'function_call',
    ]);
    expect(args).toBe('{"a":1}{"a":2}');
  });

  it('have no delta for an answer without text', async () => {
    const events = read(await (await scripted(['<|im_end|>']).model.handler(post(body))).text());
    expect(events.map(({ type }) => type)).not.toContain('response.output_text.delta');
    expect(events.at(-1)).toMatchObject({
      response: { output: [{ type: 'message', content: [{ text: '' }] }] },
    });
  });
});
