import { cpSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { chatTemplates } from '@trinity-rft/chat';
import { beforeAll, describe, expect, it } from 'vitest';
import { mainHere } from './support/main-here.js';
import { startProduct } from './support/product.js';
import { runArgs, startTrinity, trinity, type Ended } from './support/trinity.js';
import {
  createWorkspace,
  evalTasksets,
  twoStages,
  type Tree,
  type Workspace,
} from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
});

describe('trinity', () => {
  it.each<readonly [args: readonly string[], exitCode: number, stdout: RegExp, stderr: RegExp]>([
    [['--help'], 0, /Usage: trinity .*run .*config /s, /^$/],
    [['--version'], 0, /^\d+\.\d+\.\d+\n$/, /^$/],
    [['run', '--help'], 0, /--config <file>.*--plugin-dir <directory>/s, /^$/],
    [[], 2, /^$/, /Usage: trinity/],
    [
      ['rum'],
      2,
      /^$/,
      /error: unknown command 'rum'\n\(Did you mean run\?\)\n+Run "trinity --help" for the commands\./,
    ],
    [['run'], 2, /^$/, /^Which configuration\? Write: trinity run FILE\n$/],
    [['run', 'gone.yaml'], 2, /^$/, /gone\.yaml/],
    [
      ['run', 'a.yaml', '-c', 'b.yaml'],
      2,
      /^$/,
      /^Two configurations are named, a\.yaml and b\.yaml\./,
    ],
    [['serve', 'gone.yaml'], 2, /^$/, /gone\.yaml/],
    [['debug', 'gone.yaml', '-m', 'workflow'], 2, /^$/, /gone\.yaml/],
    [['log', 'gone'], 2, /^$/, /^There is no .*gone\./],
    [['run', '--config'], 2, /^$/, /error: option '-c, --config <file>' argument missing/],
    [['run', '--config', 'a.yaml', '--fast'], 2, /^$/, /error: unknown option '--fast'/],
    [['run', '--config', 'gone.yaml'], 2, /^$/, /gone\.yaml/],
    [['config'], 2, /^$/, /Usage: trinity config/],
    [['config', 'check'], 2, /^$/, /Write: trinity config check FILE/],
    [['config', 'check', '--config', 'gone.yaml'], 2, /^$/, /gone\.yaml/],
    [['config', 'check', 'gone.yaml'], 2, /^$/, /gone\.yaml/],
  ])('%j ends with exit code %i', async (args, exitCode, stdout, stderr) => {
    const ended = await mainHere(...args);
    expect(ended.stdout).toMatch(stdout);
    expect(ended.stderr).toMatch(stderr);
    expect(ended.exitCode).toBe(exitCode);
  });
});

describe('the libraries that a command loads', () => {
  const loadedBy = async (...args: readonly string[]): Promise<ReadonlySet<string>> => {
    const hook = new URL('support/loaded-packages.mjs', import.meta.url).href;
    const options = { nodeArgs: [`--import=${hook}`] };
    const { stderr } = await startTrinity(workspace.root, args, options).ended;
    return new Set(JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '') as readonly string[]);
  };

  it('are few for its help', async () => {
    const loaded = [...(await loadedBy('--help'))];
    const ours = loaded.filter((name) => /^(?:apps|packages)\//.test(name));
    expect(new Set(ours)).toEqual(new Set(['apps/runner', 'packages/core']));
  });

  it('do not include those of databases, servers and services that the run does not use', async () => {
    const loaded = await loadedBy(...runArgs(workspace.config('few.yaml', { name: 'few' })));
    expect(loaded).toContain('packages/launcher');
    for (const name of ['kysely', 'pg', 'ws', 'undici', '@huggingface/hub', '@trinity-rft/studio'])
      expect(loaded).not.toContain(name);
  });
});

describe('trinity run', () => {
  it.each<readonly [args: readonly string[], message: RegExp]>([
    [['--explorers', 'abc', '--mode', 'both'], /^--explorers is "abc"\. Expected a whole number/],
    [
      ['--explorers', '2', '--mode', 'train'],
      /a trainer and 2 explorers, so --mode train would have no effect/,
    ],
    [
      ['--explorers', '2', '--explorer-name', 'b', '--alone'],
      /so --explorer-name and --alone would have no effect/,
    ],
    [['--explorers', '2', '--mode', 'bench'], /^--explorers is 2, and the mode of .* is bench/],
  ])('refuses %j', async (args, message) => {
    const config = inWorkspace(
      workspace.config('combined.yaml', { name: 'combined' }, evalTasksets),
    );
    const { exitCode, stderr } = await mainHere('run', config, ...plugins(), ...args);
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(message)]);
  });

  it('reads the file with the options of the command line everywhere', async () => {
    const experience_buffer = { storage: 'memory' };
    const over = {
      name: 'one-process',
      buffer: { total_steps: 1, trainer_input: { experience_buffer } },
      cluster: { explorers: 2 },
    };
    const config = inWorkspace(workspace.config('one-process.yaml', over));
    const refused = await mainHere('run', config, ...plugins());
    expect(refused.stderr).toContain('Set cluster.explorers to 0');
    const { exitCode } = await mainHere('run', config, ...plugins(), '--explorers', '0');
    expect(exitCode).toBe(0);
  });
});

/** Makes the paths of a configuration absolute, for commands that run in this process. */
function inWorkspace(file: string): string {
  const text = workspace
    .read(file)
    .replaceAll(/(?<=: )"(model|\w+\.jsonl|runs)"/g, (_, name: string) =>
      JSON.stringify(path.join(workspace.root, name)),
    );
  return workspace.write(file, text);
}

const plugins = (): readonly string[] => ['--plugin-dir', path.join(workspace.root, 'plugins')];

const withoutDatabase = 'without a database (sqlite:///file.db or postgresql://...) as';
it.each<readonly [args: readonly string[], message: string]>([
  [
    ['pairs', 'a.db', '--tasks', 'b.jsonl', '--output', 'sqlite:///c.db', '--label-studio'],
    '--label-studio writes a JSON list',
  ],
  ...(
    [
      ['pairs a.jsonl --output c.jsonl', '--label-studio', 'without --tasks'],
      ['pairs a.jsonl --output c.jsonl', '--prompt-key p', 'without --tasks'],
      ['pairs a.db --output c.jsonl', '--table t', `${withoutDatabase} <from>, which is a.db`],
      [
        'pairs a.db --tasks b.jsonl --output c.jsonl',
        '--table t',
        `${withoutDatabase} --output, which is c.jsonl`,
      ],
      ['log a --json', '--lines 3', 'with --json'],
      ['log a --json', '--answers', 'with --json'],
      ['log a --metric m', '--warnings', 'with --metric'],
      ['log a --metric m', '-n 3', 'with --metric', '--lines'],
      ['log a --answers', '--metric m', 'with --answers'],
      ['what-if a --loss ppo --json', '--groups 2', 'with --json'],
      ['init --list', '--template openai', 'with --list'],
      ['env play a --row {}', '--seed 1', 'with --row'],
      ['debug a.yaml -m workflow', '--port 1', 'with --module workflow'],
      [
        'debug a.yaml -m inference_model',
        '--enable_profiling',
        'with --module inference_model',
        '--enable-profiling',
      ],
      ['debug a.yaml -m viewer', '--output-file f', 'with --module viewer'],
      ['debug a.yaml -m viewer', '--newest-checkpoint', 'with --module viewer'],
    ] as const
  ).map(
    ([command, option, when, name = option.split(' ')[0]]) =>
      [
        [...command.split(' '), ...option.split(' ')],
        `${name} has no effect ${when}. Leave it out.`,
      ] as const,
  ),
  [['init', 'folder', '--list'], 'so folder has no effect'],
  [['export', 'm', '--to', 'hf', '-o', 'd', '--no-rewards'], '--no-rewards needs --check'],
  [['export', 'm', '--to', 'hf', '-o', 'd', '--check', '--prompt-key', 'q'], '--prompt-key needs'],
  [['what-if', 'a.yaml', '--loss', 'ppo', '--steps', '1.5'], '--steps is "1.5". Expected a whole'],
])('refuses options without effect, and halves of what is counted: %j', async (args, message) => {
  const { exitCode, stderr } = await mainHere(...args);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
});

it('names the line of a file of choices that is not JSON', async () => {
  const file = workspace.write('choices.jsonl', '{}\n{"preferred": 1\n');
  const { exitCode, stderr } = await mainHere('pairs', file, '--output', `${file}.rows`);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`${file}:2 is not JSON: `)]);
});

it('counts the pairs without a choice, and names the line of a wrong one', async () => {
  const pair = { prompt: 'p', answer1: 'a', answer2: 'b' };
  const choices = async (...preferred: readonly unknown[]) => {
    const lines = preferred.map((each) => JSON.stringify({ ...pair, preferred: each }));
    const file = workspace.write('choices.jsonl', `\n${lines.join('\n')}\n`);
    const { stdout, stderr } = await mainHere('pairs', file, '--output', `${file}.rows`);
    return (stdout + stderr).replaceAll(file, 'FILE');
  };
  expect(await choices(null, '2')).toContain('FILE:3: preferred is "2". Expected the lines');
  expect(await choices(null, 1, null)).toBe(
    'FILE.rows: 1 row; 2 without a choice, or with different ones\n',
  );
});

it('says how to name a database of choices', async () => {
  const file = workspace.write('choices.db', 'SQLite format 3\0 and more');
  const { exitCode, stderr } = await mainHere('pairs', file, '--output', `${file}.rows`);
  const message = `${file} is an SQLite database. Write sqlite:///${file}`;
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
});

describe('trinity config', () => {
  it('shows no key of the environment, in text or JSON', async () => {
    const key = 'hunter2-hunter2-hunter2';
    process.env['VLLM_API_KEY'] = key;
    try {
      const rollout_model = { engine_type: 'vllm', base_url: '${oc.env:VLLM_API_KEY}' };
      const config = inWorkspace(workspace.config('key.yaml', { explorer: { rollout_model } }));
      for (const json of [[], ['--json']]) {
        const { exitCode, stdout, stderr } = await mainHere(
          ...['config', 'check', config, ...plugins(), ...json],
        );
        expect([exitCode, stdout + stderr]).toEqual([2, expect.stringContaining('base_url')]);
        expect(stdout + stderr).not.toContain(key);
      }
    } finally {
      delete process.env['VLLM_API_KEY'];
    }
  });

  it('check says that a configuration has no errors, or each with its place and cure', async () => {
    const data = {
      path: path.join(workspace.root, 'tasks.jsonl'),
      default_workflow_type: 'math_workflow',
      format: { prompt_key: 'question', response_key: 'answer' },
    };
    const good = workspace.write(
      'good.yaml',
      JSON.stringify({
        algorithm: { algorithm_type: 'grpo' },
        model: {
          model_path: path.join(workspace.root, 'model'),
          max_prompt_tokens: 12,
          max_response_tokens: 4,
        },
        buffer: { explorer_input: { taskset: data } },
      }),
    );
    expect(await mainHere('config', 'check', good)).toEqual({
      exitCode: 0,
      stderr: '',
      stdout: `${good}: no errors.\n`,
    });
    const bad = await mainHere(
      'config',
      'check',
      workspace.write('bad.yaml', 'mode: both\nbuffer:\n  batch_size: many\n  epochs: 3\n'),
    );
    expect([bad.exitCode, bad.stdout]).toEqual([2, '']);
    expect(bad.stderr).toMatch(/bad\.yaml:3:15.*batch_size.*many/s);
    expect(bad.stderr).toMatch(/bad\.yaml:4:3.*epochs.*total_epochs/s);
  });

  const rows = {
    storage_type: 'file',
    path: 'tasks.jsonl',
    format: { prompt_type: 'plaintext', prompt_key: 'question', response_key: 'answer' },
  };
  const supervised = {
    mode: 'train',
    algorithm: { algorithm_type: 'sft' },
    buffer: { train_batch_size: 8, total_steps: 6, trainer_input: { experience_buffer: rows } },
  };
  const ofTasks = { buffer: { total_steps: null, total_epochs: 1 } };
  it.each<[string, Tree, number, string]>([
    ['explore steps', {}, 6, 'the run ends after 6 train steps: buffer.total_steps is 6.'],
    ['steps of supervised rows', supervised, 6, 'the run ends after 6 train steps: buffer.total'],
    ['tasks', ofTasks, 25, 'the tasks end after 25 train steps: 100 tasks,'],
  ])('check compares trainer.total_steps with the %s', async (_name, over, last, text) => {
    const warned = async (total_steps: number): Promise<string> => {
      const file = workspace.config('bound.yaml', over, { trainer: { total_steps } });
      return (await mainHere('config', 'check', inWorkspace(file), ...plugins())).stdout;
    };
    expect(await warned(last)).not.toContain('trainer.total_steps');
    expect(await warned(last + 1)).toContain(`trainer.total_steps: got ${last + 1}, but ${text}`);
  });

  it('check names tokens that have no embedding', async () => {
    const { root, write, read, config } = workspace;
    cpSync(path.join(root, 'model'), path.join(root, 'grown'), { recursive: true });
    const { vocab_size: end } = JSON.parse(read('model/config.json')) as { vocab_size: number };
    const checked = async (special: boolean, content: string, id = end): Promise<Ended> => {
      const text = read('model/tokenizer.json');
      const tokenizer = JSON.parse(text) as { added_tokens: { content: string }[] };
      const others = tokenizer.added_tokens.filter((token) => token.content !== content);
      const added_tokens = [...others, { id, content, special }];
      write('grown/tokenizer.json', JSON.stringify({ ...tokenizer, added_tokens }));
      const file = config('grown.yaml', { model: { model_path: 'grown' } });
      return trinity(root, 'config', 'check', file, '--plugin-dir', 'plugins');
    };
    expect(await checked(true, '<image>', end + 3)).toMatchObject({
      stdout: expect.stringMatching('grown.yaml: no errors.\\n$'),
    });
    expect(await checked(false, '<more>', end + 3)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining(` such as ${end + 3} ("<more>"), 1 in all: vocab_size`),
    });
    const template = '{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}';
    write('grown/chat_template.jinja', template);
    for (const needed of ['<|im_start|>', '<|im_end|>'])
      expect(await checked(true, needed)).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining(` such as ${end} ("${needed}"), 1 in all: vocab_size`),
      });
    write('grown/generation_config.json', JSON.stringify({ eos_token_id: 9999 }));
    expect(await checked(true, '<image>')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining(' such as 9999, 1 in all: vocab_size'),
    });
  });

  it('check compares the parser of tool calls with the chat template', async () => {
    const { root, write, config } = workspace;
    cpSync(path.join(root, 'model'), path.join(root, 'calling'), { recursive: true });
    write('calling/chat_template.jinja', chatTemplates.chatml);
    const checked = async (tool_call_parser: string): Promise<string> => {
      const file = config('calling.yaml', {
        model: { model_path: path.join(root, 'calling') },
        explorer: { rollout_model: { tool_call_parser } },
      });
      const { stdout, stderr } = await mainHere('config', 'check', inWorkspace(file), ...plugins());
      return stdout + stderr;
    };
    expect(await checked('mistral')).toMatch(
      /calling\.yaml:\d+:\d+ explorer\.rollout_model\.tool_call_parser: got mistral, but .* the syntax of hermes/,
    );
    for (const right of ['hermes', 'auto'])
      expect(await checked(right)).not.toContain('tool_call_parser');
    // The syntax of phi4_mini_json, but no tools.
    const template = '{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}';
    write('calling/chat_template.jinja', `{# functools[ #}${template}`);
    expect((await checked('mistral')).match(/tool_call_parser: got .*/g)).toEqual([
      expect.stringContaining('tool_prompt: generic instead'),
    ]);
  });

  it('check and plan answer programs in JSON, with the same exit codes', async () => {
    const bad = workspace.write(
      'worse.yaml',
      'mode: both\nbuffer:\n  batch_size: many\n  epochs: 3\nname: ""\n',
    );
    for (const command of ['check', 'plan']) {
      const { exitCode, stdout, stderr } = await mainHere('config', command, bad, '--json');
      expect([exitCode, stderr]).toEqual([2, '']);
      const { errors, warnings } = JSON.parse(stdout) as { errors: unknown[]; warnings: unknown[] };
      expect(warnings).toEqual([]);
      expect(errors).toContainEqual({
        ...{ file: bad, line: 3, column: 15, path: 'buffer.batch_size', message: 'got "many".' },
        fix: 'Expected a whole number, at least 1.',
      });
    }
    const gone = await mainHere('config', 'check', 'gone.yaml', '--json');
    expect([gone.exitCode, JSON.parse(gone.stdout)]).toEqual([
      2,
      {
        errors: [
          {
            ...{ file: 'gone.yaml', line: 1, column: 1, path: '' },
            message: 'there is no such file.',
            fix: 'Check the path; relative paths start at the working directory.',
          },
        ],
        warnings: [],
      },
    ]);
    const config = workspace.config('warned.yaml', { explorer: { runner_num: 2 } });
    const args = ['config', 'check', config, '--plugin-dir', 'plugins', '--json'];
    const warned = await trinity(workspace.root, ...args);
    expect([warned.exitCode, JSON.parse(warned.stdout)]).toEqual([
      0,
      {
        errors: [],
        warnings: [
          expect.objectContaining({
            ...{ file: config, path: 'explorer.runner_num', fix: '' },
            message: '"runner_num" is an old name; it is read as "runner_per_model".',
          }),
        ],
      },
    ]);
  });

  it('schema prints a JSON Schema', async () => {
    const { exitCode, stdout } = await mainHere('config', 'schema');
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      $schema: expect.any(String) as unknown,
      properties: { mode: expect.anything() as unknown, stages: expect.anything() as unknown },
    });
  });

  it('plan says what would run, and runs nothing', async () => {
    workspace.config('plan.yaml', twoStages, evalTasksets);
    const { exitCode, stdout, stderr } = await trinity(
      workspace.root,
      'config',
      'plan',
      'plan.yaml',
      '--plugin-dir',
      'plugins',
    );
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/warmup.*8 .*grpo.*6 /s);
    expect(() => readFileSync(path.join(workspace.root, 'runs/tests/run/stage_meta.json'))).toThrow(
      /ENOENT/,
    );
  });
});

const myAlgorithm = `
  import { byGroup, defineAdvantage, defineAlgorithm } from '@trinity-rft/algorithm';
  import { numberArg } from '@trinity-rft/core';
  const best = defineAdvantage({
    name: 'best_of',
    args: { share: numberArg(0.5, { min: 0, max: 1 }, 'Of the best reward.') },
    create: ({ share }) => byGroup(({ rewards }) => ({ scores: rewards.map((reward) => reward - share * Math.max(...rewards)), metrics: {} })),
  });
  export const mine = defineAlgorithm({ name: 'mine', doc: { summary: 'Mine own.', formula: 'A = R - share max(R)' }, repeatTimes: 4, advantageFn: best, klLossFn: { name: 'none' } });
`;

describe('trinity convert', () => {
  it('writes a model folder in another number format', async () => {
    const [from, to] = ['model', 'half'].map((name) => path.join(workspace.root, name));
    const ended = await mainHere('convert', from ?? '', to ?? '', '--dtype', 'bfloat16');
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
    expect(ended.stdout).toMatch(/half: \d+ weights as bfloat16, 0\.0 MB in model\.safetensors\n$/);
    const again = await mainHere('convert', from ?? '', to ?? '');
    expect([again.exitCode, again.stderr]).toEqual([
      2,
      expect.stringContaining('half is not empty'),
    ]);
  });

  it.each([
    ['--dtype', 'int4', /^--dtype is "int4"\. Expected one of float32, bfloat16, float16\./],
    ['--shard-size', '5', /^--shard-size is "5"\. Expected a size such as 2GB or 500MB\./],
  ])('refuses %s %s', async (option, value, message) => {
    const { exitCode, stderr } = await mainHere('convert', 'a', 'b', option, value);
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(message)]);
  });
});

describe('trinity init', () => {
  it('creates a project from a template, and says what to do next', async () => {
    const folder = path.join(workspace.root, 'new-project');
    const ended = await mainHere('init', folder, '--template', 'workflow-package');
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
    expect(ended.stdout).toMatch(
      /new-project from the template workflow-package\. Next:\n\n {2}cd /,
    );
    expect(readFileSync(path.join(folder, 'train.yaml'), 'utf8')).toContain('estimate');
    const { stdout: listed } = await mainHere('init', '--list');
    expect(listed).toMatch(/^ai-sdk {2,}an agent of/m);
    for (const line of listed.trimEnd().split('\n')) expect(line).toMatch(/^[\w-]+ {2,}\w/);
    const wrong = await mainHere('init', folder, '--template', 'none');
    expect([wrong.exitCode, wrong.stderr]).toEqual([
      2,
      expect.stringContaining('There is no template "none"'),
    ]);
  });
});

describe('trinity algorithms', () => {
  it('shows all algorithms and their parts, with what they need', async () => {
    const { exitCode, stdout } = await mainHere('algorithms');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^ppo +1 +ppo +ppo +k2 +default +reference model, critic$/m);
    expect(stdout).toMatch(/policy_loss_fn +ppo, .*gspo/);
  });

  it('shows one of them in full: formula, settings, arguments with defaults and ranges, source', async () => {
    const { stdout } = await mainHere('algorithms', 'gspo');
    expect(stdout).toMatch(
      /^algorithm_type: gspo\n.*repeat_times +2\n.*loss_agg_mode +seq-mean-token-mean\n/s,
    );
    expect(stdout).toMatch(
      /^policy_loss_fn: gspo\n.*arxiv\.org\/abs\/2507\.18071.*clip_range_low +number >= 0 +- .*0\.0003/ms,
    );
    const { presets, parts } = JSON.parse((await mainHere('algorithms', 'gspo', '--json')).stdout);
    expect([presets, parts]).toMatchObject([
      [{ name: 'gspo' }],
      [{ key: 'policy_loss_fn', args: expect.anything() }],
    ]);
  });

  it('says what a wrong name may have meant', async () => {
    const { exitCode, stderr } = await mainHere('algorithms', 'gppo');
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(/"gppo"\. Did you mean "grpo"\?/),
    ]);
  });
});

describe('algorithms of plugins', () => {
  it('are known to every command, with their mistakes reported in the file', async () => {
    workspace.write('own/mine.ts', myAlgorithm);
    const dir = path.join(workspace.root, 'own');
    const file = (name: string, share: number): string =>
      workspace.write(
        name,
        JSON.stringify({
          algorithm: { algorithm_type: 'mine', advantage_fn_args: { share } },
          model: {
            model_path: path.join(workspace.root, 'model'),
            max_prompt_tokens: 12,
            max_response_tokens: 4,
          },
          buffer: {
            explorer_input: {
              taskset: {
                path: path.join(workspace.root, 'tasks.jsonl'),
                default_workflow_type: 'math_workflow',
                format: { prompt_key: 'question', response_key: 'answer' },
              },
            },
          },
        }),
      );
    const config = file('mine.yaml', 0.25);
    const unknown = await mainHere('config', 'check', config);
    expect([unknown.exitCode, unknown.stderr]).toEqual([
      2,
      expect.stringMatching(/got "mine", expected one of grpo/),
    ]);
    expect((await mainHere('config', 'check', config, '--plugin-dir', dir)).stderr).toBe('');
    expect((await mainHere('config', 'plan', config, '--plugin-dir', dir)).stdout).toContain(
      'mine',
    );
    expect((await mainHere('config', 'schema', '--plugin-dir', dir)).stdout).toContain(
      'advantage_fn.best_of',
    );
    expect((await mainHere('algorithms', 'mine', '--plugin-dir', dir)).stdout).toMatch(
      /Mine own\..*A = R - share max\(R\)/s,
    );
    const wrong = file('wrong.yaml', 2);
    const { exitCode, stderr } = await mainHere('config', 'check', wrong, '--plugin-dir', dir);
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(
        /wrong\.yaml:\d+:\d+ .*share: got 2, expected a number, at least 0 and at most 1/,
      ),
    ]);
  });

  it('train', { timeout: 240_000 }, async () => {
    workspace.write('own/mine.ts', myAlgorithm);
    const config = workspace.config('trains-mine.yaml', {
      name: 'trains-mine',
      algorithm: { algorithm_type: 'mine' },
    });
    const ended = await startTrinity(workspace.root, runArgs(config), {
      env: { TRINITY_PLUGIN_DIRS: ['own', 'plugins'].join(path.delimiter) },
    }).ended;
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
    expect(workspace.read('runs/tests/trains-mine/monitor/metrics.jsonl')).toContain(
      'actor/pg_loss',
    );
  });
});

/** The arguments of the commands that a run recommends. */
const nextCommands = (stdout: string): readonly (readonly string[])[] =>
  [...stdout.matchAll(/^ {2}(?:npx )?trinity (.*?) +#/gm)].map(([, command = '']) =>
    command.split(' '),
  );

describe('an older Node', () => {
  it('is refused before anything else, with the version that is needed', async () => {
    const pretend = `Object.defineProperty(process.versions, 'node', { value: '20.20.2' })`;
    const ended = await startTrinity(workspace.root, ['--version'], {
      nodeArgs: [`--import=data:text/javascript,${encodeURIComponent(pretend)}`],
    }).ended;
    expect(ended).toMatchObject({ exitCode: 1, stdout: '' });
    expect(ended.stderr).toMatch(
      /^Trinity-RFT needs Node 22\.13 or newer; this is Node 20\.20\.2 \(.*\n$/,
    );
  });
});

describe('trinity run', { timeout: 240_000 }, () => {
  it('trains, takes plugin directories from the command line and the environment, and says where the weights are', async () => {
    const config = workspace.config('trains.yaml', {
      name: 'trains',
      buffer: { explorer_input: { default_workflow_type: 'elsewhere' } },
    });
    workspace.write(
      'more/elsewhere.ts',
      `import { defineWorkflow } from '@trinity-rft/workflow';
       export const elsewhere = defineWorkflow({ name: 'elsewhere', run: async ({ model }) => (await model.chat([{ role: 'user', content: '1' }]))[0].responseText.length });`,
    );
    const ended = await startTrinity(workspace.root, runArgs(config), {
      env: { TRINITY_PLUGIN_DIRS: ['more', 'plugins'].join(path.delimiter) },
    }).ended;
    expect(ended).toMatchObject({ exitCode: 0, signal: null, stderr: '' });
    expect(ended.stdout).toMatch(
      /^(?:[a-z ]+\(\d+s\)\n)*step 1\/6 .*\n(?:(?:step|explore step) \d.*\n)+Done after train step 6: .*global_step_6\n[^]*\n\nNext:\n/,
    );
    expect(nextCommands(ended.stdout)).toEqual([
      ['report', 'runs/tests/trains'],
      ['log', 'runs/tests/trains'],
      ['doctor', 'runs/tests/trains'],
      ['studio', 'runs/tests/trains'],
      ['verify', 'trains.yaml', '--plugin-dir', 'plugins'],
      ['serve', 'trains.yaml', '--plugin-dir', 'plugins', '--no-train'],
    ]);
    const [report = [], log = [], , , verify = [], serve = []] = nextCommands(ended.stdout);
    const env = { TRINITY_PLUGIN_DIRS: 'more' };
    const verified = startTrinity(workspace.root, verify, { env }).ended;
    expect(await verified).toMatchObject({ exitCode: 0 });
    const product = await startProduct(workspace.root, serve.slice(1), { env });
    expect((await product.ask()).choices).toHaveLength(1);
    product.server.child.kill('SIGINT');
    expect(await product.server.ended).toMatchObject({ exitCode: 0 });
    const reported = await trinity(workspace.root, ...report, '--html', 'report.html');
    expect(reported.stdout).toMatch(
      /^[A-Z].*\. trains\n[^]*\nNext:\n[^]*\nWritten: report\.html\n$/,
    );
    const { stdout } = await trinity(workspace.root, ...log);
    expect(stdout).toMatch(
      /^\/.*trains\n\n {2}train step {3}6\n {2}checkpoint {3}\/.*global_step_6 \(after step 6\)\n {2}reward {7}\d.* in 6 explore steps/,
    );
    expect(stdout).toContain('INFO');
    const curve = await trinity(workspace.root, ...log, '--metric', 'rollout/reward/mean');
    expect(curve.stdout).toMatch(/\n1\t[\d.]+\n2\t[\d.]+\n/);
    const wrong = await trinity(workspace.root, ...log, '--metric', 'reward/mean');
    expect([wrong.exitCode, wrong.stderr]).toEqual([
      2,
      expect.stringContaining('No metric is named "reward/mean". Near it: rollout/reward/mean'),
    ]);
  });

  it('ends although an agent left timers behind, and although nobody reads what it prints', async () => {
    workspace.write(
      'plugins/leaky.ts',
      `import { defineWorkflow } from '@trinity-rft/workflow';
       export const leaky = defineWorkflow({ name: 'leaky', run: async ({ model }) => {
         setInterval(() => undefined, 1000);
         return (await model.chat([{ role: 'user', content: '1' }]))[0].responseText.length;
       } });`,
    );
    const config = workspace.config('leaky.yaml', {
      name: 'leaky',
      buffer: { explorer_input: { default_workflow_type: 'leaky' } },
    });
    const command = startTrinity(workspace.root, runArgs(config));
    command.child.stdout?.once('data', () => command.child.stdout?.destroy());
    expect(await command.ended).toMatchObject({ exitCode: 0, signal: null });
    expect(
      readFileSync(
        path.join(workspace.root, 'runs/tests/leaky/latest_checkpointed_iteration.txt'),
        'utf8',
      ),
    ).toBe('6');
  });

  it('fails with exit code 1, the first cause on the console and all of them in failure.txt', async () => {
    workspace.write(
      'plugins/angry.ts',
      `import { defineWorkflow } from '@trinity-rft/workflow';
       export const angry = defineWorkflow({ name: 'angry', run: async () => { throw new Error('outer', { cause: new TypeError('inner') }); } });`,
    );
    const config = workspace.config('angry.yaml', {
      name: 'angry',
      buffer: { explorer_input: { default_workflow_type: 'angry' } },
    });
    const { exitCode, stdout, stderr } = await startTrinity(workspace.root, runArgs(config)).ended;
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^All 48 runs of the last 3 explore steps failed\..*: Workflow "angry" threw: outer: inner\n$/,
    );
    expect(stdout).toMatch(
      /warning: Run 1\/0\/0 of workflow "angry" failed: Workflow "angry" threw: outer: inner/,
    );
    const report = readFileSync(path.join(workspace.root, 'runs/tests/angry/failure.txt'), 'utf8');
    expect(report).toMatch(
      /^WorkflowError: All 48 runs[^]*\[cause\]: WorkflowError: Workflow "angry" threw[^]*\[cause\]: Error: outer[^]*angry\.ts[^]*\[cause\]: TypeError: inner/,
    );
  });
});
