/** Failures of servers behind one sampler. */
import { rm } from 'node:fs/promises';
import { silentLogger, systemClock } from '@trinity-rft/core';
import { fakeEngine, manualClock, openFakeEngine, recordingLogger } from '@trinity-rft/testing';
import { type GeneratedAnswer, type VllmStandIn } from '@trinity-rft/test-support';
import { describe, expect, it, vi } from 'vitest';
import { sglangSampler } from '../src/index.js';
import { checkpoint, openSampler, prompt, startServer, vocabSize } from './support.js';

const options = { maxTokens: 12, seed: 5 };
const until = (check: () => unknown): Promise<unknown> =>
  vi.waitUntil(check, { timeout: 60_000, interval: 5 });
/** Waits on the clock while a call waits for its only server: deadline, report and pause. */
const pausing = 3;
const generated = ({ requests }: VllmStandIn): number =>
  requests.filter((path) => path === '/inference/v1/generate').length;

/** Returns a change that edits every choice of an answer. */
const change =
  (edit: (choice: GeneratedAnswer['choices'][number]) => void) =>
  (answer: GeneratedAnswer): unknown => {
    answer.choices.forEach(edit);
    return answer;
  };

describe('several servers', () => {
  it('share the calls, and a prompt goes where its beginning was read', async () => {
    const servers = [await startServer(), await startServer()];
    const sampler = await openSampler(servers);
    const before = servers.map(generated);
    for (const server of servers) server.setWriting(false);
    const other = prompt.map((token) => token + 1);
    const texts = [prompt, other].flatMap((one) =>
      [1, 2, 3].map((seed) => sampler.sample(one, { ...options, seed })),
    );
    await until(() => servers.every(({ writing }) => writing === 3));
    for (const server of servers) server.setWriting(true);
    await Promise.all(texts);
    const [first = 0, second = 0] = servers.map((one, i) => generated(one) - (before[i] ?? 0));
    expect([first, second]).toEqual([3, 3]);
    await sampler.sample(other, options);
    await sampler.sample(other, options);
    expect(
      servers
        .map(generated)
        .map((count, i) => count - (before[i] ?? 0))
        .toSorted((a, b) => a - b),
    ).toEqual([3, 5]);
  });

  it('lose no text when one is killed, and bring it back with the weights in use', async () => {
    const servers = [await startServer(), await startServer()] as const;
    const sampler = await openSampler(servers);
    await sampler.adopt({ kind: 'checkpoint', directory: await checkpoint(1) }, 1);
    for (const server of servers) server.setWriting(false);
    const texts = Array.from({ length: 8 }, (_, seed) =>
      sampler.sample(Int32Array.of(seed, 1), { ...options, seed }),
    );
    await until(() => servers.every(({ writing }) => writing === 4));
    await servers[0].kill();
    servers[1].setWriting(true);
    const written = (await Promise.all(texts)).flat();
    expect(written.map(({ tokens, policyVersion }) => [tokens.length, policyVersion])).toEqual(
      texts.map(() => [12, 1]),
    );
    servers[0].setWriting(true);
    const reloads = (): number =>
      servers[0].requests.filter((path) => path === '/collective_rpc').length;
    expect(reloads()).toBe(1);
    await servers[0].restart();
    await until(() => reloads() === 2);
    await servers[1].kill();
    const [text] = await sampler.sample(Int32Array.of(3, 1), { ...options, seed: 3 });
    expect([...text!.tokens]).toEqual([...written[3]!.tokens]);
  });

  it('leave one out that scores a text differently after it has taken weights', async () => {
    const honest = await startServer();
    const stale = await startServer({
      open: async () => fakeEngine({ vocabSize, seed: 9 }),
    });
    const sampler = await openSampler([honest, stale]);
    const { trainer } = fakeEngine({ vocabSize, seed: 1 });
    const rows = [{ tokens: prompt, promptLength: 1, temperature: 1 }];
    const { logprobs } = await trainer.forward({ rows });
    const probe = { tokens: [...prompt], promptLength: 1, logprobs: [...logprobs] };
    await sampler.adopt({ kind: 'checkpoint', directory: await checkpoint(1), probe }, 1);
    const alone = await openSampler([await startServer()]);
    await alone.adopt({ kind: 'checkpoint', directory: await checkpoint(1) }, 1);
    for (const seed of [1, 2, 3, 4]) {
      const call = [Int32Array.of(seed, 1), { maxTokens: 12, seed }] as const;
      const [[text], [right]] = [await sampler.sample(...call), await alone.sample(...call)];
      expect([...text!.tokens]).toEqual([...right!.tokens]);
    }
  });

  it('report tokens while they sample, and each once when a server is lost', async () => {
    const servers = [await startServer(), await startServer()] as const;
    const sampler = await openSampler([...servers]);
    const [whole, second] = await sampler.sample(prompt, { ...options, n: 2 });
    const reported: number[][] = [[], []];
    const onTokens = (choice: number, tokens: readonly number[]): void => {
      reported[choice]!.push(...tokens);
      // Stops the first server after some tokens have arrived.
      if (reported[0]!.length === 2) void servers[0].kill();
    };
    const streamed = await sampler.sample(prompt, { ...options, n: 2 }, undefined, onTokens);
    expect(reported).toEqual([[...whole!.tokens], [...second!.tokens]]);
    expect(streamed.map(({ logprobs }) => [...logprobs])).toEqual(
      [whole, second].map((one) => [...one!.logprobs]),
    );
  });

  it('are not to blame for an error of the listener', async () => {
    const server = await startServer();
    const logger = recordingLogger();
    const sampler = await openSampler([server], { logger });
    const before = generated(server);
    const failed = sampler.sample(prompt, options, undefined, () => {
      throw new TypeError('The listener failed.');
    });
    await expect(failed).rejects.toThrow(TypeError);
    expect(generated(server)).toBe(before + 1);
    expect(logger.messages()).toEqual([]);
  });

  it('notice that one has come back with other weights than were brought', async () => {
    const server = await startServer();
    const sampler = await openSampler([server]);
    await sampler.adopt({ kind: 'checkpoint', directory: await checkpoint(1) }, 1);
    const [before] = await sampler.sample(prompt, options);
    await server.kill();
    await server.restart();
    const [after] = await sampler.sample(prompt, options);
    expect([...after!.tokens]).toEqual([...before!.tokens]);
    expect(after!.policyVersion).toBe(1);
  });

  it('leave one out that answers with its initial weights after a restart', async () => {
    const server = await startServer();
    const sampler = await openSampler([server]);
    await sampler.adopt({ kind: 'checkpoint', directory: await checkpoint(1) }, 1);
    const reloads = (): number =>
      server.requests.filter((path) => path === '/collective_rpc').length;
    const restarted = change((one) => void (one.weight_versions[0]!.version = 'default'));
    server.fail({ change: restarted });
    expect((await sampler.sample(prompt, options))[0]).toMatchObject({ policyVersion: 1 });
    expect(reloads()).toBe(2);
    server.fail({ change: restarted });
    await sampler.score?.({ tokens: prompt, promptLength: 1, temperature: 1 });
    expect(reloads()).toBe(3);
  });

  it('deliver an adapter again that SGLang has lost', async () => {
    const server = await startServer({ maxModelLen: 72 });
    const sampler = await openSampler([server], { lora: true }, sglangSampler.open);
    await sampler.adopt({ kind: 'checkpoint', directory: await checkpoint(1) }, 1);
    const [before] = await sampler.sample(prompt, options);
    const lose = async (): Promise<void> => {
      const body = JSON.stringify({ lora_name: [...server.adapters][0] });
      await fetch(`${server.url}/v1/unload_lora_adapter`, { method: 'POST', body });
      expect(server.adapters.size).toBe(0);
    };
    await lose();
    const [after] = await sampler.sample(prompt, options);
    expect([...after!.tokens]).toEqual([...before!.tokens]);
    await lose();
    expect(await sampler.score?.({ tokens: prompt, promptLength: 1, temperature: 1 })).toHaveLength(
      2,
    );
  });

  it('score a text again with the weights that one has lost', async () => {
    const server = await startServer();
    const sampler = await openSampler([server]);
    await sampler.adopt({ kind: 'checkpoint', directory: await checkpoint(1) }, 1);
    const row = { tokens: prompt, promptLength: 1, temperature: 1 };
    const before = await sampler.score?.(row);
    server.fail({ status: 404 });
    expect(await sampler.score?.(row)).toEqual(before);
  });

  it('do a call again elsewhere that one of them fails at, wherever its prompt was read', async () => {
    const servers = [await startServer(), await startServer()] as const;
    const sampler = await openSampler(servers);
    const [usual] = await sampler.sample(prompt, options);
    for (const server of servers) server.fail({ status: 500 });
    const before = servers.map(generated);
    const [again] = await sampler.sample(prompt, options);
    expect([...again!.tokens]).toEqual([...usual!.tokens]);
    const asked = servers.map((server, i) => generated(server) - before[i]!);
    expect(asked.toSorted((a, b) => a - b)).toEqual([1, 2]);
  });

  it('finish a text with the adapter it began with, which then goes', async () => {
    const server = await startServer();
    const sampler = await openSampler([server], { lora: true });
    const [one, two] = [await checkpoint(1), await checkpoint(2)];
    await sampler.adopt({ kind: 'checkpoint', directory: one }, 1);
    server.setWriting(false);
    const writing = sampler.sample(prompt, options);
    await until(() => server.writing === 1);
    await sampler.adopt({ kind: 'checkpoint', directory: two }, 2);
    expect(server.adapters.size).toBe(2);
    server.setWriting(true);
    expect((await writing)[0]).toMatchObject({ policyVersion: 1 });
    await until(() => server.adapters.size === 1);
    expect((await sampler.sample(prompt, options))[0]).toMatchObject({ policyVersion: 2 });
  });

  it('say which token is of which weights where these change in flight', async () => {
    const server = await startServer();
    const sampler = await openSampler([server], { inFlight: 'continue' });
    await sampler.adopt({ kind: 'checkpoint', directory: await checkpoint(1) }, 1);
    server.setWriting(false);
    const writing = sampler.sample(prompt, { maxTokens: 60, seed: 1 });
    await until(() => server.writing === 1);
    await sampler.adopt({ kind: 'checkpoint', directory: await checkpoint(2) }, 2);
    server.setWriting(true);
    const [text] = await writing;
    expect(text).toMatchObject({ policyVersion: 1 });
    expect(text!.versions?.map(({ policyVersion }) => policyVersion)).toEqual([1, 2]);
    expect(text!.versions?.at(-1)?.end).toBe(60);
  });
});

describe('a delivery that fails', () => {
  it.each([true, false])('leaves no server with the new weights (adapters: %s)', async (lora) => {
    const servers = [await startServer(), await startServer()];
    const sampler = await openSampler(servers, { lora });
    await sampler.adopt({ kind: 'checkpoint', directory: await checkpoint(1) }, 1);
    const [before] = await sampler.sample(prompt, options);
    // The servers take the weights, and fail at the text that verifies them.
    for (const server of servers) server.fail({ status: 500 });
    const refused = sampler.adopt({ kind: 'checkpoint', directory: await checkpoint(2) }, 2);
    await expect(refused).rejects.toMatchObject({ code: 'DELIVERY_REFUSED' });
    const [after] = await sampler.sample(prompt, options);
    expect([...after!.tokens]).toEqual([...before!.tokens]);
    expect(after!.policyVersion).toBe(1);
  });

  it('is followed by one that succeeds, also where the weights before are gone', async () => {
    const server = await startServer();
    const sampler = await openSampler([server]);
    const first = await checkpoint(1);
    await sampler.adopt({ kind: 'checkpoint', directory: first }, 1);
    await rm(first, { recursive: true });
    server.fail({ status: 500 });
    const second = { kind: 'checkpoint', directory: await checkpoint(2) } as const;
    await expect(sampler.adopt(second, 2)).rejects.toMatchObject({ code: 'DELIVERY_REFUSED' });
    await sampler.adopt(second, 2);
    expect((await sampler.sample(prompt, options))[0]).toMatchObject({ policyVersion: 2 });
  });

  it('because no server answers ends soon, and a server that answers gets the weights', async () => {
    const [dead, alive] = [await startServer(), await startServer()];
    const clock = manualClock();
    const sampler = await openSampler([dead, alive], { clock });
    dead.freeze();
    const adopt = async (version: number): Promise<unknown> => {
      const before = dead.requests.length;
      const directory = await checkpoint(version);
      const adopted = sampler
        .adopt({ kind: 'checkpoint', directory }, version)
        .catch((error: unknown) => error);
      await until(() => dead.requests.length > before);
      await clock.advance(15_000);
      return adopted;
    };
    expect(await adopt(1)).toBeUndefined();
    expect((await sampler.sample(prompt, options))[0]).toMatchObject({ policyVersion: 1 });
    await alive.kill();
    const refused = sampler.adopt({ kind: 'checkpoint', directory: await checkpoint(2) }, 2);
    await expect(refused).rejects.toMatchObject({ code: 'DELIVERY_REFUSED' });
    expect(await adopt(3)).toMatchObject({
      code: 'DELIVERY_REFUSED',
      message: expect.stringContaining('/health did not answer within 15 s'),
    });
  });

  it('because the sampler is closed leaves no server paused', async () => {
    const loaded = Promise.withResolvers<void>();
    const server = await startServer({
      open: async (folder) => {
        if (folder !== undefined) await loaded.promise;
        return openFakeEngine(folder, { vocabSize });
      },
    });
    const sampler = await openSampler([server]);
    const adopted = sampler.adopt({ kind: 'checkpoint', directory: await checkpoint(1) }, 1);
    const failed = adopted.catch((error: unknown) => error);
    await until(() => server.requests.at(-1) === '/collective_rpc');
    await sampler.close();
    expect(server.requests.at(-1)).toBe('/resume');
    expect(await failed).toMatchObject({ code: 'DELIVERY_REFUSED' });
    loaded.resolve();
  });
});

describe('a server', () => {
  it.each([
    ['a number that is none', change((one) => void (one.logprobs.content[0]!.logprob = null))],
    ['fewer log-probabilities than tokens', change((one) => void one.logprobs.content.pop())],
    ['a token that there is not', change((one) => void (one.token_ids[0] = vocabSize))],
    ['more tokens than asked for', change((one) => void one.token_ids.push(...Array(60).fill(1)))],
    ['weights for a part', change((one) => void (one.weight_versions[0]!.end = 1))],
    ['too few choices', () => ({ choices: [] })],
    ['something else', () => 'Bad gateway'],
  ])('that answers %s is asked again, and named', async (_, edit) => {
    const server = await startServer();
    const sampler = await openSampler([server]);
    server.fail({ change: edit });
    expect((await sampler.sample(prompt, options))[0]!.tokens).toHaveLength(12);
    server.fail({ change: edit }, { change: edit }, { change: edit });
    await expect(sampler.sample(prompt, options)).rejects.toMatchObject({
      code: 'SAMPLER_ANSWER_UNUSABLE',
      message: expect.stringContaining(`${server.url}/inference/v1/generate`),
    });
  });

  it('that asks to wait is left alone as long as it says', async () => {
    const server = await startServer();
    const clock = manualClock();
    const sampler = await openSampler([server], { clock });
    server.fail({ status: 503, headers: { 'retry-after': '7' } }, { status: 429 });
    const text = sampler.sample(prompt, options);
    const before = generated(server);
    await until(() => generated(server) === before + 1);
    await until(() => clock.sleeping === pausing);
    await clock.advance(6900);
    expect(generated(server)).toBe(before + 1);
    await clock.advance(200);
    await until(() => generated(server) === before + 2);
    await until(() => clock.sleeping === pausing);
    await clock.advance(1000);
    expect((await text)[0]!.tokens).toHaveLength(12);
  });

  it('that is away is reported for as long as a call waits for it', async () => {
    const server = await startServer();
    const [clock, logger] = [manualClock(), recordingLogger()];
    const sampler = await openSampler([server], { clock, logger });
    const reports = (): readonly string[] =>
      logger.messages().filter((line) => line.startsWith('Wait'));
    server.fail({ status: 503, headers: { 'retry-after': '100' } });
    const [ended, other] = [new AbortController(), new AbortController()];
    const first = sampler.sample(prompt, options, ended.signal).catch((error: unknown) => error);
    await until(() => clock.sleeping >= 3);
    const second = sampler.sample(prompt, options, other.signal).catch((error: unknown) => error);
    await clock.advance(5000);
    expect(reports()).toEqual([expect.stringContaining('server that works (5 s until now)')]);
    ended.abort();
    await first;
    await clock.advance(5000);
    expect(reports()).toHaveLength(2);
    other.abort();
    await second;
    await clock.advance(60_000);
    expect(reports().slice(2)).toEqual([expect.stringContaining('the wait is over')]);
  });

  it('that asks for no pause is left alone for a short one', async () => {
    const server = await startServer();
    const clock = manualClock();
    const sampler = await openSampler([server], { clock });
    server.fail({ status: 503, headers: { 'retry-after': '0' } });
    const before = generated(server);
    const text = sampler.sample(prompt, options);
    await until(() => generated(server) === before + 1);
    await until(() => clock.sleeping === pausing);
    await clock.advance(400);
    expect(generated(server)).toBe(before + 1);
    await clock.advance(100);
    expect((await text)[0]!.tokens).toHaveLength(12);
  });

  it('that keeps connections open and says nothing is left out after three missed beats', async () => {
    const [dead, alive] = [await startServer(), await startServer()];
    const clock = manualClock();
    const sampler = await openSampler([dead, alive], { clock });
    dead.freeze();
    const text = sampler.sample(prompt, options);
    await until(() => dead.requests.at(-1) === '/inference/v1/generate');
    const beats = (): number => dead.requests.filter((path) => path === '/health').length;
    for (const count of [1, 2, 3]) {
      await clock.advance(5000);
      await until(() => beats() === count);
      await clock.advance(5000);
      await systemClock.sleep(20);
    }
    expect((await text)[0]!.tokens).toHaveLength(12);
  });

  it('that never answers is waited for no longer than the deadline', async () => {
    const server = await startServer();
    const clock = manualClock();
    const sampler = await openSampler([server], { clock, timeoutMs: 3000 });
    server.fail({});
    const text = sampler.sample(prompt, options);
    const late = text.catch((error: unknown) => error);
    await until(() => server.requests.at(-1) === '/inference/v1/generate');
    await systemClock.sleep(20);
    await clock.advance(3001);
    expect(await late).toMatchObject({ status: 504, code: 'SAMPLER_TIMEOUT' });
  });

  it('that says nothing at the start is waited for no longer than the message says', async () => {
    const server = await startServer();
    server.freeze();
    const clock = manualClock();
    const failed = openSampler([server], { clock }).catch((error: unknown) => error);
    await until(() => server.requests.length > 0);
    await clock.advance(120_000);
    expect(await failed).toMatchObject({
      code: 'SAMPLER_UNREACHABLE',
      message: expect.stringContaining('did not answer within 120 s: it neither answers nor'),
    });
  });

  it('that fails at the start is named with its failure, and ends the wait for others', async () => {
    const [broken, unfit] = [await startServer(), await startServer({ maxModelLen: 64 })];
    broken.fail(...Array.from({ length: 200 }, () => ({ status: 500 })));
    const clock = manualClock();
    const failed = openSampler([broken], { clock }).catch((error: unknown) => error);
    await until(() => clock.sleeping === 3);
    await clock.advance(120_000);
    expect(await failed).toMatchObject({
      code: 'SAMPLER_UNREACHABLE',
      message: expect.stringMatching(/did not answer within 120 s: .*answered 500: a fault/),
    });

    await expect(openSampler([unfit, broken])).rejects.toMatchObject({
      code: 'SAMPLER_SERVER_UNFIT',
    });
    const before = broken.requests.length;
    await systemClock.sleep(1100);
    expect(broken.requests.length).toBe(before);
  });

  it('that must be started with other options says with which', async () => {
    const cases = [
      [{ scaleOut: false }, '--enable-scale-out'],
      [{ processed: false }, '--logprobs-mode processed_logprobs'],
      [{ maxModelLen: 64 }, '--max-model-len 65'],
      [{ apiKey: 'right' }, 'api_key'],
    ] as const;
    for (const [started, fix] of cases)
      await expect(openSampler([await startServer(started)])).rejects.toMatchObject({
        code: 'SAMPLER_SERVER_UNFIT',
        message: expect.stringContaining(fix),
      });
    const locked = await startServer({ apiKey: 'right' });
    await openSampler([{ url: locked.url, apiKey: 'right' }]);
  });

  it('that has another vocabulary is refused, with the first difference', async () => {
    const server = await startServer();
    const decode = (ids: readonly number[]): string => String.fromCodePoint(...ids);
    const same = {
      texts: [{ text: 'ab', ids: [97, 98] }],
      tokens: [{ id: 99, text: ' c' }],
      decode,
    };
    await openSampler([server], { vocabulary: same });
    const logger = recordingLogger();
    const longer = [{ text: 'a b', ids: [97, 98] }];
    await openSampler([server], { vocabulary: { ...same, texts: longer }, logger });
    expect(logger.messages().join()).toContain(
      `${server.url} cuts texts differently: the text "a b" is [97, 98] here and [97, 32, 98] there, from token 1 on.`,
    );
    const other = [{ text: 'ab', ids: [97, 98, 99] }];
    await expect(
      openSampler([server], { vocabulary: { ...same, texts: other } }),
    ).rejects.toMatchObject({
      code: 'SAMPLER_VOCABULARY',
      message: expect.stringContaining(
        `${server.url} is not that of model.model_path: the text "ab" is [97, 98, 99] here and [97, 98] there, from token 2 on.`,
      ),
    });
    const last = [{ id: 100, text: 'e' }];
    await expect(openSampler([server], { vocabulary: { ...same, tokens: last } })).rejects.toThrow(
      'the id 100 is "e" here and "d" there',
    );
    const smaller = await startServer({ vocabSize: vocabSize - 1 });
    await expect(openSampler([smaller])).rejects.toThrow(`which has ${vocabSize} tokens`);
  });

  it('is never sent what it would ignore, or die of', async () => {
    const server = await startServer({ tokenizer: false });
    const sampler = await openSampler([server]);
    const before = generated(server);
    const refused = [
      sampler.sample(Int32Array.of(1, vocabSize), options),
      sampler.sample(prompt, { ...options, temperature: 0.001 }),
      sampler.sample(prompt, { ...options, stop: ['x'] }),
      sampler.sample(prompt, { ...options, grammar: { rules: [[[]]], controlTokenIds: [] } }),
    ];
    for (const call of refused) await expect(call).rejects.toMatchObject({ status: 400 });
    expect(generated(server)).toBe(before);
  });

  it.each([401, 403])('that refuses our key (%i) is no fault of the caller', async (status) => {
    const lines: string[] = [];
    const logger = { ...silentLogger, error: (line: string) => lines.push(line) };
    const server = await startServer();
    const sampler = await openSampler([server], { logger });
    server.fail({ status });
    const failed: Error = await sampler.sample(prompt, options).then(Promise.reject, (e) => e);
    expect(failed).toMatchObject({ status: 503, code: 'SAMPLER_REFUSED' });
    expect(failed.message).not.toContain(server.url);
    expect(lines.join()).toContain(`${server.url}/inference/v1/generate answered ${status}`);
  });

  it('that does not take weights ends the adoption with its reason', async () => {
    const server = await startServer({
      open: async (folder) => {
        if (folder !== undefined) throw new Error('No space left on device');
        return fakeEngine({ vocabSize });
      },
    });
    const sampler = await openSampler([server]);
    const adopted = sampler.adopt({ kind: 'checkpoint', directory: await checkpoint(1) }, 1);
    await expect(adopted).rejects.toMatchObject({
      code: 'DELIVERY_REFUSED',
      message: expect.stringContaining('No space left on device'),
    });
    expect(sampler.policyVersion).toBe(-1);
    expect((await sampler.sample(prompt, options))[0]).toMatchObject({ policyVersion: -1 });
  });
});
