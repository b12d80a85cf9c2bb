/** Tests `trinity export` and `trinity chat` on a run that the test trains. */
import { cpSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { ExportReport } from '@trinity-rft/export';
import { beforeAll, describe, expect, it } from 'vitest';
import { finishHere, runHere } from './support/run-here.js';
import { startTrinity, trinity, type Ended } from './support/trinity.js';
import { createWorkspace, evalTasksets, type Workspace } from './support/workspace.js';

let workspace: Workspace;
let job: string;
beforeAll(async () => {
  workspace = await createWorkspace();
  job = path.join(workspace.root, 'runs/tests/leaving');
  await finishHere(workspace, 'leaving', {
    buffer: {
      explorer_input: {
        eval_tasksets: [
          {
            name: 'fresh',
            path: 'eval.jsonl',
            format: { prompt_key: 'question', response_key: 'answer' },
          },
        ],
      },
    },
    explorer: { eval_on_startup: true },
    trainer: { save_interval: 2 },
  });
}, 120_000);

const command = (...args: readonly string[]): Promise<Ended> =>
  trinity(workspace.root, ...args, '--plugin-dir', 'plugins');
const reportOf = (folder: string): ExportReport =>
  JSON.parse(
    readFileSync(path.join(workspace.root, folder, 'export.json'), 'utf8'),
  ) as ExportReport;

describe('trinity export', () => {
  it.each([
    ['gguf', 'Q8_0'],
    ['ollama', 'Q8_0'],
    ['transformersjs', 'q8'],
    ['hf', 'bfloat16'],
  ])('writes a run for %s, checks it, and compares rewards', async (format, numbers) => {
    const { exitCode, stdout, stderr } = await command(
      'export',
      job,
      '--to',
      format,
      '-o',
      `out-${format}`,
      '--check',
    );
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/Step 6, the best of 1 evaluated checkpoint: fresh reward \d/);
    const report = reportOf(`out-${format}`);
    expect(report).toMatchObject({ name: 'tests-leaving', format, numbers, source: { step: 6 } });
    expect(report.check?.faults).toEqual([]);
    expect(report.rewards).toMatchObject([{ set: 'fresh', metric: 'reward', failedRuns: 0 }]);
    const recorded = report.source.evaluations?.[0]?.value ?? NaN;
    expect(report.rewards?.[0]?.checkpoint).toBe(recorded);
    expect(Math.abs((report.rewards?.[0]?.exported ?? NaN) - recorded)).toBeLessThan(0.5);
    expect(existsSync(path.join(workspace.root, `out-${format}`, 'chat.mjs'))).toBe(true);
  });

  it('says which checkpoints have no score, and takes the scores of trinity eval', async () => {
    const { file } = await finishHere(workspace, 'scored', evalTasksets, {
      explorer: { eval_interval: 2 },
      trainer: { save_interval: 2 },
    });
    const folder = path.join(workspace.root, 'runs/tests/scored');
    const choiceOf = async (to: string): Promise<string | undefined> =>
      (await command('export', folder, '--to', 'hf', '-o', to)).stdout.split('\n')[0];
    expect(await choiceOf('out-unscored')).toMatch(
      /^Step 6, the best of 1 evaluated checkpoint: fresh reward [\d.]+\d\. 2 others have no such score, because no evaluation has measured their weights\. To score all: npx trinity eval FILE --checkpoints best$/,
    );
    const evaluated = await command('eval', file, '--checkpoints', 'best');
    const [, best, score] = /best step (\d) +([\d.]+)/.exec(evaluated.stdout) ?? [];
    expect(await choiceOf('out-scored')).toBe(
      `Step ${best}, the best of 3 evaluated checkpoints: fresh reward ${score}.`,
    );
    expect(reportOf('out-scored').source.evaluations).toMatchObject([
      { set: 'fresh', metric: 'reward', interval: { low: expect.any(Number) } },
    ]);
  });

  it('takes the last of several stages, and leaves no trace in the run', async () => {
    const config = workspace.config('staged.yaml', {
      name: 'staged',
      stages: [
        { stage_name: 'first', mode: 'both', trainer: { total_steps: 2 } },
        {
          stage_name: 'second',
          mode: 'both',
          trainer: { total_steps: 2 },
          explorer: { eval_on_startup: true },
        },
      ],
      buffer: {
        explorer_input: {
          eval_tasksets: [
            {
              name: 'fresh',
              path: 'eval.jsonl',
              format: { prompt_key: 'question', response_key: 'answer' },
            },
          ],
        },
      },
    });
    const { error } = await runHere(workspace, config);
    expect(error).toBeUndefined();
    const folder = path.join(workspace.root, 'runs/tests/staged');
    const files = (): readonly string[] =>
      readdirSync(folder, { recursive: true })
        .map(String)
        // SQLite creates these files while it reads.
        .filter((name) => !/-(?:shm|wal)$/.test(name))
        .toSorted();
    const before = files();
    const { exitCode, stdout } = await command(
      'export',
      folder,
      '--to',
      'gguf',
      '-o',
      'out-staged',
      '--check',
    );
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^fresh: reward \d/m)]);
    expect(files()).toEqual(before);
    const evaluated = await command('eval', config);
    expect(evaluated.exitCode).toBe(0);
    expect(evaluated.stdout).toMatch(/^ {2}last step 2 /m);
  });

  it('leaves the run as it was', () => {
    const folders = readdirSync(job).filter((name) => name.startsWith('global_step'));
    expect(folders.toSorted()).toEqual(['global_step_2', 'global_step_4', 'global_step_6']);
    expect(readdirSync(workspace.root).filter((name) => name.includes('partial'))).toEqual([]);
  });

  it('prints nothing but the report as JSON', async () => {
    const from = path.join(job, 'global_step_2');
    const run = await command('export', from, '--to', 'gguf', '-o', 'out-json', '--json');
    expect(JSON.parse(run.stdout)).toEqual(reportOf('out-json'));
  });

  it('plays the prompts of a file, and names the line of a bad one', async () => {
    const args = [
      'export',
      path.join(job, 'global_step_2'),
      '--to',
      'transformersjs',
      '--quantize',
      'fp32',
    ];
    const { exitCode } = await command(
      ...args,
      '-o',
      'out-file',
      '--check',
      'eval.jsonl',
      '--prompt-key',
      'question',
    );
    expect(exitCode).toBe(0);
    expect(reportOf('out-file').check?.tokenIds.of).toBe(20);
    const bad = await command(
      ...args,
      '-o',
      'out-bad',
      '--check',
      'eval.jsonl',
      '--prompt-key',
      'nothing',
    );
    expect([bad.exitCode, bad.stderr]).toEqual([
      2,
      expect.stringContaining('eval.jsonl:1 has neither messages nor a text under "nothing"'),
    ]);
    const missing = await command(...args, '-o', 'out-none', '--check', 'none.jsonl');
    expect([missing.exitCode, missing.stderr]).toEqual([
      2,
      expect.stringContaining('--check none.jsonl cannot be read'),
    ]);
    expect(existsSync(path.join(workspace.root, 'out-none'))).toBe(false);
  });

  it.each([
    [
      ['--to', 'onnx', '-o', 'x'],
      '--to is "onnx". Expected one of gguf, ollama, transformersjs, hf.',
    ],
    [['-o', 'x'], '--to is missing. Expected one of'],
    [['--to', 'hf'], '-o is missing. Name the folder to write: -o DIR'],
    [['--to', 'gguf', '-o', 'x', '--push', 'a/b'], '--push needs --to hf.'],
    [['--to', 'gguf', '-o', 'plugins'], 'is not empty: it holds'],
    [['--to', 'gguf', '-o', 'x', '--adapter-only'], 'has no lora_adapter'],
  ])('refuses %o', async (args, message) => {
    const { exitCode, stderr } = await command('export', job, ...args);
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain(message);
    expect(existsSync(path.join(workspace.root, 'x'))).toBe(false);
  });

  it('names what was changed in a checkpoint', async () => {
    const copy = path.join(workspace.root, 'copy/global_step_2');
    cpSync(path.join(job, 'global_step_2'), copy, { recursive: true });
    rmSync(path.join(copy, 'tokenizer.json'));
    const { exitCode, stderr } = await command('export', copy, '--to', 'gguf', '-o', 'x');
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('tokenizer.json is missing')]);
  });

  it('uploads a folder with a token alone, and without its own record', async () => {
    const asked: string[] = [];
    const hub = createServer((request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
      request.resume();
      response.writeHead(403).end('{"error":"this hub takes nothing"}');
    });
    await new Promise<void>((done) => void hub.listen(0, '127.0.0.1', done));
    const args = ['export', job, '--to', 'hf', '-o', 'out-push', '--push', 'someone/model'];
    const without = await command(...args);
    expect([without.exitCode, without.stderr]).toEqual([
      2,
      expect.stringContaining('HF_TOKEN is not set'),
    ]);
    process.env['HF_TOKEN'] = 'hf_secretsecretsecret';
    const misnamed = await command(...args.slice(0, -1), 'model').finally(
      () => delete process.env['HF_TOKEN'],
    );
    expect([misnamed.exitCode, misnamed.stderr]).toEqual([
      2,
      expect.stringContaining('--push is "model". Expected OWNER/NAME.'),
    ]);
    expect(existsSync(path.join(workspace.root, 'out-push'))).toBe(false);
    process.env['HF_ENDPOINT'] = `http://127.0.0.1:${(hub.address() as AddressInfo).port}`;
    process.env['HF_TOKEN'] = 'hf_secretsecretsecret';
    try {
      const refused = await command(...args, '--json');
      expect(JSON.parse(refused.stdout)).toEqual(reportOf('out-push'));
      expect(refused.stderr).toContain('The hub did not take someone/model');
      expect(refused.stderr + refused.stdout).not.toContain('hf_secret');
      expect(asked[0]).toContain('/api/models/someone/model');
      const before = asked.length;
      writeFileSync(
        path.join(workspace.root, 'long.jsonl'),
        JSON.stringify({ question: '1'.repeat(9999) }),
      );
      const check = ['--check', 'long.jsonl', '--prompt-key', 'question', '--no-rewards'];
      const faulty = await command(...args.with(5, 'out-faulty'), ...check);
      expect([faulty.exitCode, faulty.stderr]).toEqual([1, '']);
      expect(faulty.stdout).toMatch(/OUTSIDE THE LIMITS: No prompt was played[^]*\nNot uploaded: /);
      expect(asked).toHaveLength(before);
    } finally {
      delete process.env['HF_ENDPOINT'];
      delete process.env['HF_TOKEN'];
      hub.close();
    }
  });
});

it('prints the address of the upload in the JSON', async () => {
  // The hub server accepts all files in one commit.
  const hub = createServer((request, response) => {
    void text(request).then((body) => {
      const isPreupload = request.url?.endsWith('/preupload/main') === true;
      const { files = [] } = (isPreupload ? JSON.parse(body) : {}) as {
        readonly files?: readonly object[];
      };
      const regular = files.map((each) => ({
        ...each,
        uploadMode: 'regular',
        shouldIgnore: false,
      }));
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ id: 'someone/model', files: regular, commitOid: 'a' }));
    });
  });
  await new Promise<void>((done) => void hub.listen(0, '127.0.0.1', done));
  const address = `http://127.0.0.1:${(hub.address() as AddressInfo).port}`;
  process.env['HF_ENDPOINT'] = address;
  process.env['HF_TOKEN'] = 'hf_secretsecretsecret';
  try {
    const args = ['--to', 'hf', '-o', 'out-uploaded', '--push', 'someone/model', '--json'];
    const { exitCode, stdout, stderr } = await command('export', job, ...args);
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual({
      ...reportOf('out-uploaded'),
      uploaded: `${address}/someone/model`,
    });
  } finally {
    delete process.env['HF_ENDPOINT'];
    delete process.env['HF_TOKEN'];
    hub.close();
  }
});

describe('trinity chat', () => {
  /** Runs `trinity chat` with lines through a pipe. */
  const chat = (input: string, ...args: readonly string[]): Promise<Ended> =>
    startTrinity(workspace.root, ['chat', ...args], { input }).ended;

  it('answers each line of a pipe, the same for the same seed', async () => {
    const args = [job, '--seed', '3', '--max-tokens', '4'];
    const first = await chat('1+1=\n2+2=\n/exit\n', ...args);
    expect([first.exitCode, first.stderr]).toEqual([0, '']);
    const lines = first.stdout.split('\n');
    expect(lines[0]).toMatch(/^Step 6, the best of 1 evaluated checkpoint/);
    expect(lines.length).toBeGreaterThanOrEqual(3);
    expect((await chat('1+1=\n2+2=\n/exit\n', ...args)).stdout).toBe(first.stdout);
  });

  it('answers with a second model as well, and from an export', async () => {
    const both = await chat(
      '1+1=\n',
      job,
      '--temperature',
      '0',
      '--max-tokens',
      '4',
      '--compare',
      'base',
    );
    expect(both.stdout).toMatch(/^\[trained\] .*\n\[base\] /m);
    const exported = await chat('1+1=\n', 'out-gguf', '--temperature', '0', '--max-tokens', '4');
    expect([exported.exitCode, exported.stderr]).toEqual([0, '']);
  });

  it.each([
    [['nothing'], 'There is no nothing.'],
    [['plugins'], 'plugins is no model'],
    [['out-gguf', '--compare', 'base'], 'is no checkpoint of a run'],
    [
      ['out-gguf', '--temperature', 'warm'],
      '--temperature is "warm". Expected a number of at least 0.',
    ],
    [['out-gguf', '--tools', 'eval.jsonl'], '--tools eval.jsonl cannot be read as JSON'],
  ])('refuses %o', async (args, message) => {
    const { exitCode, stderr } = await chat('', ...args);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
