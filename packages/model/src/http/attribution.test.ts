import { createRuntime, type Experience } from '@trinity-rft/core';
import { recordingLogger, scriptedSampler } from '@trinity-rft/testing';
import { OpenAI } from 'openai';
import { expect, it } from 'vitest';
import { decode, encode, modelOver } from '../../test/helpers.js';
import type { RecordingModel } from '../recording-model.js';
import { openEndpointServer, type EndpointServer } from './server.js';

const members = 64;

/**
 * Repeats the last message after as many ticks as it has characters, so that answers overtake each
 * other.
 */
const echo = scriptedSampler({
  script: (prompt) =>
    encode(
      `${
        decode(prompt)
          .split('\n')
          .findLast((line) => line.includes('#'))!
          .split('<')[0]!
      }<|im_end|>`,
    ),
});
const sampler: typeof echo = {
  ...echo,
  sample: async (prompt, options, signal) => {
    await new Promise((resolve) => setTimeout(resolve, options.seed % 5));
    return echo.sample(prompt, options, signal);
  },
};

interface Member {
  readonly name: string;
  readonly model: RecordingModel;
  readonly over: AbortController;
}

function mountMember(server: EndpointServer, i: number): Member {
  const over = new AbortController();
  const mounted = server.mount({
    handler: (request) => model.answer(request),
    signal: over.signal,
  });
  const model = modelOver(sampler, {
    mounted,
    signal: over.signal,
    seedFor: (call) => i * 7 + call,
  });
  return { name: `#${i}#`, model, over };
}

type Way = (client: OpenAI, name: string) => Promise<void>;

async function chat(client: OpenAI, name: string, stream: boolean): Promise<void> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [];
  for (let turn = 0; turn < 3; turn++) {
    messages.push({ role: 'user', content: `${name} ${turn}` });
    const message = stream
      ? await client.chat.completions.stream({ model: 'm', messages }).finalMessage()
      : (await client.chat.completions.create({ model: 'm', messages })).choices[0]!.message;
    expect(message.content).toBe(`${name} ${turn}`);
    messages.push({ role: 'assistant', content: message.content });
  }
}

const ways: Readonly<Record<string, Way>> = {
  'chat completions': (client, name) => chat(client, name, false),
  'streamed chat completions': (client, name) => chat(client, name, true),
  responses: async (client, name) => {
    let before: { previous_response_id?: string } = {};
    for (let turn = 0; turn < 3; turn++) {
      const response = await client.responses.create({
        model: 'm',
        input: `${name} ${turn}`,
        ...before,
      });
      expect(response.output_text).toBe(`${name} ${turn}`);
      before = { previous_response_id: response.id };
    }
  },
};

const texts = (experiences: readonly Experience[]): readonly string[] =>
  experiences.map(({ tokens }) => decode(tokens));

it.each(
  Object.keys(ways).flatMap((way) =>
    [true, false].map((http) => [way, http ? 'HTTP' : 'the process'] as const),
  ),
)('keeps 64 rollouts at once apart: %s over %s', async (way, transport) => {
  const resources = (): number =>
    process.getActiveResourcesInfo().filter((name) => /TCP(?:Server|Socket)Wrap/.test(name)).length;
  const before = resources();
  const server = await openEndpointServer({ runtime: createRuntime() });
  const rollouts = Array.from({ length: members }, (_, i) => mountMember(server, i));
  await Promise.all(
    rollouts.map(({ model, name }) => {
      const { baseURL, apiKey, fetch } = model.endpoint();
      return ways[way]!(
        new OpenAI({ baseURL, apiKey, maxRetries: 0, ...(transport !== 'HTTP' && { fetch }) }),
        name,
      );
    }),
  );
  for (const { model, name } of rollouts) {
    const recorded = texts(model.extractExperiencesFromHistory());
    expect(recorded).toHaveLength(3);
    for (const text of recorded) expect(new Set(text.match(/#\d+#/g))).toEqual(new Set([name]));
  }
  for (const { over } of rollouts) over.abort();
  await server.close();
  // Clients close their ends a moment later; the server holds no resources.
  await expect.poll(resources).toBeLessThanOrEqual(before);
});

it('lets no client collapse a group, by whatever way it asks, and says so once', async () => {
  const logger = recordingLogger();
  const runtime = { ...createRuntime(), logger };
  const server = await openEndpointServer({ runtime });
  const seen = scriptedSampler({ script: () => encode('ok<|im_end|>') });
  const notices = new Set<string>();
  const model = (run: number): RecordingModel => {
    const mounted = server.mount({ handler: (request) => made.handler(request) });
    const made = modelOver(seen, {
      mounted,
      runtime,
      notices,
      seedFor: (call) => run * 100 + call,
      defaults: { temperature: 0.9 },
    });
    return made;
  };
  const wish = { model: 'm', temperature: 0, top_p: 0.1 };
  const input = [{ role: 'user' as const, content: 'hi' }];
  for (let run = 0; run < 4; run++) {
    const { baseURL, apiKey } = model(run).endpoint();
    const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
    await client.chat.completions.create({ ...wish, seed: 1, messages: input });
    await client.chat.completions.stream({ ...wish, seed: 1, messages: input }).finalMessage();
    await client.responses.create({ ...wish, input: 'hi' });
    await client.completions.create({ ...wish, seed: 1, prompt: 'hi' });
  }
  await server.close();
  const sampled = seen.calls.map(({ options }) => options);
  expect(new Set(sampled.map(({ seed }) => seed)).size).toBe(16);
  for (const options of sampled) expect(options).toMatchObject({ temperature: 0.9, topP: 1 });
  const told = logger.messages('info').filter((message) => message.includes('temperature'));
  expect(told.length).toBe(new Set(told).size);
  expect(told.length).toBeGreaterThan(0);
});
