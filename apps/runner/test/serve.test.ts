import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { run, type ServeAddress } from '@trinity-rft/launcher';
import { readFailure } from '@trinity-rft/launcher/files';
import { beforeAll, describe, expect, it } from 'vitest';
import { mainHere } from './support/main-here.js';
import { productOf, serveKey, startProduct, until, type Product } from './support/product.js';
import { runHere } from './support/run-here.js';
import { checkpointSteps, metricLines, usedRows } from './support/run-record.js';
import type { KillPoint } from './support/trinity.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
});
const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);
const experiences = (name: string): string => path.join(job(name), 'buffer/experience_buffer.db');
const config = (name: string, ...over: readonly Tree[]): string =>
  workspace.config(
    `${name}.yaml`,
    { name, mode: 'serve', buffer: { train_batch_size: 4 } },
    ...over,
  );

interface Here extends Omit<Product, 'server'> {
  /** Interrupts the server and waits for its end. */
  stop(): Promise<Awaited<ReturnType<typeof runHere>>>;
}

/** Starts a server in the process of the test. */
async function serveHere(configPath: string, train = true): Promise<Here> {
  const interrupt = new AbortController();
  let ended: ReturnType<typeof runHere> | undefined;
  const { url } = await new Promise<ServeAddress>((onOpen, reject) => {
    ended = runHere(workspace, configPath, {
      signal: interrupt.signal,
      overrides: { mode: 'serve' },
      serve: { port: 0, apiKey: serveKey, onOpen, train },
    });
    void ended.then(({ error, output }) => reject(error ?? new Error(output)));
  });
  return {
    ...productOf(url),
    stop: async () => {
      interrupt.abort();
      return ended!;
    },
  };
}

/** Reward of the product: the share of digits in four characters. */
const rewardOf = (text: string): number =>
  [...text].filter((character) => /\d/.test(character)).length / 4;

describe('a running product', () => {
  it(
    'is answered by ever newer weights, which do what it rewards',
    { timeout: 240_000 },
    async () => {
      const { ask, client, stop } = await serveHere(
        config('product', { buffer: { train_batch_size: 16 } }),
      );
      const means: number[] = [];
      for (let step = 1; step <= 8; step++) {
        const answers = await Promise.all(Array.from({ length: 16 }, () => ask()));
        const rewards = answers.map(({ choices }) => rewardOf(choices[0]!.message.content ?? ''));
        means.push(rewards.reduce((a, b) => a + b) / rewards.length);
        await Promise.all(
          answers.map(({ id }, runId) =>
            client.feedback({ reward: rewards[runId]!, msgIds: [id], taskId: 'digits', runId }),
          ),
        );
        expect(await client.commit()).toEqual({ step, calls: 16, experiences: 16 });
        await until(async () => (await client.metrics())['rollout/model_0/model_version'] === step);
      }
      expect(means.slice(-2).reduce((a, b) => a + b)).toBeGreaterThan(
        means.slice(0, 2).reduce((a, b) => a + b) + 0.3,
      );
      // Answers sampled with the last weights are recorded with their version.
      const { id } = await ask();
      await client.feedback({ reward: 1, msgIds: [id] });
      await client.commit();
      const { summary, output } = await stop();
      expect(summary).toMatchObject({ interrupted: true, trainStep: 8 });
      expect(checkpointSteps(job('product'))).toEqual([8]);
      const lines = metricLines(job('product')).filter(({ role }) => role === 'explorer');
      expect(lines.map(({ metrics }) => metrics['rollout/model_version'])).toEqual([
        0, 1, 2, 3, 4, 5, 6, 7, 8,
      ]);
      expect(
        usedRows(experiences('product')).filter(({ trainStep }) => trainStep === undefined),
      ).toHaveLength(1);
      // The key is in no log, nor in the output.
      const log = readFileSync(path.join(job('product'), 'log/trinity.log'), 'utf8');
      expect([
        log.includes(serveKey),
        output.includes(serveKey),
        log.includes('Serves train step 0'),
        log.includes('NOT TRAINED: the weights of'),
      ]).toEqual([false, false, true, true]);
    },
  );

  it(
    'is answered by the last weights, also if they are of a step between two syncs',
    { timeout: 240_000 },
    async () => {
      const { ask, client, openai, stop } = await serveHere(
        config('last', { synchronizer: { sync_interval: 2 }, trainer: { total_steps: 3 } }),
      );
      const answers = await Promise.all(Array.from({ length: 12 }, () => ask()));
      await client.feedback({ reward: 1, msgIds: answers.map(({ id }) => id) });
      await client.commit();
      await until(async () => (await client.metrics())['rollout/model_0/model_version'] === 3);
      expect((await openai.models.list()).data).toMatchObject([{ step: 3 }]);
      const ended = await stop();
      expect(ended.summary).toMatchObject({ trainStep: 3 });
      const hasEnded = 'Training has ended with train step 3, because trainer.total_steps is 3.';
      expect(ended.output.replaceAll(/\s+/g, ' ')).toContain(hasEnded);
      const again = await serveHere(path.join(workspace.root, 'last.yaml'));
      expect((await again.stop()).output.replaceAll(/\s+/g, ' ')).toContain(hasEnded);
    },
  );

  it('needs its key, except to see that the server is there', { timeout: 240_000 }, async () => {
    const { client, openai, stop } = await serveHere(config('keys'));
    const { baseURL } = openai;
    const status = async (
      route: string,
      method: string,
      headers: Readonly<Record<string, string>> = {},
    ): Promise<number> =>
      (
        await fetch(new URL(route, baseURL), {
          method,
          headers: { connection: 'close', ...headers },
        })
      ).status;
    expect(await client.alive()).toBe(true);
    expect(await status('/health', 'GET')).toBe(200);
    expect(await status('/ready', 'GET')).toBe(200);
    const others: Record<string, string>[] = [{}, { authorization: 'Bearer other' }];
    for (const headers of others) {
      expect(await status('/metrics', 'GET', headers)).toBe(401);
      for (const route of ['/feedback', '/commit', '/v1/chat/completions'])
        expect(await status(route, 'POST', headers)).toBe(401);
    }
    expect((await openai.models.list()).data).toMatchObject([{ run: 'tests/keys', step: 0 }]);
    await stop();
  });

  it(
    'continues conversations token by token, each in a session of its own, over all routes',
    { timeout: 240_000 },
    async () => {
      const { client, openai, ask, stop } = await serveHere(
        config('routes', { explorer: { experience_shape: 'trajectory' } }),
      );
      const first = await ask('1+2=');
      const said = first.choices[0]!.message.content ?? '';
      const messages = [
        { role: 'user' as const, content: '1+2=' },
        { role: 'assistant' as const, content: said },
        { role: 'user' as const, content: '3+4=' },
      ];
      const second = await openai.chat.completions.create({ model: 'any', messages });
      const response = await openai.responses.create({ model: 'any', input: '5+6=' });
      const text = await openai.completions.create({ model: 'any', prompt: '7+8=', n: 2 });
      await client.feedback({ reward: 1, msgIds: [first.id, second.id], taskId: 'chat' });
      await client.feedback({ reward: 1, msgIds: [response.id, text.id] });
      expect(await client.commit()).toEqual({ step: 1, calls: 5, experiences: 4 });
      await stop();
    },
  );
});

describe('a server that is killed', () => {
  it(
    'goes on where it was: nothing is lost and nothing counts twice',
    { timeout: 240_000 },
    async () => {
      // The command `serve` ignores the mode in the file.
      const file = config('killed', { mode: 'both' });
      const start = (kill?: KillPoint): Promise<Product> =>
        startProduct(
          workspace.root,
          ['--config', file],
          kill && {
            env: { TRINITY_TEST_KILL: JSON.stringify(kill) },
            nodeArgs: [`--import=${new URL('support/kill-at.mjs', import.meta.url).href}`],
          },
        );
      const dies = async ({ server }: Product, work: Promise<unknown>): Promise<void> => {
        await expect(work).rejects.toThrow(/Connection error|does not answer/);
        expect((await server.ended).signal).toBe('SIGKILL');
      };
      const one = await start({ call: 'writev', match: 'calls.db-pending', nth: 3, when: 'after' });
      const [a, b] = [await one.ask(), await one.ask()];
      // The call is recorded, but its client never received the id.
      await dies(one, one.ask());

      // The thread that stores calls commits the start, the recorded calls, two new calls, and the
      // feedback; the kill is before the fifth commit.
      const two = await start({ call: 'commit', match: '', nth: 5, when: 'before' });
      // The metrics count all calls, so the server stores pending calls before it answers.
      const stored = async (
        answer: Promise<{ readonly id: string }>,
      ): Promise<{ readonly id: string }> => {
        const { id } = await answer;
        await two.client.metrics();
        return { id };
      };
      const [c, d] = [await stored(two.ask()), await stored(two.ask())];
      const feedback = { reward: 1, msgIds: [a.id, b.id, c.id, d.id], taskId: 't' };
      await dies(two, two.client.feedback(feedback));

      // The commits are the start, the recorded calls, the feedback and the batch; the kill is
      // after the fourth.
      const three = await start({ call: 'commit', match: '', nth: 4, when: 'after' });
      expect(await three.client.metrics()).toMatchObject({
        'rollout/open_experience_count': 5,
        'rollout/uncommitted_experience_count': 0,
      });
      expect(await three.client.feedback(feedback)).toEqual({
        applied: feedback.msgIds,
        already: [],
      });
      // The numbered batch of calls is committed, but its experiences are not stored yet.
      await dies(three, three.client.commit());

      const four = await start();
      expect(await four.client.feedback(feedback)).toEqual({
        applied: [],
        already: feedback.msgIds,
      });
      expect(await four.client.commit()).toEqual({ step: 1, calls: 0, experiences: 0 });
      await until(
        async () => (await four.client.metrics())['trainer/trained_experience_count'] === 4,
      );
      expect(await four.client.metrics()).toMatchObject({
        explore_step_num: 1,
        'rollout/total_experience_count': 5,
      });
      // The server is killed before its first checkpoint, so train step 1 is repeated.
      four.server.child.kill('SIGKILL');
      await four.server.ended;

      const five = await start();
      await until(async () => (await five.client.metrics())['rollout/model_0/model_version'] === 1);
      five.server.child.kill('SIGTERM');
      const { exitCode, stdout } = await five.server.ended;
      expect([exitCode, stdout]).toEqual([
        0,
        expect.stringContaining('Stopped after train step 1.'),
      ]);
      expect(stdout).not.toContain(serveKey);
      const rows = usedRows(experiences('killed'));
      expect(rows).toEqual([0, 1, 2, 3].map((run) => ({ uid: `c1/t/${run}/0/0`, trainStep: 1 })));
      expect(checkpointSteps(job('killed'))).toEqual([1]);
    },
  );
});

describe('a server whose store dies', () => {
  it(
    'ends with what happened: nothing could be stored any more',
    { timeout: 240_000 },
    async () => {
      // The thread that stores calls commits tables, start and call; it exits at the third commit.
      const dying = `
      import { DatabaseSync } from 'node:sqlite';
      import { isMainThread } from 'node:worker_threads';
      const { exec } = DatabaseSync.prototype;
      let commits = 0;
      DatabaseSync.prototype.exec = function (sql) {
        if (!isMainThread && sql === 'COMMIT' && ++commits === 3) process.exit(7);
        return exec.call(this, sql);
      };`;
      const { server, ask } = await startProduct(workspace.root, ['--config', config('dying')], {
        nodeArgs: [`--import=data:text/javascript,${encodeURIComponent(dying)}`],
      });
      // The call is recorded, but the server may end before it responds.
      await ask().catch(() => undefined);
      const { exitCode, stderr } = await server.ended;
      expect([exitCode, stderr]).toEqual([
        1,
        expect.stringContaining('ended with exit code 7. Answered calls are kept'),
      ]);
    },
  );
});

describe.each([true, false])('a run on tasks that is served in between, train: %j', (train) => {
  it('continues with its tasks where it was', { timeout: 240_000 }, async () => {
    const name = `between-${train}`;
    const both = (steps: number): string =>
      config(name, { mode: 'both', buffer: { total_steps: steps } });
    expect((await runHere(workspace, both(2))).error).toBeUndefined();
    const { ask, client, stop } = await serveHere(both(2), train);
    const answers = await Promise.all([ask(), ask(), ask(), ask()]);
    for (const [i, { id }] of answers.entries())
      await client.feedback({ reward: i % 2, msgIds: [id], taskId: 't' });
    await client.commit();
    if (train)
      await until(async () => (await client.metrics())['trainer/trained_experience_count']! > 8);
    expect((await stop()).error).toBeUndefined();
    const { error, summary } = await runHere(workspace, both(4));
    expect([error, summary?.trainStep]).toEqual([undefined, train ? 13 : 17]);
    const rows = usedRows(experiences(name));
    // A commit counts as an explore step of a run that this process trains.
    expect([...new Set(rows.map(({ uid }) => uid.split('/')[0]))]).toEqual(
      train ? ['1', '2', 'c1', '4'] : ['1', '2', 'c1', '3', '4'],
    );
    expect(rows.every(({ trainStep }) => trainStep !== undefined)).toBe(true);
    const again = await serveHere(both(5), train);
    expect((await again.stop()).error).toBeUndefined();
    const taskset = {
      ...{ name: 'sums', path: 'tasks.jsonl' },
      format: { prompt_key: 'question', response_key: 'answer' },
      data_selector: { selector_type: 'shuffle', seed: 99 },
    };
    const shuffled = await runHere(workspace, both(5), {
      overrides: { buffer: { explorer_input: { tasksets: [taskset] } } },
    });
    expect(shuffled.error?.message).toContain('data_selector.seed: changed from nothing to 99');
  });
});

it('a run that was only served can explore its tasks', { timeout: 240_000 }, async () => {
  const file = config('served-first', { mode: 'both', buffer: { total_steps: 2 } });
  const { ask, client, stop } = await serveHere(file);
  const answers = await Promise.all([ask(), ask(), ask(), ask()]);
  await client.feedback({ reward: 1, msgIds: answers.map(({ id }) => id), taskId: 't' });
  await client.commit();
  expect((await stop()).error).toBeUndefined();
  const { error, summary } = await runHere(workspace, file);
  expect([error, summary?.trainStep]).toEqual([undefined, 5]);
});

it('a run with more commits than explore steps resumes where it was', async () => {
  const settings = (steps: number): string =>
    config(
      'many-commits',
      { mode: 'both', buffer: { total_steps: steps }, trainer: { max_checkpoints_to_keep: 1 } },
      { buffer: { trainer_input: { experience_buffer: { name: 'b', keep_trained_steps: 1 } } } },
    );
  expect((await runHere(workspace, settings(1))).error).toBeUndefined();
  const { ask, client, stop } = await serveHere(settings(1), false);
  for (let commit = 1; commit <= 4; commit++) {
    const answers = await Promise.all([ask(), ask(), ask(), ask()]);
    for (const [i, { id }] of answers.entries())
      await client.feedback({ reward: i % 2, msgIds: [id], taskId: '0' });
    expect(await client.commit()).toMatchObject({ step: commit });
  }
  expect((await stop()).error).toBeUndefined();
  const two = await runHere(workspace, settings(2));
  expect([two.error, two.summary?.trainStep]).toEqual([undefined, 12]);
  const three = await runHere(workspace, settings(3));
  expect([three.error, three.summary?.trainStep]).toEqual([undefined, 16]);
  expect(three.output).not.toMatch(/step 1?[0-2] /);
}, 240_000);

it(
  'a run whose server was killed continues from the newest checkpoint',
  { timeout: 240_000 },
  async () => {
    const settings = (steps: number): string =>
      config('killed-between', {
        mode: 'both',
        buffer: { total_steps: steps },
        synchronizer: { sync_interval: 2 },
        trainer: { save_interval: 1, max_checkpoints_to_keep: 1 },
      });
    expect((await runHere(workspace, settings(1))).error).toBeUndefined();
    const { server, ask, client } = await startProduct(workspace.root, ['--config', settings(1)]);
    for (const trained of [5, 6, 7]) {
      const answers = await Promise.all([ask(), ask(), ask(), ask()]);
      for (const [i, { id }] of answers.entries())
        await client.feedback({ reward: i % 2, msgIds: [id], taskId: 't' });
      await client.commit();
      await until(async () => checkpointSteps(job('killed-between')).at(-1) === trained);
    }
    server.child.kill('SIGKILL');
    await server.ended;
    const { error, output, summary } = await runHere(workspace, settings(5));
    expect([error, summary?.trainStep]).toEqual([undefined, 11]);
    expect(output).not.toMatch(/step [1-6] /);
  },
);

describe('a server beside a trainer in another process', () => {
  it(
    'hands its experiences over and takes new weights as they are saved',
    { timeout: 240_000 },
    async () => {
      const file = config('apart', {
        explorer: { service_status_check_interval: 1 },
        trainer: { save_interval: 1 },
      });
      const { server, client, ask } = await startProduct(workspace.root, [
        '--config',
        file,
        '--no-train',
      ]);
      const commit = async (): Promise<void> => {
        const answers = await Promise.all([ask(), ask(), ask(), ask()]);
        for (const [runId, { id }] of answers.entries())
          await client.feedback({ reward: runId, msgIds: [id], taskId: 't', runId });
        await client.commit();
      };
      await commit();
      const trained = runHere(
        workspace,
        config('apart', { mode: 'train', trainer: { save_interval: 1, total_steps: 2 } }),
      );
      await until(async () => (await client.metrics())['rollout/model_0/model_version'] === 1);
      await commit();
      expect((await trained).summary).toMatchObject({ trainStep: 2, doneBefore: false });
      await until(async () => (await client.metrics())['rollout/model_0/model_version'] === 2);
      server.child.kill('SIGINT');
      const { exitCode, stdout } = await server.ended;
      expect(exitCode).toBe(0);
      expect(stdout).toMatch(/SIGINT: answering the requests in progress\. [^]*Stopped\.\n$/);
      expect(usedRows(experiences('apart')).map(({ trainStep }) => trainStep)).toEqual([
        1, 1, 1, 1, 2, 2, 2, 2,
      ]);
      expect(existsSync(path.join(job('apart'), 'serve/monitor/metrics.jsonl'))).toBe(true);
    },
  );
});

describe('a trainer beside a server that is started again', () => {
  const train = { service_status_check_interval: 1 };
  /** Setting for the time in seconds that the trainer waits for a server that is down. */
  const patience = (seconds: number): Tree => ({
    buffer: {
      trainer_input: {
        experience_buffer: { name: 'experience_buffer', max_read_timeout: seconds },
      },
    },
  });
  const product = (file: string): Promise<Product> =>
    startProduct(workspace.root, ['--config', file, '--no-train']);
  const commit = async ({ ask, client }: Product): Promise<void> => {
    const answers = await Promise.all([ask(), ask(), ask(), ask()]);
    for (const [runId, { id }] of answers.entries())
      await client.feedback({ reward: runId, msgIds: [id], taskId: 't', runId });
    await client.commit();
  };
  const stop = async ({ server }: Product): Promise<void> => {
    server.child.kill('SIGINT');
    expect((await server.ended).exitCode).toBe(0);
  };
  const serves = ({ client }: Product, version: number): Promise<void> =>
    until(async () => (await client.metrics())['rollout/model_0/model_version'] === version);

  it('goes on with what the new server adds', { timeout: 240_000 }, async () => {
    const file = config('again', { explorer: train, trainer: { save_interval: 1 } });
    const one = await product(file);
    await commit(one);
    const interrupt = new AbortController();
    const trained = runHere(
      workspace,
      config(
        'again',
        { mode: 'train', explorer: train, trainer: { save_interval: 1 } },
        patience(60),
      ),
      { signal: interrupt.signal },
    );
    await serves(one, 1);
    await stop(one);
    const two = await product(file);
    await commit(two);
    await serves(two, 2);
    interrupt.abort();
    expect((await trained).summary).toMatchObject({ trainStep: 2 });
    await stop(two);
  });

  it('goes on after it had ended while no server was there', { timeout: 240_000 }, async () => {
    const file = config('later', { explorer: train, trainer: { save_interval: 1 } });
    const one = await product(file);
    await commit(one);
    await stop(one);
    const training = (seconds: number): string =>
      config(
        'later',
        { mode: 'train', explorer: train, trainer: { save_interval: 1 } },
        patience(seconds),
      );
    const alone = await runHere(workspace, training(1));
    expect(alone.summary).toMatchObject({ trainStep: 1, interrupted: false });
    const two = await product(file);
    await commit(two);
    const interrupt = new AbortController();
    const trained = runHere(workspace, training(60), { signal: interrupt.signal });
    await serves(two, 2);
    interrupt.abort();
    expect((await trained).summary).toMatchObject({ trainStep: 2 });
    await stop(two);
  });
});

describe('trinity serve', () => {
  it.each([
    [['--port', 'x'], '--port is "x"'],
    [['--port', '70000'], '--port is "70000"'],
  ])('refuses %j', async (args, message) => {
    const { exitCode, stderr } = await mainHere('serve', '--config', config('odd'), ...args);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it(
    'refuses a port that is taken, and memory as the only store',
    { timeout: 240_000 },
    async () => {
      const { openai, stop } = await serveHere(config('first'));
      const port = Number(new URL(openai.baseURL).port);
      const second = await run({
        configPath: config('second'),
        cwd: workspace.root,
        env: {},
        terminal: { write: () => undefined, isTTY: false, columns: () => 80 },
        serve: { port },
      }).catch((error: unknown) => error);
      expect(second).toMatchObject({ code: 'PORT_TAKEN' });
      await stop();
      const { error } = await runHere(
        workspace,
        config('memory', {
          buffer: {
            trainer_input: {
              experience_buffer: { name: 'm', storage_type: 'queue', storage: 'memory' },
            },
          },
        }),
      );
      expect(error?.message).toContain('must keep its experiences');
    },
  );

  it('with --no-train keeps its failure apart from that of the trainer', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    mkdirSync(job('beside'), { recursive: true });
    const ofTrainer = path.join(job('beside'), 'failure.txt');
    writeFileSync(ofTrainer, 'EngineError: out of memory\n');
    const { error } = await runHere(workspace, config('beside'), { serve: { port, train: false } });
    taken.close();
    expect(error).toMatchObject({ code: 'PORT_TAKEN' });
    expect(readFileSync(path.join(job('beside'), 'serve/failure.txt'), 'utf8')).toContain(
      `${port}`,
    );
    expect(await readFailure(job('beside'))).toBe('EngineError: out of memory');
  });

  it('deletes experiences that were trained on long ago', { timeout: 240_000 }, async () => {
    const file = config('kept', {
      buffer: {
        trainer_input: { experience_buffer: { name: 'experience_buffer', keep_trained_steps: 1 } },
      },
      trainer: { save_interval: 1 },
    });
    const { ask, client, stop } = await serveHere(file);
    for (let step = 1; step <= 4; step++) {
      const answers = await Promise.all([ask(), ask(), ask(), ask()]);
      for (const [runId, { id }] of answers.entries())
        await client.feedback({ reward: runId, msgIds: [id], taskId: 't', runId });
      await client.commit();
      await until(async () => (await client.metrics())['rollout/model_0/model_version'] === step);
    }
    await stop();
    const steps = usedRows(experiences('kept')).map(({ trainStep }) => trainStep);
    expect([...new Set(steps)]).toEqual([4]);
  });
});
