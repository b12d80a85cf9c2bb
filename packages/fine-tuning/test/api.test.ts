/** The API as OpenAI's client uses it, with scripted runs; apps/runner tests real runs. */
import { appendFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  buildCharTokenizer,
  chatTemplates,
  createTokenizer,
  writeTokenizerFiles,
} from '@trinity-rft/chat';
import { describeError } from '@trinity-rft/core';
import { writeManifest } from '@trinity-rft/core/engine';
import { createModelFolder } from '@trinity-rft/engine-onnx';
import { checkFiles, readConfiguration } from '@trinity-rft/launcher';
import { lockRun } from '@trinity-rft/launcher/files';
import OpenAI, { toFile } from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  baseModels,
  openFineTuningServer,
  readBaseModels,
  type CommandEnd,
  type FineTuningServer,
  type FineTuningServerOptions,
} from '../src/index.js';

const practice = new URL('../../../apps/create/templates/practice/model', import.meta.url).pathname;
const apiKey = 'a-key-of-16-characters';

/** A command that ends when the test says so. */
interface Scripted {
  readonly args: readonly string[];
  stopped: boolean;
  end(how: CommandEnd): void;
}

let directory = '';
let opened: FineTuningServer[] = [];
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'trinity-ft-'));
});
afterEach(async () => {
  await Promise.all(opened.map((server) => server.close()));
  opened = [];
  await rm(directory, { recursive: true, force: true });
});

const done: CommandEnd = { outcome: 'done', output: '' };

async function serve(options: Partial<FineTuningServerOptions> = {}) {
  const commands: Scripted[] = [];
  const events: string[] = [];
  const server = await openFineTuningServer({
    directory,
    models: await baseModels({ base: practice }, '.', 'test'),
    apiKey,
    onEvent: (line) => void events.push(line),
    start: (args) => {
      const { promise: ended, resolve: end } = Promise.withResolvers<CommandEnd>();
      const command: Scripted = { args, stopped: false, end };
      commands.push(command);
      if (args[0] === 'config') end(done);
      const stop = (): void => {
        command.stopped = true;
        end({ outcome: 'interrupted', output: '' });
      };
      return { ended, stop, kill: stop };
    },
    ...options,
  });
  opened.push(server);
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 });
  const upload = async (rows: readonly unknown[], name = 'rows.jsonl'): Promise<string> => {
    const text = rows.map((row) => JSON.stringify(row)).join('\n');
    const file = await toFile(Buffer.from(text), name);
    return (await client.files.create({ file, purpose: 'fine-tune' })).id;
  };
  const statusOf = async (id: string) => (await client.fineTuning.jobs.retrieve(id)).status;
  return { server, client, commands, events, upload, statusOf };
}

const answer = {
  messages: [
    { role: 'user', content: '1+1=' },
    { role: 'assistant', content: '2' },
  ],
};
const pair = {
  input: { messages: [{ role: 'user', content: '1+1=' }] },
  preferred_output: [{ role: 'assistant', content: '2' }],
  non_preferred_output: [{ role: 'assistant', content: '3' }],
};
const task = { messages: [{ role: 'user', content: '1+1=' }], truth: '2' };
const exact = {
  type: 'string_check' as const,
  name: 'exact',
  input: '{{ sample.output_text }}',
  reference: '{{ item.truth }}',
  operation: 'eq' as const,
};

/** A page of a list; the client exports no type for it. */
type Paged<T> = AsyncIterable<T>;
async function all<T>(pages: Paged<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const each of pages) found.push(each);
  return found;
}

describe('files', () => {
  it('are kept, listed, read and deleted', async () => {
    const { client, upload } = await serve();
    const id = await upload([answer]);
    const file = await client.files.waitForProcessing(id);
    expect(file).toMatchObject({ object: 'file', filename: 'rows.jsonl', status: 'processed' });
    expect(await (await client.files.content(id)).text()).toBe(JSON.stringify(answer));
    const later = await upload([pair]);
    expect((await all(client.files.list())).map((each) => each.id)).toEqual([later, id]);
    expect(
      (await all(client.files.list({ limit: 1, order: 'asc' }))).map((each) => each.id),
    ).toEqual([id, later]);
    expect(await client.files.delete(id)).toEqual({ id, object: 'file', deleted: true });
    await expect(client.files.retrieve(id)).rejects.toMatchObject({ status: 404, param: 'id' });
  });

  it('are refused as other requests are when their contents are gone', async () => {
    const { client, upload } = await serve();
    const id = await upload([answer]);
    await rm(path.join(directory, 'files', `${id}.jsonl`));
    await expect(client.files.content(id, { maxRetries: 0 })).rejects.toMatchObject({
      status: 500,
      code: 'internal_error',
    });
  });

  it('come one at a time, in a form whose type is written in any case', async () => {
    const { server } = await serve();
    const send = async (...parts: readonly (readonly [string, string, string?])[]) => {
      const body = parts.map(
        ([name, text, file]) =>
          `--X\r\ncontent-disposition: form-data; name="${name}"${file === undefined ? '' : `; filename="${file}"`}\r\n\r\n${text}\r\n`,
      );
      const response = await fetch(`${server.url}/v1/files`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${apiKey}`,
          'content-type': 'Multipart/Form-Data; boundary=X',
        },
        body: `${body.join('')}--X--\r\n`,
      });
      return response.json();
    };
    const [purpose, file] = [
      ['purpose', 'fine-tune'],
      ['file', '{}', 'a.jsonl'],
    ] as const;
    expect(await send(purpose, file)).toMatchObject({ filename: 'a.jsonl', bytes: 2 });
    expect(await send(file, purpose, file)).toMatchObject({ error: { param: 'file' } });
    expect(await send(purpose, purpose, file)).toMatchObject({ error: { param: 'purpose' } });
  });
});

describe('jobs', () => {
  it('run one after the other, and tell what they do', async () => {
    const { client, commands, upload, statusOf } = await serve();
    const training_file = await upload([answer, answer]);
    const first = await client.fineTuning.jobs.create({ model: 'base', training_file, seed: 5 });
    expect(first).toMatchObject({
      object: 'fine_tuning.job',
      status: 'validating_files',
      fine_tuned_model: null,
      hyperparameters: { n_epochs: 'auto' },
      method: { type: 'supervised' },
    });
    await expect.poll(() => statusOf(first.id)).toBe('running');
    const second = await client.fineTuning.jobs.create({ model: 'base', training_file });
    await expect.poll(() => statusOf(second.id)).toBe('queued');
    expect(commands.filter(({ args }) => args[0] === 'run')).toHaveLength(1);
    expect((await client.fineTuning.jobs.retrieve(first.id)).hyperparameters).toEqual({
      batch_size: 1,
      learning_rate_multiplier: 1,
      n_epochs: 3,
    });
    const run = commands.find(({ args }) => args[0] === 'run');
    run?.end({ outcome: 'failed', output: 'The disk is full.\n' });
    await expect.poll(() => statusOf(first.id)).toBe('failed');
    expect((await client.fineTuning.jobs.retrieve(first.id)).error).toEqual({
      code: 'training_failed',
      message: 'The disk is full.',
      param: null,
    });
    await expect.poll(() => statusOf(second.id)).toBe('running');
    const said = (await all(client.fineTuning.jobs.listEvents(first.id, { limit: 2 }))).map(
      ({ message, level }) => `${level}: ${message}`,
    );
    expect(said).toEqual([
      'error: The disk is full.',
      'info: Fine-tuning job started',
      'info: Files validated, moving job to queued state',
      `info: Validating training file: ${training_file}`,
      `info: Created fine-tuning job: ${first.id}`,
    ]);
  });

  it('stop, pause and go on', async () => {
    const { client, commands, upload, statusOf } = await serve();
    const training_file = await upload([answer]);
    const { id } = await client.fineTuning.jobs.create({ model: 'base', training_file });
    await expect.poll(() => commands.length).toBe(2);
    await expect(client.files.delete(training_file)).rejects.toThrow(`used by the job ${id}`);
    expect((await client.fineTuning.jobs.pause(id)).status).toBe('paused');
    const run = commands.find(({ args }) => args[0] === 'run');
    await expect.poll(() => run?.stopped).toBe(true);
    expect(await statusOf(id)).toBe('paused');
    await client.fineTuning.jobs.resume(id);
    await expect.poll(() => commands.length).toBe(3);
    expect((await client.fineTuning.jobs.cancel(id)).status).toBe('cancelled');
    await expect.poll(() => commands.at(-1)?.stopped).toBe(true);
    await expect(client.fineTuning.jobs.cancel(id)).rejects.toThrow('status cancelled cannot be');
    expect(await client.files.delete(training_file)).toMatchObject({ deleted: true });
  });

  it('are one job for a creation that is repeated because its answer was lost', async () => {
    const { server, client, upload } = await serve();
    const training_file = await upload([answer]);
    const body = JSON.stringify({ model: 'base', training_file });
    const create = async (retry: string): Promise<string> => {
      const response = await fetch(`${server.url}/v1/fine_tuning/jobs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'x-stainless-retry-count': retry },
        body,
      });
      return ((await response.json()) as { id: string }).id;
    };
    const first = await create('0');
    expect(await create('1')).toBe(first);
    expect(await create('2')).toBe(first);
    expect(await create('0')).not.toBe(first);
    expect(await all(client.fineTuning.jobs.list())).toHaveLength(2);
  });

  it('come in pages, also 250 of them and after a restart, by metadata too', async () => {
    const before = await serve();
    const training_file = await before.upload([answer]);
    const ids: string[] = [];
    for (let i = 0; i < 250; i++) {
      const metadata = { parity: i % 2 === 0 ? 'even' : 'odd' };
      const job = await before.client.fineTuning.jobs.create({
        model: 'base',
        training_file,
        metadata,
      });
      ids.unshift(job.id);
    }
    const list = async (client: OpenAI, query: OpenAI.FineTuning.JobListParams = {}) =>
      (await all(client.fineTuning.jobs.list(query))).map(({ id }) => id);
    expect(await list(before.client)).toEqual(ids);
    expect(await list(before.client, { limit: 7 })).toEqual(ids);
    expect(await list(before.client, { metadata: { parity: 'odd' }, limit: 100 })).toHaveLength(
      125,
    );
    await before.server.close();
    opened = [];
    const { client } = await serve();
    expect(await list(client, { limit: 100 })).toEqual(ids);
  });

  it('name the lines of a file that cannot be used', async () => {
    const { client, upload, statusOf } = await serve();
    const rows = [answer, { messages: [{ role: 'user', content: 'x' }] }, { messages: 'x' }];
    const training_file = await upload(rows);
    const job = await client.fineTuning.jobs.create({ model: 'base', training_file });
    await expect.poll(() => statusOf(job.id)).toBe('failed');
    const { error } = await client.fineTuning.jobs.retrieve(job.id);
    expect(error).toMatchObject({ code: 'invalid_training_file', param: 'training_file' });
    expect(error?.message).toContain(
      'Line 2: messages: the last message has to be of the assistant.',
    );
    expect(error?.message).toContain('Line 3: messages: ');
  });

  it('train although a grader misses something in some lines, which an event names', async () => {
    const { client, upload, statusOf } = await serve();
    const training_file = await upload([task, { messages: task.messages }, task]);
    const { id } = await client.fineTuning.jobs.create({
      ...{ model: 'base', training_file, validation_file: await upload([task]) },
      method: { type: 'reinforcement', reinforcement: { grader: exact } },
    });
    await expect.poll(() => statusOf(id)).toBe('running');
    expect(await all(client.fineTuning.jobs.listEvents(id))).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        message: expect.stringMatching(
          /^1 of 3 rows of file-\w+ cannot be graded; .* Line 2: .*item\.truth/,
        ),
      }),
    );
  });

  it('name the lines if a grader misses something in all of them', async () => {
    const { client, upload, statusOf } = await serve();
    const bare = { messages: task.messages };
    const [training_file, validation_file] = await Promise.all(
      [[task], [bare, bare]].map((rows) => upload(rows)),
    );
    const job = await client.fineTuning.jobs.create({
      ...{ model: 'base', training_file: training_file!, validation_file },
      method: { type: 'reinforcement', reinforcement: { grader: exact } },
    });
    await expect.poll(() => statusOf(job.id)).toBe('failed');
    const { error } = await client.fineTuning.jobs.retrieve(job.id);
    expect(error).toMatchObject({ code: 'invalid_validation_file', param: 'validation_file' });
    expect(error?.message).toMatch(/ Line 1: .* Line 2: .*item\.truth.*[^.]\.$/);
  });

  it('wait for a process that has taken their run between the look and the start', async () => {
    const { client, commands, upload } = await serve();
    const training_file = await upload([answer]);
    const { id } = await client.fineTuning.jobs.create({ model: 'base', training_file });
    const runs = () => commands.filter(({ args }) => args[0] === 'run');
    await expect.poll(() => runs().length).toBe(1);
    const unlock = await lockRun(path.join(directory, 'runs/fine-tuning', id));
    runs()[0]?.end({ outcome: 'failed', output: 'is in use by process 1' });
    const messages = async () =>
      (await all(client.fineTuning.jobs.listEvents(id))).map(({ message }) => message);
    await expect
      .poll(messages)
      .toContain(`Waiting for process ${process.pid}, which still runs this job`);
    await unlock();
    await expect.poll(() => runs().length).toBe(2);
  });

  it('stay cancelled when their run is complete at the same time', async () => {
    const { client, commands, events, upload, statusOf } = await serve();
    const training_file = await upload([answer]);
    const { id } = await client.fineTuning.jobs.create({ model: 'base', training_file });
    await expect.poll(() => commands.length).toBe(2);
    await cp(practice, path.join(directory, 'runs/fine-tuning', id, 'global_step_1'), {
      recursive: true,
    });
    commands[1]?.end(done);
    await client.fineTuning.jobs.cancel(id);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await statusOf(id)).toBe('cancelled');
    expect(events).toEqual([`${id}: running, 3 steps of base`, `${id}: cancelled`]);
  });

  it('serve no checkpoint that the training run has removed', async () => {
    const { client, commands, upload } = await serve();
    const training_file = await upload([answer]);
    const { id } = await client.fineTuning.jobs.create({ model: 'base', training_file });
    await expect.poll(() => commands.length).toBe(2);
    const run = path.join(directory, 'runs/fine-tuning', id);
    const served = async () =>
      (await all(client.models.list())).flatMap(({ id: name }) => name.split(':ckpt-').slice(1));
    const trained = { role: 'trainer', metrics: { 'actor/final_loss': 2 }, timing: {} };
    await mkdir(path.join(run, 'monitor'), { recursive: true });
    for (const step of [1, 2]) {
      await cp(practice, path.join(run, `global_step_${step}`), { recursive: true });
      const line = `${JSON.stringify({ ...trained, step })}\n`;
      await appendFile(path.join(run, 'monitor', 'metrics.jsonl'), line);
    }
    await expect.poll(served).toEqual(['step-1', 'step-2']);
    await rm(path.join(run, 'global_step_1'), { recursive: true });
    await expect.poll(served).toEqual(['step-2']);
  });

  it('serve their checkpoints, whatever they do later', async () => {
    const before = await serve();
    const { jobs } = before.client.fineTuning;
    const training_file = await before.upload([answer]);
    const { id } = await jobs.create({ model: 'base', training_file });
    await expect.poll(() => before.commands.length).toBe(2);
    const run = path.join(directory, 'runs/fine-tuning', id);
    const save = (step: number): Promise<void> =>
      cp(practice, path.join(run, `global_step_${step}`), { recursive: true });
    await save(1);
    const [checkpoint] = await all(jobs.checkpoints.list(id));
    const name = `ft:base:local::${id.slice(-8)}`;
    expect(checkpoint?.fine_tuned_model_checkpoint).toBe(`${name}:ckpt-step-1`);
    const ask = ({ client }: typeof before, step: number) =>
      client.chat.completions.create({
        model: `${name}:ckpt-step-${step}`,
        messages: [{ role: 'user', content: '1+1=' }],
        max_tokens: 1,
      });
    expect((await ask(before, 1)).choices).toHaveLength(1);
    await expect(before.client.models.delete(name)).rejects.toMatchObject({ status: 404 });
    await jobs.cancel(id);
    await save(2);
    expect(await all(jobs.checkpoints.list(id))).toHaveLength(2);
    expect((await ask(before, 2)).choices).toHaveLength(1);
    await before.server.close();
    opened = [];
    const after = await serve();
    expect((await ask(after, 2)).choices).toHaveLength(1);
    expect(await after.client.models.retrieve(`${name}:ckpt-step-2`)).toMatchObject({
      owned_by: 'org-local',
    });
    await after.client.models.delete(name);
    await expect(ask(after, 2)).rejects.toMatchObject({ status: 404 });
    expect((await all(after.client.models.list())).map((model) => model.id)).toEqual(['base']);
  });

  it('name a model that is not here any more', async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<CommandEnd>();
    const waits = { ended, stop: () => undefined, kill: () => undefined };
    const before = await serve({ start: () => waits });
    const training_file = await before.upload([answer]);
    const { id } = await before.client.fineTuning.jobs.create({ model: 'base', training_file });
    const closed = before.server.close();
    end(done);
    await closed;
    opened = [];
    const { client, statusOf } = await serve({
      models: await baseModels({ other: practice }, '.', 'test'),
    });
    await expect.poll(() => statusOf(id)).toBe('failed');
    const { error } = await client.fineTuning.jobs.retrieve(id);
    expect(error).toMatchObject({ code: 'model_not_available', param: 'model' });
    expect(error?.message).toContain('The model "base" is not here any more');
  });

  it.each([
    ['config.yaml: The model is broken.', 'invalid_job', 'config.yaml: The model is broken.'],
    [
      'config.yaml:2:1 path: "rows" (rows.jsonl): 9 of 9 rows cannot be learned from.\n  Row 0 of "rows": it is long.\n  Row 1 of "rows": it has 603 tokens.\n  ... and 7 more\n',
      'invalid_training_file',
      /^The job failed due to an invalid training file file-\w+\. Line 1: it is long\. Line 3: it has 603 tokens\. \.\.\. and 7 more$/,
    ],
  ])('say what the check of their configuration says: %s', async (output, code, message) => {
    const refuse = { outcome: 'failed', output } as const;
    const { client, statusOf } = await serve({
      start: () => ({
        ended: Promise.resolve(refuse),
        stop: () => undefined,
        kill: () => undefined,
      }),
    });
    const text = `${JSON.stringify(answer)}\n\n${JSON.stringify(answer)}`;
    const file = await toFile(Buffer.from(text), 'rows.jsonl');
    const { id: training_file } = await client.files.create({ file, purpose: 'fine-tune' });
    const job = await client.fineTuning.jobs.create({ model: 'base', training_file });
    await expect.poll(() => statusOf(job.id)).toBe('failed');
    const { error } = await client.fineTuning.jobs.retrieve(job.id);
    expect(error?.code).toBe(code);
    expect(error?.message).toMatch(message);
  });
});

it('names the lines of rows that the check refuses', async () => {
  const model = path.join(directory, 'strict');
  await cp(practice, model, { recursive: true });
  const template = path.join(model, 'chat_template.jinja');
  const refusal = "{%- if 'BAD' in messages[0].content %}{{ raise_exception('no') }}{% endif %}";
  await writeFile(template, refusal + (await readFile(template, 'utf8')));
  const check = async (configPath = ''): Promise<CommandEnd> => {
    const { loaded, ...extensions } = await readConfiguration({ configPath });
    const { signal } = new AbortController();
    const output = await checkFiles(loaded, extensions, { measure: true, signal }).then(
      () => '',
      describeError,
    );
    return output === '' ? done : { outcome: 'failed', output };
  };
  const { client, upload, statusOf } = await serve({
    directory: path.join(directory, 'server (1)'),
    models: await baseModels({ base: model }, '.', 'test'),
    start: ([command, ...args]) => ({
      ended: command === 'config' ? check(args.at(-1)) : Promise.resolve(done),
      stop: () => undefined,
      kill: () => undefined,
    }),
  });
  const rowOf = (text: string) => ({
    messages: [{ role: 'user', content: text.padEnd(60, '1') }, answer.messages[1]],
  });
  const training_file = await upload([rowOf('1'), rowOf('BAD'), rowOf('1'.repeat(600))]);
  const job = await client.fineTuning.jobs.create({ model: 'base', training_file });
  await expect.poll(() => statusOf(job.id)).toBe('failed');
  const { error } = await client.fineTuning.jobs.retrieve(job.id);
  expect(error?.code).toBe('invalid_training_file');
  expect(error?.message).toMatch(
    /file-\w+\. Line 2: cannot be used for training: .*no.* Line 3: it has \d+ tokens/,
  );
  expect(error?.message).not.toMatch(/Row|rows\.jsonl|\//);
});

describe('requests that are refused', () => {
  const method = (type: string, inner: object) => ({ method: { type, [type]: inner } });
  const rewards = (grader: unknown) => ({
    ...method('reinforcement', { grader }),
    validation_file: 'TASKS',
  });
  it.each<readonly [object, string, string]>([
    [{ model: undefined }, 'model', 'missing_required_parameter'],
    [{ model: 'gpt-9' }, 'model', 'model_not_available'],
    [{ model: 'ft:gone' }, 'model', 'model_not_available'],
    [{ training_file: undefined }, 'training_file', 'missing_required_parameter'],
    [{ training_file: 'file-none' }, 'training_file', 'file_not_found'],
    [{ validation_file: 'file-none' }, 'validation_file', 'file_not_found'],
    [{ suffix: 'x'.repeat(65) }, 'suffix', 'invalid_value'],
    [{ suffix: 'a b' }, 'suffix', 'invalid_value'],
    [{ seed: -1 }, 'seed', 'invalid_value'],
    [{ metadata: { a: 'x'.repeat(513) } }, 'metadata.a', 'invalid_value'],
    [
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, ''])) },
      'metadata',
      'invalid_value',
    ],
    [
      { integrations: [{ type: 'wandb', wandb: { project: 'p' } }] },
      'integrations',
      'invalid_value',
    ],
    [{ epochs: 3 }, 'epochs', 'unknown_parameter'],
    [{ hyperparameters: { n_epochs: 0 } }, 'hyperparameters.n_epochs', 'invalid_value'],
    [{ hyperparameters: { beta: 1 } }, 'hyperparameters.beta', 'unknown_parameter'],
    [{ hyperparameters: {}, ...method('supervised', {}) }, 'hyperparameters', 'invalid_value'],
    [method('evolution', {}), 'method.type', 'invalid_value'],
    [
      method('supervised', { hyperparameters: { n_epochs: 'many' } }),
      'method.supervised.hyperparameters.n_epochs',
      'invalid_value',
    ],
    [
      method('dpo', { hyperparameters: { beta: -1 } }),
      'method.dpo.hyperparameters.beta',
      'invalid_value',
    ],
    [method('reinforcement', {}), 'method.reinforcement.grader', 'invalid_value'],
    [method('reinforcement', { grader: exact }), 'validation_file', 'missing_required_parameter'],
    [
      rewards({ ...exact, operation: 'is' }),
      'method.reinforcement.grader.operation',
      'invalid_value',
    ],
    [
      rewards({ ...exact, input: '{{ sample.nothing' }),
      'method.reinforcement.grader.input',
      'invalid_value',
    ],
    [
      rewards({ type: 'python', name: 'p', source: 'def grade(s, i): return 1' }),
      'method.reinforcement.grader.type',
      'python_grader_not_allowed',
    ],
    [
      rewards({
        type: 'score_model',
        name: 's',
        model: 'judge',
        input: [{ role: 'user', content: 'x' }],
      }),
      'method.reinforcement.grader.model',
      'model_not_available',
    ],
  ])('%j', async (change, param, code) => {
    const { client, upload } = await serve();
    const training_file = await upload([answer]);
    const body = JSON.stringify({ model: 'base', training_file, ...change });
    const ready = JSON.parse(body.replace('TASKS', await upload([task]))) as never;
    const refused = await client.fineTuning.jobs.create(ready).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OpenAI.BadRequestError);
    expect(refused).toMatchObject({ status: 400, type: 'invalid_request_error', param, code });
    expect(await all(client.fineTuning.jobs.list())).toEqual([]);
  });

  it('elsewhere than in the body of a job', async () => {
    const { client, server } = await serve();
    const jobs = client.fineTuning.jobs;
    await expect(jobs.retrieve('ftjob-x')).rejects.toMatchObject({
      status: 404,
      code: 'fine_tune_not_found',
      param: 'fine_tune_id',
    });
    await expect(jobs.list({ limit: 101 })).rejects.toMatchObject({ status: 400, param: 'limit' });
    await expect(jobs.list({ after: 'x' })).rejects.toMatchObject({ status: 400, param: 'after' });
    const file = await toFile(Buffer.from('{}'), 'rows.txt');
    const create = client.files.create.bind(client.files);
    await expect(create({ file, purpose: 'fine-tune' })).rejects.toMatchObject({ param: 'file' });
    await expect(create({ file, purpose: 'batch' })).rejects.toMatchObject({ param: 'purpose' });
    await expect(client.models.delete('base')).rejects.toMatchObject({ status: 403 });
    await expect(client.models.retrieve('none')).rejects.toMatchObject({ status: 404 });
    const stranger = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'x', maxRetries: 0 });
    await expect(stranger.files.list()).rejects.toMatchObject({ status: 401 });
    await expect(client.get('/fine_tuning/none')).rejects.toMatchObject({
      status: 404,
      code: 'unknown_url',
      message: '404 Invalid URL (GET /v1/fine_tuning/none)',
    });
    const n_epochs = '3' as 'auto';
    await expect(
      jobs.create({ model: 'base', training_file: 'x', hyperparameters: { n_epochs } }),
    ).rejects.toThrow('expected "auto" or a whole number from 1 to 1000');
    const broken = await fetch(`${server.url}/v1/fine_tuning/jobs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body: '{"model": ',
    });
    expect([broken.status, await broken.json()]).toMatchObject([
      400,
      { error: { type: 'invalid_request_error', param: 'body' } },
    ]);
  });
});

describe('graders', () => {
  it('are tried, and a failure has no reward', async () => {
    const { client } = await serve();
    const { graders } = client.fineTuning.alpha;
    const { type, name } = exact;
    expect(await graders.validate({ grader: exact })).toEqual({ grader: exact });
    const run = (item: unknown) => graders.run({ grader: exact, model_sample: '2', item });
    expect(await run({ truth: '2' })).toMatchObject({ reward: 1, metadata: { name, type } });
    expect(await run({ truth: '3' })).toMatchObject({ reward: 0 });
    expect(await run({})).toMatchObject({
      reward: null,
      metadata: { errors: { invalid_variable_error: true } },
    });
    expect(await run(null)).toMatchObject({ reward: null });
    await expect(run('2')).rejects.toMatchObject({ status: 400, param: 'item' });
    await expect(
      graders.validate({ grader: { ...exact, reference: '{{ a }}' } }),
    ).rejects.toMatchObject({
      status: 400,
      param: 'grader.reference',
      message: expect.stringContaining("'grader.reference'"),
    });
  });

  it('may ask a model of the server, and say what it could not do', async () => {
    const judge = path.join(directory, 'judge');
    await randomModel(judge);
    const models = await baseModels({ base: practice, judge }, '.', 'test');
    const { client } = await serve({ models });
    const ask = (model: string) =>
      client.fineTuning.alpha.graders.run({
        grader: {
          type: 'score_model',
          name: 'judge',
          model,
          input: [{ role: 'user', content: 'How good is {{ sample.output_text }}?' }],
          sampling_params: { max_completions_tokens: 40, seed: 3 },
        },
        model_sample: '2',
      });
    const { metadata, reward } = await ask('judge');
    // Its weights are random: the schema makes its answer JSON, and it may be cut off or out of range.
    expect(metadata.errors.model_grader_parse_error).toBe(reward === null);
    expect(metadata.errors.model_grader_server_error).toBe(false);
    expect(metadata.token_usage).toBeGreaterThan(20);
    expect((await ask('base')).metadata.errors).toMatchObject({
      model_grader_server_error: true,
      model_grader_server_error_details: expect.stringContaining('response together may have 256'),
    });
  });
});

async function randomModel(folder: string): Promise<void> {
  const characters = String.fromCharCode(10, ...Array.from({ length: 95 }, (_, i) => 32 + i));
  const eosToken = '<|im_end|>';
  const files = buildCharTokenizer({ characters, eosToken, chatTemplate: chatTemplates.minimal });
  const { vocabularySize, eosTokenIds } = createTokenizer(files);
  const sizes = { hiddenSize: 32, layers: 1, heads: 2, kvHeads: 1, headDim: 16 };
  const config = { ...sizes, vocabSize: vocabularySize, maxPositions: 2048, eosTokenIds };
  await createModelFolder({ directory: folder, seed: 1, config });
  await writeTokenizerFiles(folder, files);
}

describe('a webhook', () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

  it('is signed as the client expects, and sent again until it is taken', async () => {
    const got: { readonly body: string; readonly headers: Record<string, string> }[] = [];
    const product = createServer((request, response) => {
      let body = '';
      request.on('data', (text: Buffer) => (body += String(text)));
      request.on('end', () => {
        got.push({ body, headers: request.headers as Record<string, string> });
        // A page that asks for a login, say, is no webhook.
        response.writeHead(got.length === 1 ? 302 : 200, { location: '/login' }).end();
      });
    });
    await new Promise<void>((resolve) => product.listen(0, '127.0.0.1', resolve));
    const { port } = product.address() as { readonly port: number };
    const webhook = { url: `http://127.0.0.1:${port}/hook`, secret };
    const { client, commands, events, upload } = await serve({ webhook });
    const training_file = await upload([answer]);
    const job = await client.fineTuning.jobs.create({ model: 'base', training_file });
    await expect.poll(() => commands.length).toBe(2);
    commands.at(-1)?.end({ outcome: 'failed', output: 'no' });
    await expect.poll(() => got.length).toBe(2);
    product.close();
    expect(events.join('\n')).toContain('was not taken: status 302');
    const event = await client.webhooks.unwrap(got[1]?.body ?? '', got[1]?.headers ?? {}, secret);
    expect(event).toMatchObject({ type: 'fine_tuning.job.failed', data: { id: job.id } });
    expect(got[1]?.body).toBe(got[0]?.body);
  });

  it('is not notified of jobs that ended without one', async () => {
    const got: string[] = [];
    const product = createServer((request, response) => {
      request.on('data', (text: Buffer) => got.push(String(text)));
      request.on('end', () => response.end());
    });
    await new Promise<void>((resolve) => product.listen(0, '127.0.0.1', resolve));
    const { port } = product.address() as { readonly port: number };
    const webhook = { url: `http://127.0.0.1:${port}/hook`, secret };
    const endOne = async (served: Awaited<ReturnType<typeof serve>>): Promise<string> => {
      const { client, commands, upload, statusOf } = served;
      const training_file = await upload([answer]);
      const { id } = await client.fineTuning.jobs.create({ model: 'base', training_file });
      await expect.poll(() => commands.length).toBe(2);
      commands.at(-1)?.end({ outcome: 'failed', output: 'no' });
      await expect.poll(() => statusOf(id)).toBe('failed');
      return id;
    };
    const first = await serve();
    const before = await endOne(first);
    await opened.pop()!.close();
    const file = path.join(directory, 'jobs', before, 'job.json');
    const record = JSON.parse(await readFile(file, 'utf8')) as object;
    expect(record).toMatchObject({ notified: true });
    // Records of earlier versions may say otherwise.
    await writeFile(file, JSON.stringify({ ...record, notified: false }));
    await serve();
    await opened.pop()!.close();
    const after = await endOne(await serve({ webhook }));
    await expect.poll(() => got.length).toBeGreaterThan(0);
    await opened.pop()!.close();
    product.close();
    expect(got.join()).toContain(after);
    expect(got.join()).not.toContain(before);
  });

  it('needs an address and a secret', async () => {
    const open = (webhook: { url: string; secret: string }) => serve({ webhook });
    await expect(open({ url: 'ftp://x', secret })).rejects.toThrow('--webhook is "ftp://x"');
    for (const url of [
      'https://user:pass@x',
      'https://user@x',
      'ftp://:pass@x',
      'https://user:pass@x:99999/',
      'https://user:pass@',
      'user:pass@x',
    ]) {
      const refused = open({ url, secret });
      await expect(refused).rejects.toThrow('--webhook has a user name or password');
      await expect(refused).rejects.not.toThrow(/@x|pass@/);
    }
    await expect(open({ url: 'http://x', secret: 'short' })).rejects.toThrow(
      'TRINITY_WEBHOOK_SECRET',
    );
  });
});

describe('the models file', () => {
  it.each([
    ['', 'names no model'],
    ['a: [', 'is not YAML'],
    ['a: 3', 'a: expected a folder'],
    ['a: nowhere', 'There is no '],
    [`ft:a: ${practice}`, 'names with ft:'],
    [`a: { model: { model_path: ${practice} }, mode: both }`, 'mode is written by the server'],
    [
      `a: { model: { model_path: ${practice} }, algorithm: { optimizer: { lr: "1e-5" } } }`,
      'a: algorithm.optimizer.lr is "1e-5"; expected a number',
    ],
    [
      `a: { model: { model_path: ${practice} }, algorithm: { optimizer: { lr: "\${oc.env:LR}" } } }`,
      'lr is "${oc.env:LR}"; expected a number',
    ],
    [
      `a: { model: { model_path: ${practice}, lora_configs: [] } }`,
      'a: lora_configs: [] trains all weights. Set algorithm.optimizer.lr',
    ],
    [
      `a: { model: { model_path: ${practice}, lora_configs: [], tinker: { enable: false } } }`,
      'trains all weights',
    ],
  ])('%s', async (text, message) => {
    const file = path.join(directory, 'models.yaml');
    await writeFile(file, text);
    await expect(readBaseModels(file)).rejects.toThrow(message);
  });

  it('takes a learning rate for all weights, and adapters of a Tinker server', async () => {
    const model = { model_path: practice, lora_configs: [] };
    const models = {
      all: { model, algorithm: { optimizer: { lr: 1e-6 } } },
      remote: { model: { ...model, tinker: { enable: true } } },
      typed: { model: { ...model, tinker: {} }, trainer: { trainer_type: 'tinker' } },
    };
    expect(await baseModels(models, '.', 'test')).toMatchObject(models);
  });
});

it('trains the checkpoint of a run and the file of an export', async () => {
  const at = (...names: readonly string[]): string => path.join(directory, ...names);
  await cp(practice, at('run', 'global_step_5'), { recursive: true });
  await writeManifest(at('run', 'global_step_5'), { step: 5, final: true });
  await writeFile(at('run', 'settings.json'), '{"stages":[{}]}');
  await mkdir(at('export'));
  await writeFile(at('export', 'model.gguf'), 'GGUF');
  await writeFile(at('export', 'export.json'), '{"file":"model.gguf"}');
  const models = await baseModels({ run: 'run', export: 'export' }, directory, 'test');
  expect(Object.values(models).map(({ model }) => model.model_path)).toEqual([
    at('run', 'global_step_5'),
    at('export', 'model.gguf'),
  ]);
  const { client, upload, statusOf } = await serve({
    models: await baseModels({ run: 'run' }, directory, 'test'),
  });
  const training_file = await upload([answer]);
  const { id } = await client.fineTuning.jobs.create({ model: 'run', training_file });
  await expect.poll(() => statusOf(id)).toBe('running');
});

it('has the models of the guide', async () => {
  const guide = new URL('../../../docs/guides/fine-tuning-api.md', import.meta.url);
  const [, text = ''] = /```yaml models\n(.*?)```/s.exec(await readFile(guide, 'utf8')) ?? [];
  await cp(practice, path.join(directory, 'model'), { recursive: true });
  const file = path.join(directory, 'models.yaml');
  await writeFile(file, text);
  const models = await readBaseModels(file);
  expect(Object.keys(models)).toHaveLength(3);
  const { client, upload, statusOf } = await serve({ models });
  const training_file = await upload([answer]);
  for (const model of Object.keys(models)) {
    const { id } = await client.fineTuning.jobs.create({ model, training_file, seed: 1 });
    await expect.poll(() => statusOf(id)).toMatch(/queued|running/);
    const config = path.join(directory, 'jobs', id, 'config.yaml');
    await expect(readConfiguration({ configPath: config })).resolves.toMatchObject({ loaded: {} });
  }
});

it('takes texts of clients and paths literally in the configuration of a run', async () => {
  const grader = { ...exact, reference: '${oc.env:SECRET} \\${model} {{ item.truth }}' };
  directory = path.join(directory, '${model}');
  await cp(practice, path.join(directory, 'base'), { recursive: true });
  const { client, upload, statusOf } = await serve({
    models: await baseModels({ base: 'base' }, directory, 'test'),
  });
  const training_file = await upload([task]);
  const { id } = await client.fineTuning.jobs.create({
    ...{ model: 'base', training_file, validation_file: training_file },
    method: { type: 'reinforcement', reinforcement: { grader } },
  });
  await expect.poll(() => statusOf(id)).toBe('running');
  const { loaded } = await readConfiguration({
    configPath: path.join(directory, 'jobs', id, 'config.yaml'),
    env: { SECRET: 'leaked' },
  });
  const [stage] = loaded.config.stages;
  expect(stage?.buffer.explorerInput.tasksets[0]?.workflowArgs['grader']).toEqual(grader);
  expect(stage?.model.modelPath).toBe(path.join(directory, 'base'));
});

it('has its directory for itself', async () => {
  await serve();
  await expect(serve()).rejects.toThrow(
    `is in use by another run of this process. Wait for it, stop it, or choose another folder with --directory.`,
  );
  const file = path.join(directory, 'file');
  await writeFile(file, '');
  await expect(serve({ directory: file })).rejects.toThrow(`${file} cannot be used: ENOTDIR`);
});

it('opens after a damaged record was removed', async () => {
  const job = path.join(directory, 'jobs', 'ftjob-1');
  await mkdir(job, { recursive: true });
  await writeFile(path.join(job, 'job.json'), '{');
  await expect(serve()).rejects.toThrow('job.json cannot be read');
  await rm(job, { recursive: true });
  const { client } = await serve();
  expect((await client.fineTuning.jobs.list()).data).toEqual([]);
});
