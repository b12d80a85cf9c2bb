import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decode, scripted, tools, type Scripted } from '../../../test/helpers.js';
import { add, call, post } from '../../../test/responses.js';

/** Answers with all features that frameworks and templates treat differently. */
const answer = fc.oneof(
  fc.constantFrom('4', ' padded \n', '<think>hm</think>so', '<think>\na\n\nb\n</think>\n\nout'),
  fc.constantFrom(
    call('{"b":1,  "a":2.0}'),
    `so\n${call('{}')}`,
    `<think>hm</think>${call('{"a":"x"}')}\n${call('{"a":1}')}`,
  ),
  fc.constantFrom('<tool_call>broken', `${call('{"a":1}')}<tool_call>{"name"`),
);

interface Step {
  readonly answer: string;
  /** The next user message if the answer has no calls. */
  readonly next: string;
  /** Way in which the Responses client continues the conversation. */
  readonly style: 'id' | 'items' | 'references' | 'unstored';
  readonly stream: boolean;
}

const steps = fc.array(
  fc.record<Step>({
    answer,
    next: fc.constantFrom('on', 'two\nlines', ' '),
    style: fc.constantFrom('id', 'items', 'references', 'unstored'),
    stream: fc.boolean(),
  }),
  { minLength: 1, maxLength: 5 },
);

interface ChatMessage {
  readonly tool_calls?: readonly { readonly id: string }[];
}

async function chat(
  { model }: Scripted,
  system: string | undefined,
  conversation: readonly Step[],
): Promise<void> {
  const messages: object[] = system === undefined ? [] : [{ role: 'system', content: system }];
  messages.push({ role: 'user', content: 'hi' });
  for (const { next } of conversation) {
    const request = new Request('http://host/v1/chat/completions', {
      method: 'POST',
      body: JSON.stringify({ messages, tools }),
    });
    const { choices } = (await (await model.handler(request)).json()) as {
      readonly choices: readonly { readonly message: ChatMessage }[];
    };
    const { message } = choices[0]!;
    const outputs = (message.tool_calls ?? []).map(({ id }) => ({
      role: 'tool',
      tool_call_id: id,
      content: 'ok',
    }));
    messages.push(message, ...(outputs.length > 0 ? outputs : [{ role: 'user', content: next }]));
  }
}

interface Answered {
  readonly id: string;
  readonly output: readonly {
    readonly type: string;
    readonly id: string;
    readonly call_id?: string;
  }[];
}

async function respond(
  { model }: Scripted,
  instructions: string | undefined,
  conversation: readonly Step[],
): Promise<void> {
  const all: object[] = [{ role: 'user', content: 'hi' }];
  let fresh: readonly object[] = all;
  let previous: Answered | undefined;
  let stored = true;
  for (const { next, style, stream } of conversation) {
    const byId = previous && stored && style === 'id';
    const body = {
      instructions,
      tools: [add],
      stream,
      input: byId ? fresh : all,
      ...(byId && { previous_response_id: previous!.id }),
    };
    // A response that was not stored cannot be referred to later.
    stored &&= style !== 'unstored';
    const text: string = await (await model.handler(post({ ...body, store: stored }))).text();
    const answered: Answered = stream ? lastResponse(text) : (JSON.parse(text) as Answered);
    const calls = answered.output.filter(({ type }) => type === 'function_call');
    const outputs = calls.map(({ call_id }) => ({
      type: 'function_call_output',
      call_id,
      output: 'ok',
    }));
    fresh = outputs.length > 0 ? outputs : [{ role: 'user', content: next }];
    const said =
      style === 'references' && stored
        ? answered.output.map(({ id }) => ({ type: 'item_reference', id }))
        : answered.output;
    all.push(...said, ...fresh);
    previous = answered;
  }
}

function lastResponse(stream: string): Answered {
  const data = stream.trimEnd().split('\ndata: ').at(-1)!;
  return (JSON.parse(data) as { readonly response: Answered }).response;
}

it('a conversation has the same prompts through the Responses API as through chat completions', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.option(fc.constant('Be good.'), { nil: undefined }),
      steps,
      async (system, conversation) => {
        const texts = conversation.map((step) => `${step.answer}<|im_end|>`);
        const [one, other] = [scripted(texts), scripted(texts)];
        await chat(one, system, conversation);
        await respond(other, system, conversation);
        const prompts = ({ sampler }: Scripted): readonly string[] =>
          sampler.calls.map(({ prompt }) => decode(prompt));
        expect(prompts(other)).toEqual(prompts(one));
        expect(other.sampler.calls.map(({ prompt }) => prompt)).toEqual(
          one.sampler.calls.map(({ prompt }) => prompt),
        );
        expect(other.model.metrics()).toEqual(one.model.metrics());
        expect(other.sampler.calls).toHaveLength(conversation.length);
      },
    ),
    { numRuns: 80 },
  );
});
