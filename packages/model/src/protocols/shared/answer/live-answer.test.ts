import type { Sampler, SampledSequence, TokenListener } from '@trinity-rft/core/engine';
import * as fc from 'fast-check';
import type { OpenAI } from 'openai';
import { describe, expect, it } from 'vitest';
import { encode, modelOver, scripted, tools } from '../../../../test/helpers.js';
import type { RecordingModel } from '../../../recording-model.js';

const messages = [{ role: 'user' as const, content: 'hi' }];
const live = { streamText: 'sampled' as const };

interface Gated {
  readonly model: RecordingModel;
  /** Makes the sampler draw the tokens of `text`. */
  draw(text: string): void;
  finish(): void;
  readonly aborted: Promise<unknown>;
}

/** A sampler that draws tokens when the test says so. */
function gated(): Gated {
  const tokens: number[] = [];
  const { promise: listening, resolve: listen } = Promise.withResolvers<TokenListener>();
  const result = Promise.withResolvers<readonly SampledSequence[]>();
  const { promise: aborted, resolve: abort } = Promise.withResolvers<unknown>();
  const sampler: Sampler = {
    maxModelLen: 4096,
    policyVersion: 0,
    adopt: () => Promise.resolve(),
    sample: (_prompt, _options, signal, onTokens) => {
      signal?.addEventListener('abort', () => {
        abort(signal.reason);
        result.reject(signal.reason as Error);
      });
      if (onTokens) listen(onTokens);
      return result.promise;
    },
  };
  const draw = (text: string): void => {
    const drawn = encode(text);
    tokens.push(...drawn);
    void listening.then((onTokens) => onTokens(0, [...drawn]));
  };
  return {
    model: modelOver(sampler, live),
    draw,
    aborted,
    finish: () =>
      result.resolve([
        {
          tokens: Int32Array.from(tokens),
          logprobs: new Float32Array(tokens.length).fill(-0.5),
          stopReason: 'stop',
          policyVersion: 0,
        },
      ]),
  };
}

type Delta = OpenAI.Chat.ChatCompletionChunk.Choice.Delta & { readonly reasoning_content?: string };

describe('a stream of a served model', () => {
  it('has every part as soon as it is certain, and is recorded as it was sampled', async () => {
    const { model, draw, finish } = gated();
    const stream = model
      .openaiClient()
      .chat.completions.create({ model: 'any', messages, tools, stream: true });
    draw('<think>h');
    const chunks = (await stream)[Symbol.asyncIterator]();
    const next = async (): Promise<Delta | undefined> =>
      ((await chunks.next()).value as OpenAI.Chat.ChatCompletionChunk | undefined)?.choices[0]
        ?.delta;
    expect(await next()).toMatchObject({ role: 'assistant', reasoning_content: 'h' });
    draw('m</think>so ');
    expect(await next()).toMatchObject({ content: 'so', reasoning_content: 'm' });
    draw('far\n<tool_call>{"name":"add","arguments":{"a":1}}</tool_call>');
    expect(await next()).toEqual({ content: ' far' });
    expect(await next()).toMatchObject({
      tool_calls: [{ index: 0, function: { name: 'add', arguments: '{"a":1}' } }],
    });
    expect(model.extractExperiencesFromHistory({ clear: false })).toEqual([]);
    draw('<|im_end|>');
    finish();
    expect(await next()).toEqual({});
    expect(await next()).toBeUndefined();
    const [experience] = model.extractExperiencesFromHistory();
    expect(experience?.tokens.slice(experience.promptLength)).toEqual(
      encode(
        '<think>hm</think>so far\n<tool_call>{"name":"add","arguments":{"a":1}}</tool_call><|im_end|>',
      ),
    );
  });

  it('has its text at once and its log-probabilities and ids at the end', async () => {
    const { model, draw, finish } = gated();
    const details = { logprobs: true, return_token_ids: true };
    const stream = model
      .openaiClient()
      .chat.completions.create({ model: 'any', messages, stream: true, ...details });
    draw('so');
    const chunks = (await stream)[Symbol.asyncIterator]();
    const next = async (): Promise<unknown> =>
      ((await chunks.next()).value as OpenAI.Chat.ChatCompletionChunk | undefined)?.choices[0];
    expect(await next()).toMatchObject({ delta: { content: 'so' } });
    draw('<|im_end|>');
    finish();
    const ids = encode('so<|im_end|>');
    expect(await next()).toMatchObject({
      delta: {},
      logprobs: { content: Array.from(ids, () => ({ logprob: -0.5 })) },
      token_ids: [...ids],
    });
    expect(await next()).toMatchObject({ finish_reason: 'stop' });
  });

  it('has the text of a completion at once and its log-probabilities at the end', async () => {
    const { model, draw, finish } = gated();
    const stream = model
      .openaiClient()
      .completions.create({ model: 'any', prompt: 'hi', stream: true, logprobs: 0 });
    draw('so');
    const chunks = (await stream)[Symbol.asyncIterator]();
    const next = async (): Promise<unknown> =>
      ((await chunks.next()).value as OpenAI.Completion | undefined)?.choices[0];
    expect(await next()).toMatchObject({ text: 'so', logprobs: null });
    draw('<|im_end|>');
    finish();
    expect(await next()).toMatchObject({
      text: '',
      logprobs: { tokens: ['s', 'o', '<|im_end|>'] },
    });
  });

  it('ends the sampling when its client leaves, and nothing is recorded', async () => {
    const { model, draw, aborted } = gated();
    const stream = model
      .openaiClient()
      .responses.create({ model: 'any', input: 'hi', stream: true });
    draw('some');
    for await (const event of await stream) if (event.type.endsWith('output_text.delta')) break;
    expect(await aborted).toMatchObject({ code: 'CLIENT_GONE' });
    expect(model.extractExperiencesFromHistory()).toEqual([]);
  });

  it('waits for its end where the text is wanted when it is recorded', async () => {
    const { model } = scripted(['four<|im_end|>']);
    const stream = await model
      .openaiClient()
      .chat.completions.create({ model: 'any', messages, stream: true });
    const deltas: unknown[] = [];
    for await (const chunk of stream) deltas.push(chunk.choices[0]?.delta);
    expect(deltas).toEqual([{ role: 'assistant', content: 'four' }, {}]);
  });
});

/** Parts of turns that are easily split in the wrong place. */
const turn = fc
  .array(
    fc.constantFrom(
      '<think>',
      '</think>',
      '<tool_call>',
      '</tool_call>',
      '{"name": "add", "arguments": {"a": "</tool_call>"}}',
      '{',
      '\n',
      ' ',
      'so',
      '<th',
      'STOP',
      'ST',
    ),
    { maxLength: 10 },
  )
  .map((parts) => parts.join(''))
  // Without `<think>`, only `</think>` shows that the text before it is reasoning, so the deltas of
  // such a turn differ from its answer.
  .filter((text) => text.trimStart().startsWith('<think>') || !text.includes('</think>'));

describe('the deltas of a stream', () => {
  it('make the answer that is not streamed, whatever the model writes', async () => {
    await fc.assert(
      fc.asyncProperty(turn, fc.boolean(), async (text, withTools) => {
        const cut = text.indexOf('STOP');
        const sampled = `${cut < 0 ? text : text.slice(0, cut)}<|im_end|>`;
        const { model } = scripted([sampled, sampled, sampled, sampled], live);
        const client = model.openaiClient();
        const request = {
          model: 'any',
          messages,
          stop: ['STOP'],
          ...(withTools && { tools }),
        };
        const { choices } = await client.chat.completions.create(request);
        const whole = choices[0]!.message as Delta & { readonly content: string | null };
        const streamed = { content: '', reasoning: '', calls: [] as unknown[] };
        for await (const chunk of await client.chat.completions.create({
          ...request,
          stream: true,
        })) {
          const delta = (chunk.choices[0]?.delta ?? {}) as Delta;
          streamed.content += delta.content ?? '';
          streamed.reasoning += delta.reasoning_content ?? '';
          streamed.calls.push(...(delta.tool_calls ?? []).map((call) => call.function));
        }
        expect(streamed).toEqual({
          content: whole.content ?? '',
          reasoning: whole.reasoning_content ?? '',
          calls: (whole.tool_calls ?? []).map((call) => call.function),
        });
        const asked = { model: 'any', input: 'hi' };
        const response = await client.responses.create(asked);
        const events = client.responses.stream(asked);
        let delta = '';
        events.on('response.output_text.delta', (event) => void (delta += event.delta));
        expect((await events.finalResponse()).output_text).toBe(response.output_text);
        expect(delta).toBe(response.output_text);
      }),
      { numRuns: 150 },
    );
  });
});
