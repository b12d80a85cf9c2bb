/** Tests `trinity serve --openai-fine-tuning` with an unchanged script of OpenAI's client and real runs. */
import { cpSync } from 'node:fs';
import path from 'node:path';
import OpenAI, { toFile } from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { checkpointSteps, metricLines, weightsDigest } from './support/run-record.js';
import { startTrinity, trinity, type Trinity } from './support/trinity.js';
import { createWorkspace, type Workspace } from './support/workspace.js';

const root = new URL('../../../', import.meta.url).pathname;
const practice = path.join(root, 'apps/create/templates/practice/model');
const key = 'a-key-of-16-characters';
const pollMs = { timeout: 120_000, interval: 200 };

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  cpSync(practice, path.join(workspace.root, 'practice'), { recursive: true });
});

interface Served {
  readonly process: Trinity;
  readonly client: OpenAI;
}

async function serve(
  directory: string,
  env: Readonly<Record<string, string>> = {},
  models: readonly string[] = ['--model', 'small=practice'],
): Promise<Served> {
  const options = [...models, '--directory', directory, '--port', '0'];
  const server = startTrinity(workspace.root, ['serve', '--openai-fine-tuning', ...options], {
    env: { TRINITY_SERVE_KEY: key, ...env },
  });
  await expect.poll(server.output, pollMs).toMatch(/OpenAI base URL: \S+/);
  const baseURL = /OpenAI base URL: (\S+)/.exec(server.output())?.[1] ?? '';
  return { process: server, client: new OpenAI({ baseURL, apiKey: key }) };
}

async function upload(client: OpenAI, rows: readonly unknown[]): Promise<string> {
  const text = rows.map((row) => JSON.stringify(row)).join('\n');
  const file = await toFile(Buffer.from(text), 'rows.jsonl');
  return (await client.files.create({ file, purpose: 'fine-tune' })).id;
}

type Job = OpenAI.FineTuning.FineTuningJob;

async function finished(client: OpenAI, { id }: Job): Promise<Job> {
  let job = await client.fineTuning.jobs.retrieve(id);
  while (!['succeeded', 'failed', 'cancelled'].includes(job.status)) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    job = await client.fineTuning.jobs.retrieve(id);
  }
  return job;
}

async function answerOf(client: OpenAI, model: string): Promise<string | null | undefined> {
  const { choices } = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: '7+7=' }],
    temperature: 0,
    max_tokens: 8,
  });
  return choices[0]?.message.content;
}

async function messagesOf(client: OpenAI, id: string): Promise<readonly string[]> {
  const messages: string[] = [];
  for await (const { message } of client.fineTuning.jobs.listEvents(id, { limit: 100 }))
    messages.unshift(message);
  return messages;
}

const question = (i: number) => ({ role: 'user', content: `${i}+${i}=` });
const said = (content: string) => ({ role: 'assistant', content });
const numbers = Array.from({ length: 40 }, (_, i) => i);
const sums = numbers.map((i) => ({ messages: [question(i), said(String(2 * i))] }));
const pairs = numbers.map((i) => ({
  input: { messages: [question(i)] },
  preferred_output: [said(String(2 * i))],
  non_preferred_output: [said('99')],
}));
const tasks = numbers.map((i) => ({ messages: [question(i)], first: String(2 * i)[0] }));

const runOf = (directory: string, id: string): string =>
  path.join(workspace.root, directory, 'runs/fine-tuning', id);

describe('trinity serve --openai-fine-tuning', () => {
  it('trains by the three methods, and serves what it has trained', async () => {
    const { client, process } = await serve('api');
    const [answers, held, preferences, prompts] = await Promise.all(
      [sums, sums.slice(0, 5), pairs, tasks].map((rows) => upload(client, rows)),
    );
    const shared = { n_epochs: 4, batch_size: 4 };
    const { jobs } = client.fineTuning;
    const supervised = await jobs.create({
      model: 'small',
      training_file: answers!,
      validation_file: held,
      suffix: 'sums',
      seed: 3,
      method: {
        type: 'supervised',
        supervised: { hyperparameters: { ...shared, learning_rate_multiplier: 4 } },
      },
    });
    const dpo = await jobs.create({
      model: 'small',
      training_file: preferences!,
      seed: 3,
      method: {
        type: 'dpo',
        dpo: { hyperparameters: { ...shared, beta: 0.2, learning_rate_multiplier: 40 } },
      },
    });
    const reinforcement = await jobs.create({
      model: 'small',
      training_file: prompts!,
      validation_file: prompts,
      seed: 3,
      method: {
        type: 'reinforcement',
        reinforcement: {
          grader: {
            type: 'string_check',
            name: 'first digit',
            input: '{{ sample.output_text }}',
            reference: '{{ item.first }}',
            operation: 'like',
          },
          hyperparameters: { ...shared, learning_rate_multiplier: 20, eval_interval: 20 },
        },
      },
    });
    const ended = await Promise.all(
      [supervised, dpo, reinforcement].map((job) => finished(client, job)),
    );
    expect(ended.map(({ status, error }) => [status, error])).toEqual(
      Array.from({ length: 3 }, () => ['succeeded', null]),
    );
    for (const { trained_tokens } of ended) expect(trained_tokens).toBeGreaterThan(100);

    const [first] = ended;
    const model = first?.fine_tuned_model ?? '';
    expect(model).toMatch(/^ft:small:local:sums:[0-9a-f]{8}$/);
    const csv = await (await client.files.content(first?.result_files[0] ?? '')).text();
    const lines = csv.trim().split('\n');
    expect(lines[0]).toBe('step,train_loss,train_accuracy,valid_loss,valid_mean_token_accuracy');
    expect(lines).toHaveLength(41);
    const [, early, , earlyValid] = lines[10]!.split(',').map(Number);
    const [, late, , lateValid] = lines[40]!.split(',').map(Number);
    expect(late).toBeLessThan(early!);
    expect(lateValid).toBeLessThan(earlyValid!);
    const steps = [];
    for await (const { step_number, metrics } of jobs.checkpoints.list(supervised.id))
      steps.push([step_number, metrics.full_valid_loss]);
    expect(steps).toEqual([
      [40, lateValid],
      [30, expect.any(Number)],
      [20, expect.any(Number)],
      [10, earlyValid],
    ]);

    const rewards = metricLines(runOf('api', reinforcement.id)).flatMap(
      ({ metrics }) => metrics['eval/validation/reward/mean@1'] ?? [],
    );
    expect(rewards.at(-1)).toBeGreaterThan(rewards[0]! + 0.2);

    const long = { messages: [question(1), said('2'.repeat(600))] };
    const invalid = await jobs.create({
      model: 'small',
      training_file: await upload(client, [...sums, long]),
    });
    const { error: refusal } = await finished(client, invalid);
    expect(refusal?.code).toBe('invalid_training_file');
    expect(refusal?.message).toMatch(
      /file-\w+\. Line 41: it has 6\d\d tokens [^]* remove the row\.$/,
    );
    expect(refusal?.message.split('tokens')).toHaveLength(2);

    const ask = (name: string) => answerOf(client, name);
    expect(await ask(model)).toBe('14');
    expect(await ask('small')).not.toBe('14');
    expect(await ask(`${model}:ckpt-step-10`)).toEqual(expect.any(String));

    const next = await jobs.create({
      model,
      training_file: answers!,
      hyperparameters: { n_epochs: 1, batch_size: 20 },
    });
    expect((await finished(client, next)).status).toBe('succeeded');
    await expect(client.models.delete(`${model}:ckpt-step-10`)).rejects.toThrow('is a checkpoint');
    await client.models.delete(model);
    await expect(ask(model)).rejects.toThrow(`There is no model "${model}"`);
    process.child.kill('SIGTERM');
    expect((await process.ended).exitCode).toBe(0);
    const byHand = await trinity(workspace.root, 'run', `api/jobs/${supervised.id}/config.yaml`);
    expect(byHand.stdout).toContain('This run is complete after train step 40');
  }, 240_000);

  it('resumes a job in whose midst it was killed, to the same weights', async () => {
    const body = {
      model: 'small',
      seed: 11,
      hyperparameters: { n_epochs: 40, batch_size: 4 },
    };
    const before = await serve('killed');
    const training_file = await upload(before.client, sums);
    const job = await before.client.fineTuning.jobs.create({ ...body, training_file });
    const steps = (): number => checkpointSteps(runOf('killed', job.id)).at(-1) ?? 0;
    await expect.poll(steps, pollMs).toBeGreaterThan(20);
    before.process.child.kill('SIGKILL');
    await before.process.ended;
    expect(steps()).toBeLessThan(400);
    const after = await serve('killed');
    expect(await finished(after.client, job)).toMatchObject({ status: 'succeeded' });
    const messages = await messagesOf(after.client, job.id);
    const trained = messages.filter((message) => message.startsWith('Step '));
    expect(trained).toHaveLength(400);
    expect(messages.filter((message) => message === 'Fine-tuning job started')).toHaveLength(1);
    const again = await after.client.fineTuning.jobs.create({ ...body, training_file });
    expect((await finished(after.client, again)).status).toBe('succeeded');
    expect(weightsDigest(runOf('killed', job.id))).toBe(weightsDigest(runOf('killed', again.id)));
  }, 240_000);

  it('says why all rollouts of a job failed', async () => {
    const { client } = await serve('hopeless');
    const file = await upload(client, tasks);
    const job = await client.fineTuning.jobs.create({
      ...{ model: 'small', training_file: file, validation_file: file, seed: 3 },
      method: {
        type: 'reinforcement',
        reinforcement: {
          grader: {
            type: 'score_model',
            name: 'judge',
            model: 'small',
            input: [{ role: 'user', content: `${'1'.repeat(300)} {{ sample.output_text }}` }],
          },
          hyperparameters: { n_epochs: 4, batch_size: 4 },
        },
      },
    });
    const { error } = await finished(client, job);
    expect(error).toEqual({
      code: 'training_failed',
      message: expect.stringMatching(
        /^All rollouts failed, the first one as follows\. .* has \d+ tokens; at most/,
      ),
      param: null,
    });
    expect(error?.message.length).toBeLessThan(400);
  }, 240_000);

  it('trains on a Tinker server, and serves the adapter that comes home', async () => {
    const tinkerKey = `tml-${key}`;
    workspace.write(
      'tinker.yaml',
      'mode: serve\nproject: tinker\nname: laptop\ncheckpoint_root_dir: tinker\nmodel: { model_path: practice }\n',
    );
    const tinker = startTrinity(
      workspace.root,
      ['serve', 'tinker.yaml', '--tinker', '--port', '0'],
      { env: { TRINITY_SERVE_KEY: tinkerKey } },
    );
    await expect.poll(tinker.output, pollMs).toMatch(/TINKER_BASE_URL=\S+/);
    const base_url = /TINKER_BASE_URL=(\S+)/.exec(tinker.output())?.[1];
    const settings = { enable: true, base_url, rank: 16 };
    const models = { remote: { model: { model_path: 'practice', tinker: settings } } };
    workspace.write('models.yaml', JSON.stringify(models));
    const { client } = await serve('remote', { TINKER_API_KEY: tinkerKey }, [
      '--models',
      'models.yaml',
    ]);
    const job = await client.fineTuning.jobs.create({
      model: 'remote',
      training_file: await upload(client, sums),
      seed: 3,
      hyperparameters: { n_epochs: 4, batch_size: 4, learning_rate_multiplier: 4 },
    });
    const { status, error, fine_tuned_model: model } = await finished(client, job);
    expect([status, error]).toEqual(['succeeded', null]);
    expect(await answerOf(client, model ?? '')).toBe('14');
  }, 240_000);

  it.each([
    [[], 'No model can be trained. Name one with --model'],
    [['--model', 'a=practice', '--no-train'], '--openai-fine-tuning takes no configuration'],
    [['--model', 'a=practice', '--plugin', 'x'], '--plugin or --plugin-dir'],
    [['--model', 'a=practice', '--webhook', 'http://x'], 'Expected whsec_ and at least 24 bytes'],
    [['--models', 'none.yaml'], 'none.yaml cannot be read'],
  ])('refuses %o', async (args, message) => {
    const { exitCode, stderr } = await trinity(
      workspace.root,
      'serve',
      '--openai-fine-tuning',
      ...args,
    );
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('is needed for its options', async () => {
    const { exitCode, stderr } = await trinity(workspace.root, 'serve', '--models', 'x.yaml');
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('need --openai-fine-tuning')]);
  });
});
