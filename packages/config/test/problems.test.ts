import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { loadConfig, problemsOf } from '../src/index.js';
import { createWorkspace, engines, parse, parts, problems, yaml } from './workspace.js';

const cwd = createWorkspace();

describe('all problems of a file', () => {
  it('are reported at once, one line each, by place', () => {
    const text = yaml({
      top: 'mod: both',
      algorithm: 'algorithm:\n  algorithm_type: cod\n  repeat_times: eight',
      model: 'model:\n  model_path: ./missing\n  temperature: warm\n  lora_configs: [{}, {}]',
      rest: 'synchronizer:\n  sync_interval: -1\nexplorer:\n  over_rollout: {ratio: 1.2}',
    });
    expect(problems(cwd, text).map(({ line, key }) => [line, key])).toEqual([
      [1, 'mod'],
      [3, 'algorithm.algorithm_type'],
      [4, 'algorithm.repeat_times'],
      [6, 'model.model_path'],
      [7, 'model.temperature'],
      [8, 'model.lora_configs[1]'],
      [15, 'synchronizer.sync_interval'],
      [17, 'explorer.over_rollout.ratio'],
    ]);
  });

  it('are counted where a section has many unknown keys', () => {
    const keys = Array.from({ length: 5_000 }, (_, i) => `k${i}: 1`).join('\n');
    const found = problems(cwd, yaml({ top: keys }));
    expect(found).toHaveLength(101);
    expect(found.at(-1)).toMatchObject({ line: 101, key: 'k100' });
    expect(found.at(-1)?.message).toMatch(/^4900 further unknown keys/);
  });

  it('are one ConfigError that says how many there are', () => {
    const error = thrown(() => parse(cwd, yaml({ top: 'mod: both\nnme: a' })));
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).code).toBe('CONFIG_INVALID');
    expect((error as ConfigError).message).toBe(
      'run.yaml has 2 problems:\n  run.yaml:1:1 mod: unknown key "mod". Did you mean "mode"?\n  run.yaml:2:1 nme: unknown key "nme". Did you mean "name"?',
    );
  });

  it('are the message itself when there is only one', () => {
    expect((thrown(() => parse(cwd, yaml({ top: 'mod: both' }))) as Error).message).toBe(
      'run.yaml:1:1 mod: unknown key "mod". Did you mean "mode"?',
    );
  });

  it('do not repeat for every stage that inherits the mistake', () => {
    const text = yaml({
      algorithm: 'algorithm:\n  algorithm_type: grpo\n  repeat_times: 1',
      rest: 'stages:\n  - stage_name: a\n  - stage_name: b',
    });
    expect(problems(cwd, text)).toHaveLength(1);
  });

  it('leave out what only follows from another problem', () => {
    const text = yaml({
      model:
        'model:\n  model_path: ./tiny\n  max_model_len: long\n  max_prompt_tokens: 4000\n  max_response_tokens: 4000',
    });
    expect(problems(cwd, text).map(({ key }) => key)).toEqual(['model.max_model_len']);
  });

  it('are found in stages and in the top level alike', () => {
    const text = yaml({
      model: 'model:\n  model_path: ./tiny\n  top_k: many',
      rest: 'stages:\n  - stage_name: a\n    model: {temperature: hot}',
    });
    expect(problems(cwd, text).map(({ key }) => key)).toEqual([
      'model.top_k',
      'stages[0].model.temperature',
    ]);
  });

  it('report a cycle once, with every key in it', () => {
    const text = yaml({
      model:
        'model:\n  model_path: ./tiny\n  temperature: ${model.top_p}\n  top_p: ${model.repetition_penalty}\n  repetition_penalty: ${model.temperature}',
    });
    const found = problems(cwd, text);
    expect(found).toHaveLength(1);
    expect(found[0]?.message).toContain(
      'model.temperature -> model.top_p -> model.repetition_penalty -> model.temperature',
    );
  });
});

describe('secrets', () => {
  const hidden = 'hunter2hunter2';

  it.each([
    [
      'the value of a key that is called so',
      yaml({
        rest: `monitor:\n  monitor_type: wandb\n  monitor_args: {api_key: [${hidden}]}\nexplorer:\n  env_vars: {MY_TOKEN: [${hidden}]}`,
      }),
      {},
    ],
    [
      'a variable that is called so',
      yaml({
        algorithm: 'algorithm:\n  algorithm_type: grpo\n  repeat_times: ${oc.env:DB_PASSWORD}',
      }),
      { DB_PASSWORD: hidden },
    ],
    ['the password in an address', yaml({ top: `mode: x://user:${hidden}@host` }), {}],
    ['a section around it', yaml({ model: `model:\n  - api_key: ${hidden}` }), {}],
    [
      'the password of a database without storage_type: sql',
      yaml({
        buffer: `buffer:\n  explorer_input:\n    taskset: {path: "postgresql://u:${hidden}@host/db", default_workflow_type: w}`,
      }),
      {},
    ],
    [
      'the password of a database of supervised data',
      yaml({
        top: 'mode: train',
        algorithm: 'algorithm: {algorithm_type: sft}',
        buffer: `buffer:\n  train_batch_size: 1\n  trainer_input: {experience_buffer: {path: "postgresql://u:${hidden}@host/db"}}`,
      }),
      {},
    ],
    [
      'the password in an address of an adapter, a template or the root',
      yaml({
        top: `checkpoint_root_dir: s3://u:${hidden}@host/runs`,
        model: `model:\n  model_path: ./tiny\n  chat_template_path: http://u:${hidden}@host/t\n  lora_configs: [{path: "http://u:${hidden}@host/a"}]`,
      }),
      {},
    ],
    ['a key of a model hub', yaml({ top: `mode: hf_${hidden}` }), {}],
  ])('are not shown: %s', (_, text, env) => {
    const found = problems(cwd, text, { env });
    expect(found.length).toBeGreaterThan(0);
    for (const problem of found) expect(problem.message).not.toContain(hidden);
  });

  it.each([
    ['in a section', 'extra_engine_args: {foo: "${oc.env:MY_TOKEN}"}', hidden],
    ['that is short', 'extra_engine_args: {foo: "${oc.env:MY_TOKEN}"}', 'hunter2'],
    [
      'that the limit of a message cuts',
      'extra_engine_args: {foo: "${oc.env:MY_TOKEN}"}',
      hidden.repeat(9),
    ],
    ['in a decoded list', 'max_timeout: "${oc.decode:${oc.env:MY_TOKEN}}"', `[${hidden}, b]`],
    [
      'in a decoded section, in a path',
      'max_timeout: 5\nbuffer: {explorer_input: {taskset: {path: "./${.workflow_args.a.b}", workflow_args: {a: "${oc.decode:${oc.env:MY_TOKEN}}"}}}}',
      `{b: ${hidden}}`,
    ],
    ['of a wrong kind', 'max_timeout: {a: "${oc.env:MY_TOKEN}"}', hidden],
    [
      'in a path',
      'max_timeout: 5\nbuffer: {explorer_input: {taskset: {path: "./${oc.env:MY_TOKEN}"}}}',
      hidden,
    ],
    [
      'that is short, as a word of a path',
      'max_timeout: 5\nbuffer: {explorer_input: {taskset: {path: "./no ${oc.env:MY_TOKEN} here"}}}',
      'a+(b$',
    ],
  ])('of variables are not shown: %s', (_, line, value) => {
    const isEngine = line.startsWith('extra');
    const [own, ...more] = line.split('\n');
    const text = yaml({
      ...(more.length > 0 && { buffer: more.join('\n') }),
      rest: `explorer:\n  ${isEngine ? `rollout_model: {${own}}` : own}`,
    });
    const options = { env: { MY_TOKEN: value } };
    const said = isEngine
      ? parse(cwd, text, options).warnings
      : problems(cwd, text, options).map(({ message }) => message);
    expect(said.join()).toContain('[redacted]');
    expect(said.join()).not.toContain(value.slice(0, 7));
    expect(said.join()).not.toContain(hidden);
  });

  it('are not shown when a key refers to their section', () => {
    const buffer = `${parts.buffer}\n      workflow_args: {my_key: {a: [${hidden}]}}`;
    const set = 'buffer.explorer_input.taskset.workflow_args.my_key';
    const rest = `explorer: {max_timeout: "\${${set}}", env_vars: {a: "\${${set}.a}"}}`;
    const found = problems(cwd, yaml({ buffer, rest })).map(({ message }) => message);
    expect(found).toHaveLength(2);
    expect(found.join()).not.toContain(hidden);
  });

  it('are not the names of columns', () => {
    const buffer = `${parts.buffer}\n      format: {response_key: "\${oc.env:ANSWER_KEY}"}`;
    const model =
      'model: {model_path: ./tiny, max_model_len: 60, max_prompt_tokens: 60, max_response_tokens: 60}';
    const said = (value: string): string =>
      problems(cwd, yaml({ buffer, model }), { env: { ANSWER_KEY: value } })
        .map(({ message }) => message)
        .join();
    expect(said('response')).toBe(said('other'));
    expect(said('response')).toContain('response');
  });

  it.each([
    ['token', 'max_prompt_tokens'],
    ['tiny', './tiny'],
    ['mean', 'token-mean'],
  ])('that are parts of words leave messages legible: %s', (value, says) => {
    const found = problems(
      cwd,
      yaml({
        algorithm: 'algorithm: {loss_agg_mode: nah}',
        model: `model: {model_path: ./tiny/none, max_model_len: 64, max_prompt_tokens: 60, max_response_tokens: 60}`,
        rest: `explorer: {rollout_model: {api_key: "\${oc.env:VLLM_API_KEY}"}}`,
      }),
      { env: { VLLM_API_KEY: value } },
    );
    expect(found.map(({ message }) => message).join('\n')).toContain(says);
  });

  it.each(['true', '4000'])('are texts: %s', (value) => {
    const found = problems(
      cwd,
      yaml({
        buffer: `${parts.buffer}\n      workflow_args: {use_key: ${value}, b: "\${.use_key}"}`,
        rest: 'explorer: {dynamic_timeout: {enable: 7}, over_rollout: {ratio: 4000}}',
      }),
    );
    expect(found).toHaveLength(2);
    for (const { message } of found) expect(message).not.toContain('[redacted]');
  });

  it('are not shown in warnings', () => {
    const { warnings } = parse(
      cwd,
      yaml({
        rest: `explorer:\n  rollout_model: {api_key: ${hidden}}\nmonitor:\n  monitor_args: {token: ${hidden}}`,
      }),
    );
    expect(warnings).toHaveLength(2);
    expect(warnings.join('\n')).not.toContain(hidden);
  });
});

describe('a file that cannot be read', () => {
  const cases: readonly (readonly [string, Uint8Array | 'folder' | undefined, string])[] = [
    ['missing.yaml', undefined, 'there is no such file'],
    ['folder', 'folder', 'this is a folder'],
    [
      'latin1.yaml',
      Buffer.from('name: run\nproject: caf\xe9\n', 'latin1'),
      'not UTF-8. Save it as UTF-8',
    ],
    ['utf16.yaml', Buffer.from('\ufeffname: run\n', 'utf16le'), 'UTF-16. Save it as UTF-8'],
    ['zero.yaml', new Uint8Array(), 'The file is empty'],
  ];

  it.each(cases)('is reported: %s', async (name, content, says) => {
    const file = join(cwd, name);
    if (content === 'folder') mkdirSync(file);
    else if (content !== undefined) writeFileSync(file, content);
    const error = await loadConfig(file, { cwd, env: {}, engines }).then(
      () => undefined,
      (caught: unknown) => caught,
    );
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as Error).message).toContain(`${file}:`);
    expect((error as Error).message).toContain(says);
    expect(problemsOf(error)).toHaveLength(1);
  });

  it('names the line and column of the first byte that is not UTF-8', async () => {
    const file = join(cwd, 'place.yaml');
    writeFileSync(file, Buffer.from('name: run\nproject: caf\xe9\n', 'latin1'));
    await expect(loadConfig(file, { cwd, env: {}, engines })).rejects.toThrow(`${file}:2:13 `);
  });

  it('is read when it is there, with a byte order mark too, relative to the working directory', async () => {
    writeFileSync(join(cwd, 'good.yaml'), `\ufeff${yaml()}`);
    const { file, config } = await loadConfig('good.yaml', { cwd, env: {}, engines });
    expect(file).toBe('good.yaml');
    expect(config.stages).toHaveLength(1);
  });
});

function thrown(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}
