import { createRuntime } from '@trinity-rft/core';
import { createAgentEndpoint } from '@trinity-rft/workflow/internal';
import { OpenAI } from 'openai';
import { afterEach, expect, it } from 'vitest';
import { rolloutContext, type RolloutEndpoint } from './rollout-context.js';
import { openEndpointServer, type EndpointServer } from './server.js';

const context = rolloutContext();
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

/** Rollout that answers every call with its name, and records the requests. */
interface Named extends RolloutEndpoint {
  readonly asked: string[];
}

async function openServer(): Promise<EndpointServer> {
  const server = await openEndpointServer({ runtime: createRuntime() });
  undo.push(() => server.close());
  return server;
}

function named(server: EndpointServer, name: string): Named {
  const asked: string[] = [];
  const handler = async (request: Request): Promise<Response> => {
    const { messages } = (await request.json()) as { messages: { content: string }[] };
    await new Promise((resolve) => setTimeout(resolve, 1));
    asked.push(messages[0]!.content);
    return Response.json({
      object: 'chat.completion',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: name } }],
    });
  };
  const mount = server.mount({ rollout: name, handler });
  return { asked, endpoint: () => createAgentEndpoint({ ...mount, model: 'm' }) };
}

const models = (server: EndpointServer, count: number): Named[] =>
  Array.from({ length: count }, (_, i) => named(server, `r${i}`));
const ask = async (client: OpenAI, content: string): Promise<string | null> =>
  (await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content }] }))
    .choices[0]!.message.content;
const shared = (): OpenAI =>
  new OpenAI({
    baseURL: context.baseURL,
    apiKey: context.apiKey,
    fetch: context.fetch,
    maxRetries: 0,
  });

/**
 * A queue with one slot: the task that frees the slot starts the next one within its own context,
 * like most queues.
 */
function queueOfOne(): { add<T>(task: () => Promise<T>): Promise<T> } {
  const waiting: (() => Promise<void>)[] = [];
  let busy = false;
  const next = async (): Promise<void> => {
    const task = busy ? undefined : waiting.shift();
    if (!task) return;
    busy = true;
    await task();
    busy = false;
    await next();
  };
  return {
    add: (task) =>
      new Promise((resolve, reject) => {
        waiting.push(() => task().then(resolve, reject));
        void next();
      }),
  };
}

it('sends the calls of one client of a module to the rollout that makes them', async () => {
  const server = await openServer();
  const client = shared();
  const rollouts = models(server, 64);
  await Promise.all(
    rollouts.map((model, i) =>
      context.run(model, async () => {
        for (let turn = 0; turn < 3; turn++) expect(await ask(client, `${i}`)).toBe(`r${i}`);
      }),
    ),
  );
  expect(rollouts.map(({ asked }) => asked)).toEqual(
    rollouts.map((_, i) => [`${i}`, `${i}`, `${i}`]),
  );
});

it('serves clients that read the environment and the global fetch, and leaves other addresses alone', async () => {
  const server = await openServer();
  undo.push(context.install());
  const { OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey } = context.env();
  const plain = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
  const pointedAtServer = new OpenAI({ baseURL: server.contextURL, apiKey, maxRetries: 0 });
  const [model] = models(server, 1);
  await context.run(model!, async () => {
    expect(await ask(plain, 'a')).toBe('r0');
    expect(await ask(pointedAtServer, 'b')).toBe('r0');
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });
  expect(model!.asked).toEqual(['a', 'b']);
});

it('rejects outside of a rollout, after its end, and over a socket', async () => {
  const server = await openServer();
  const client = shared();
  const [model] = models(server, 1);
  const outside = { status: 401, code: 'rollout_unknown' };
  await expect(ask(client, 'x')).rejects.toMatchObject(outside);
  await expect(client.post('/messages')).rejects.toMatchObject({
    error: { type: 'authentication_error', message: expect.stringMatching(/outside of any/) },
  });
  let late: Promise<unknown> | undefined;
  await context.run(model!, () => {
    late = new Promise((resolve) => setTimeout(resolve, 20)).then(() => ask(client, 'x'));
  });
  await expect(late).rejects.toMatchObject({ status: 409, code: 'rollout_closed' });
  const socket = new OpenAI({ baseURL: server.contextURL, apiKey: context.apiKey, maxRetries: 0 });
  await expect(context.run(model!, () => ask(socket, 'x'))).rejects.toThrow(/401.*socket/);
  expect(model!.asked).toEqual([]);
});

it('fails the runs whose calls a shared queue started in the context of another', async () => {
  const server = await openServer();
  const client = shared();
  const queue = queueOfOne();
  const rollouts = models(server, 4);
  const runs = await Promise.allSettled(
    rollouts.map((model, i) => context.run(model, () => queue.add(() => ask(client, `${i}`)))),
  );
  expect(runs.map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'rejected',
    'rejected',
  ]);
  expect(rollouts.slice(1).flatMap(({ asked }) => asked)).toEqual([]);
});

it('keeps contexts apart in a queue that is bound', async () => {
  const server = await openServer();
  const client = shared();
  const queue = context.bindQueue(queueOfOne());
  const rollouts = models(server, 16);
  const answers = await Promise.all(
    rollouts.map((model, i) => context.run(model, () => queue.add(() => ask(client, `${i}`)))),
  );
  expect(answers).toEqual(rollouts.map((_, i) => `r${i}`));
  expect(rollouts.map(({ asked }) => asked)).toEqual(rollouts.map((_, i) => [`${i}`]));
});

it('tells a run that lost all its calls to others', async () => {
  const server = await openServer();
  const [model, other] = models(server, 2);
  const done = Promise.withResolvers<void>();
  const busy = context.run(other!, () => done.promise.then(() => ask(shared(), 'x')));
  await expect(context.run(model!, () => 'no call')).rejects.toThrow(
    /no call in its own context while other runs/,
  );
  done.resolve();
  await busy;
  expect(await context.run(model!, () => 'alone')).toBe('alone');
});
