import { recordingLogger } from '@trinity-rft/testing';
import { describe, expect, it } from 'vitest';
import { createSessions, type Sessions } from '../src/sessions.js';
import { recorded, served } from './helpers.js';

const messages = (...texts: readonly string[]): object => ({
  messages: texts.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content })),
});

describe('sessions', () => {
  it('are named by header, metadata or user, and else by how the conversation begins', async () => {
    const { ask, made, turns } = await served();
    await ask(1, { headers: { 'x-trinity-session': 'a' }, body: messages('hello') });
    await ask(1, { body: { ...messages('hello'), metadata: { 'x-trinity-session': 'a' } } });
    await ask(1, { body: { ...messages('hello'), user: 'a' } });
    await ask(1, { body: messages('hello') });
    await ask(1, { body: messages('hello', 'yes', 'go on') });
    await ask(1, { body: messages('bye') });
    expect(made.slice(0, 2)).toEqual(['name:a', 'user:a']);
    expect(made.slice(2).map((name) => name.slice(0, 8))).toEqual(['opening:', 'opening:']);
    await turns.close();
  });

  it('are found again by names that are cut inside a character', async () => {
    const { ask, made, turns } = await served();
    const name = `${'a'.repeat(255)}\u{1F600}`;
    const bodies = [{ user: name }, { metadata: { 'x-trinity-session': name } }];
    for (const body of bodies) {
      const id = await ask(1, { body });
      await ask(1, { body: { input: 'more', previous_response_id: id } });
    }
    expect(made).toHaveLength(2);
    await turns.close();
  });

  it('follow the response that is continued', async () => {
    const { ask, made, turns } = await served();
    const id = await ask(1, { headers: { 'x-trinity-session': 'a' } });
    await ask(1, { body: { input: 'more', previous_response_id: id } });
    expect(made).toEqual(['name:a']);
    await turns.close();
  });

  it('are forgotten, the least recently used first, when there are too many or they hold too much', async () => {
    const { ask, made, serve, turns } = await served({ limits: { maxSessions: 2, maxTokens: 9 } });
    const as = (name: string): Promise<string> =>
      ask(1, { headers: { 'x-trinity-session': name } });
    for (const name of ['a', 'b', 'a', 'c', 'a', 'b']) await as(name);
    expect(made).toEqual(['name:a', 'name:b', 'name:c', 'name:b']);
    // Each call adds three tokens; the fourth call of a session exceeds the limit of all sessions
    // together, and evicts the others.
    for (let i = 0; i < 5; i++) await as('z');
    expect(made.slice(4)).toEqual(['name:z']);
    const metrics = await serve.handler(new Request('http://server/metrics'));
    expect(await metrics.json()).toMatchObject({
      'rollout/sessions': 1,
      'rollout/total_experience_count': 11,
    });
    await turns.close();
  });
});

describe('the table of sessions', () => {
  /** Returns a table whose models keep `tokens` for each call, and the sessions that were made. */
  function tableOf(maxTokens: number): {
    readonly sessions: Sessions;
    readonly made: readonly string[];
    begin(name: string, tokens: number): () => void;
  } {
    const made: string[] = [];
    const kept = new Map<string, number>();
    const sessions = createSessions(
      (name) => {
        made.push(name);
        kept.set(name, 0);
        return { handler: async () => Response.json({}), keptTokens: () => kept.get(name)! };
      },
      { maxTokens },
    );
    return {
      sessions,
      made,
      begin: (name, tokens) => {
        const { end } = sessions.begin(name);
        kept.set(name, kept.get(name)! + tokens);
        return end;
      },
    };
  }

  it('neither evicts nor counts a session with a call in progress', () => {
    const { begin, made } = tableOf(100);
    // Calls overlap, so that the session is never idle.
    let end = begin('busy', 101);
    for (let i = 0; i < 3; i++) {
      for (const name of ['a', 'b']) begin(name, 1)();
      const endEarlier = end;
      end = begin('busy', 101);
      endEarlier();
    }
    expect(made).toEqual(['busy', 'a', 'b']);
    end();
    begin('a', 1)();
    expect(made).toEqual(['busy', 'a', 'b', 'a']);
  });

  it('counts the tokens that the model of a session keeps, which may be fewer than before', () => {
    const { begin, made, sessions } = tableOf(100);
    for (const tokens of [90, -80, 0]) begin('forgets', tokens)();
    begin('other', 90)();
    begin('forgets', 0)();
    expect([made, sessions.size]).toEqual([['forgets', 'other'], 2]);
  });
});

it.each([
  ['GET', 'models'],
  ['GET', 'nope'],
  ['DELETE', 'responses/r'],
  ['POST', 'messages/count_tokens'],
])('a request without a model call makes no session: %s %s', async (method, path) => {
  let calls = 0;
  const made: string[] = [];
  const { serve, turns } = await served({
    limits: { maxSessions: 1 },
    createModel: (session, onCall) => {
      made.push(session);
      let tokens = 0;
      return {
        handler: async ({ url }) => {
          if (url.endsWith('/chat/completions')) {
            await onCall({ msgId: `m${calls++}`, experiences: [recorded(2)] });
            tokens += 2;
          }
          return Response.json({});
        },
        keptTokens: () => tokens,
      };
    },
  });
  const ask = (asked: string, init: RequestInit, session: string): Promise<Response> =>
    serve.handler(
      new Request(`http://server/v1/${asked}`, {
        ...init,
        headers: { 'x-trinity-session': session },
      }),
    );
  await ask('chat/completions', { method: 'POST' }, 'busy');
  await ask(path, { method }, 'other');
  await ask('chat/completions', { method: 'POST' }, 'busy');
  expect(made.filter((name) => name === 'name:busy')).toHaveLength(1);
  const metrics = await serve.handler(new Request('http://server/metrics'));
  expect(await metrics.json()).toMatchObject({ 'rollout/sessions': 1 });
  await turns.close();
});

it('a session is in use until the client has the whole stream', async () => {
  const made: string[] = [];
  const { serve, turns } = await served({
    limits: { maxSessions: 1 },
    createModel: (session, onCall) => {
      made.push(session);
      return {
        handler: async () => {
          await onCall({ msgId: session, experiences: [recorded(2)] });
          const body = new Blob(['data: 1\n\n']).stream();
          return new Response(body, { headers: { 'transfer-encoding': 'chunked' } });
        },
        keptTokens: () => 2,
      };
    },
  });
  const ask = (session: string): Promise<Response> =>
    serve.handler(
      new Request('http://server/v1/chat/completions', {
        method: 'POST',
        headers: { 'x-trinity-session': session },
      }),
    );
  const streamed = await ask('a');
  await (await ask('b')).text();
  await streamed.text();
  await (await ask('a')).text();
  expect(made).toEqual(['name:a', 'name:b']);
  await (await ask('b')).text();
  expect(made).toEqual(['name:a', 'name:b', 'name:b']);
  await turns.close();
});

describe('the end of a server', () => {
  it('waits for what is in progress and rejects what comes', async () => {
    let answer: ((response: Response) => void) | undefined;
    const { serve, turns } = await served({
      createModel: () => ({
        handler: () => new Promise((resolve) => (answer = resolve)),
        keptTokens: () => 0,
      }),
    });
    const request = (): Request =>
      new Request('http://server/v1/chat/completions', { method: 'POST' });
    const asked = serve.handler(request());
    await new Promise((resolve) => setImmediate(resolve));
    let drained = false;
    const drain = serve.drain(60_000).then(() => (drained = true));
    const refused = await serve.handler(request());
    expect([refused.status, refused.headers.get('retry-after'), drained]).toEqual([
      503,
      '5',
      false,
    ]);
    answer?.(Response.json({}));
    expect((await asked).status).toBe(200);
    await drain;
    await turns.close();
  });

  it('waits for a stream until its client has all of it', async () => {
    const { serve, turns } = await served({
      createModel: () => ({
        handler: async () =>
          new Response(new Blob(['data: 1\n\n']).stream(), {
            headers: { 'transfer-encoding': 'chunked' },
          }),
        keptTokens: () => 0,
      }),
    });
    const response = await serve.handler(
      new Request('http://server/v1/chat/completions', { method: 'POST', body: '{}' }),
    );
    let drained = false;
    const drain = serve.drain(60_000).then(() => (drained = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(drained).toBe(false);
    expect(await response.text()).toBe('data: 1\n\n');
    await drain;
    await turns.close();
  });

  it('fails a call that could not be written down, and logs why', async () => {
    const logger = recordingLogger();
    const { serve, turns } = await served({
      logger,
      createModel: (_, onCall) => ({
        handler: async () => {
          await onCall({ msgId: 'same', experiences: [] });
          await turns.close();
          await onCall({ msgId: 'other', experiences: [] });
          return Response.json({});
        },
        keptTokens: () => 0,
      }),
    });
    const response = await serve.handler(
      new Request('http://server/v1/chat/completions', { method: 'POST' }),
    );
    expect([response.status, await response.json()]).toMatchObject([
      500,
      { error: { message: 'The server failed to answer. Its log has the cause.' } },
    ]);
    expect(logger.lines).toMatchObject([
      { level: 'error', message: expect.stringContaining('calls.db') as string },
    ]);
  });
});
