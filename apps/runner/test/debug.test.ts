import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { readExperiences } from '@trinity-rft/buffer';
import type { Experience } from '@trinity-rft/core';
import {
  debugWorkflow,
  findRecords,
  renderWorkflowDebug,
  serveDebugModel,
  type DebugWorkflowOptions,
  type WorkflowDebugReport,
} from '@trinity-rft/inspect';
import { debugFiles } from '@trinity-rft/inspect';
import { openStudio } from '@trinity-rft/inspect/studio';
import { OpenAI } from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { mainHere } from './support/main-here.js';
import { runArgs, startTrinity, type Trinity } from './support/trinity.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
let config: string;
let failing: string;
const output = (name: string, file = ''): string => path.join(workspace.root, name, file);

/**
 * Workflow that waits between its calls, changes an answer in the history (which forks), and calls the reward function
 * at the end.
 */
const forking = `
import { defineWorkflow } from '@trinity-rft/workflow';
export const forking = defineWorkflow({
  name: 'forking',
  run: async ({ task, model, rewardFn, runtime }) => {
    runtime.logger.info('the agent begins');
    const messages = [{ role: 'user' as const, content: String(task.rawTask['question']) }];
    const [first] = await model.chat(messages);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const [second] = await model.chat([...messages, { role: 'assistant', content: first.responseText + ' 12' }, { role: 'user', content: '+1=' }]);
    await rewardFn!({ response: second.responseText, truth: undefined, prompt: undefined, rawTask: {} });
    return { reward: 0.5, metrics: { turns: 2 } };
  },
});
export const failing = defineWorkflow({
  name: 'failing',
  run: async ({ task, model }) => {
    const messages = [{ role: 'user', content: String(task.rawTask['question']) }];
    await model.chat(messages);
    model.extractExperiencesFromHistory();
    await model.chat(messages);
    void Promise.reject(new Error('nobody waits for me'));
    throw new Error('the tool is broken', { cause: new Error('no such file') });
  },
});
`;

const use = (workflow: string): Tree => ({
  buffer: { explorer_input: { default_workflow_type: workflow } },
});
const debug = (outputDirectory: string, options: Partial<DebugWorkflowOptions> = {}) =>
  debugWorkflow({
    configPath: config,
    cwd: workspace.root,
    env: {},
    pluginDirs: ['plugins'],
    outputDirectory,
    ...options,
  });

beforeAll(async () => {
  workspace = await createWorkspace();
  workspace.write('plugins/forking.ts', forking);
  config = workspace.config('forking.yaml', use('forking'));
  failing = workspace.config('failing.yaml', use('failing'));
});

/**
 * Replaces relative paths by absolute ones, because the command line starts in the working
 * directory of the tests.
 */
const absolute = (text: string): string =>
  text
    .replace('"tasks.jsonl"', JSON.stringify(output('tasks.jsonl')))
    .replace('"model_path": "model"', `"model_path": ${JSON.stringify(output('model'))}`);

/** Experiences without the durations of calls, which differ between equal runs. */
const lasting = (experiences: readonly Experience[]) =>
  experiences.map((each) => ({ ...each, info: { ...each.info, times: undefined } }));

function storedIn(database: string): readonly Experience[] {
  const reader = readExperiences(database);
  const experiences = [...reader.experiences()];
  reader.close();
  return experiences;
}

describe('debugging a workflow', () => {
  let report: WorkflowDebugReport;
  beforeAll(async () => {
    report = await debug('first', { profile: true });
  });

  it('runs the first task once and shows and stores what was recorded', () => {
    expect(report.error).toBeUndefined();
    expect(report).toMatchObject({
      reward: 0.5,
      metrics: { turns: 2, steps: 2 },
      forks: [{ reason: 'text_edited', callIndex: 1 }],
    });
    expect(report.task.index).toEqual({ taskset: 'sums', row: 0 });
    expect(storedIn(output('first', debugFiles.experiences))).toEqual(report.experiences);
    const text = renderWorkflowDebug(report, { colour: false });
    for (const part of [
      'forking',
      'the agent begins',
      'sums row 0',
      `Model: ${output('model')}`,
      'Experience 1: debug/0/0/1/',
      'reward 0.5',
      'turns 2',
      'text_edited',
      '⟦',
      '0+0=',
      'finish',
    ])
      expect(text).toContain(part);
    expect(text).not.toContain('\u001b');
    expect(renderWorkflowDebug(report, { colour: true })).toContain('\u001b[38;5;');
    expect(existsSync(path.join(workspace.root, 'runs'))).toBe(false);
  });

  it('says where the time went, as a page that runs nothing and as a trace', () => {
    const { spans, experiences } = report;
    expect(spans.map(({ kind }) => kind).toSorted()).toEqual([
      'attempt',
      'model',
      'model',
      'reward',
      'tools',
    ]);
    const gap = spans.find(({ kind }) => kind === 'tools')!;
    expect(gap.end - gap.begin).toBeGreaterThanOrEqual(19);
    const whole = spans[0]!;
    for (const { begin, end } of spans)
      expect(whole.begin <= begin && begin <= end && end <= whole.end).toBe(true);
    const { traceEvents } = JSON.parse(readFileSync(output('first', debugFiles.trace), 'utf8')) as {
      traceEvents: { ph: string; args: object }[];
    };
    const calls = traceEvents.filter(({ ph }) => ph === 'X');
    expect(calls).toHaveLength(spans.length);
    expect(calls[1]!.args).toMatchObject({
      prompt_tokens: experiences[0]!.promptLength,
      policy_version: 0,
    });
    const page = readFileSync(output('first', debugFiles.profile), 'utf8');
    expect(page).toContain('model call 1');
    expect(page).not.toMatch(/<script|https?:/);
  });

  it('leaves the conversation and the causes of a failure', async () => {
    const failed = await debug('failed', { configPath: failing });
    expect(failed.error).toBeDefined();
    expect(failed.strayErrors).toEqual([expect.stringContaining('nobody waits for me')]);
    const left = JSON.parse(readFileSync(output('failed', debugFiles.failedTurns), 'utf8')) as {
      turns: object[];
    };
    expect(left).toMatchObject({
      error: expect.stringMatching(/"failing" threw: the tool is broken: no such file/),
      task: { workflow: 'failing', rawTask: { question: '0+0=' } },
    });
    expect(left.turns).toMatchObject([
      { call: 0, prompt: expect.stringContaining('0+0='), answers: [{ text: expect.any(String) }] },
      { call: 1 },
    ]);
    const experiences = storedIn(output('failed', debugFiles.experiences));
    expect(experiences).toHaveLength(2);
    expect(experiences).toEqual(failed.experiences);
    for (const experience of experiences) expect(experience).not.toHaveProperty('reward');
    expect(renderWorkflowDebug(failed, { colour: false })).toContain(
      'FAILED: Workflow "failing" threw: the tool is broken: no such file',
    );
  });

  it('samples the same when it is run again, and keeps what was there when asked to', async () => {
    const first = await debug('again');
    const second = await debug('again');
    expect(lasting(second.experiences)).toEqual(lasting(first.experiences));
    const third = await debug('again', { overwrite: false });
    expect(third.outputDirectory).toMatch(/again_\d{14}$/);
  });

  it.each([
    ['forking.yaml', 0, 'Experience 0'],
    ['failing.yaml', 1, 'FAILED'],
    ['nowhere.yaml', 2, 'nowhere.yaml'],
  ])('ends on the command line with the exit code for %s', async (file, expected, part) => {
    const place = (name: string): string => path.join(workspace.root, name);
    const args = [
      '--module',
      'workflow',
      '--plugin-dir',
      place('plugins'),
      '--output-dir',
      place('cli'),
      '--enable-profiling',
    ];
    if (existsSync(place(file))) workspace.write(file, absolute(workspace.read(file)));
    const { exitCode, stdout, stderr } = await mainHere('debug', '--config', place(file), ...args);
    expect([exitCode, stdout + stderr]).toEqual([expected, expect.stringContaining(part)]);
  });

  it('takes options as Trinity spells them in its guide', async () => {
    const page = output('profile-of-mine.html');
    const args = [
      '--output_file',
      page,
      '--plugin_dir',
      output('plugins'),
      '--output-dir',
      output('guide'),
    ];
    workspace.write('guide.yaml', absolute(workspace.read('forking.yaml')));
    expect(
      await mainHere('debug', '--config', output('guide.yaml'), '--module', 'workflow', ...args),
    ).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining(`Written to ${page}: the profile`),
    });
    expect(readFileSync(page, 'utf8')).toContain('model call 0');
  });

  it.each(['workflow', 'inference_model'])(
    'refuses an output directory of %s that is or lies in a file',
    async (module) => {
      for (const place of [config, path.join(config, 'x')])
        expect(await mainHere('debug', '-c', config, '-m', module, '-o', place)).toMatchObject({
          exitCode: 2,
          stderr: expect.stringContaining(`--output-dir is ${place}, which is or lies in a file.`),
        });
    },
  );

  it('refuses modules and ports that there are not', async () => {
    for (const module of ['trainer', 'constructor'])
      expect(await mainHere('debug', '-c', config, '-m', module)).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('inference_model, workflow, viewer'),
      });
    expect(await mainHere('debug', '-c', config, '-m', 'inference_model', '-p', 'x')).toMatchObject(
      {
        exitCode: 2,
        stderr: expect.stringContaining('--port'),
      },
    );
  });
});

describe('finding records', () => {
  it('reads a database with the tokenizer of its model', async () => {
    const places = await findRecords(output('first', debugFiles.experiences), {
      cwd: workspace.root,
      env: {},
    });
    expect(places).toEqual([
      { database: output('first', debugFiles.experiences), modelFolder: output('model') },
    ]);
  });

  it('refuses a configuration that cannot be read', async () => {
    const missing = output('missing.yaml');
    for (const named of [[missing], ['-c', missing]])
      expect(await mainHere('debug', ...named, '-m', 'viewer')).toMatchObject({
        exitCode: 2,
        stderr: expect.stringMatching(/missing\.yaml cannot be read: .* needs no file/),
      });
  });

  it('says what to do where nothing was debugged yet', async () => {
    expect(await mainHere('debug', '-m', 'viewer', '-o', output('nowhere'))).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('Start the run or debug run first'),
    });
  });
});

describe('keeping the model', () => {
  it('serves it to OpenAI clients and to debug runs, which record the same as with a model of their own', async () => {
    const own = await debug('served');
    const served = await serveDebugModel({
      configPath: config,
      cwd: workspace.root,
      env: {},
      outputDirectory: 'served',
    });
    const file = output('served', 'inference_model.json');
    expect(statSync(file).mode & 0o077).toBe(0);
    const client = new OpenAI({ baseURL: served.baseURL, apiKey: served.apiKey, maxRetries: 0 });
    const { choices } = await client.chat.completions.create({
      model: served.model,
      messages: [{ role: 'user', content: '1+1=' }],
      max_tokens: 3,
    });
    expect(choices[0]!.finish_reason).toMatch(/stop|length/);
    const report = await debug('served');
    expect(report.servedAt).toBe(served.baseURL);
    expect(lasting(report.experiences)).toEqual(lasting(own.experiences));
    await served.close();
    expect(existsSync(file)).toBe(false);
    expect((await debug('served')).servedAt).toBeUndefined();
  });

  it('does not trust a file that an earlier process left', async () => {
    workspace.write(
      'stale/inference_model.json',
      JSON.stringify({
        model: path.join(workspace.root, 'model'),
        samplerURL: 'http://127.0.0.1:9/v1',
        samplerKey: 'x',
      }),
    );
    expect(await debug('stale')).toMatchObject({ reward: 0.5 });
    workspace.write('stale/inference_model.json', '{');
    expect(await debug('stale')).toMatchObject({ reward: 0.5 });
  });
});

/** Resolves with the first match in what the command has printed. */
async function printed(command: Trinity, pattern: RegExp): Promise<string> {
  await expect.poll(() => command.output(), { timeout: 60_000 }).toMatch(pattern);
  return pattern.exec(command.output())![1]!;
}

describe('the commands that go on until Ctrl-C', () => {
  it(
    'keep the model, debug with it, show what was recorded, and leave nothing',
    { timeout: 240_000 },
    async () => {
      const place = workspace.root;
      const serving = startTrinity(place, [
        'debug',
        '--config',
        'forking.yaml',
        '--module',
        'inference_model',
      ]);
      const baseURL = await printed(serving, /baseURL +(\S+)/);
      const apiKey = await printed(serving, /apiKey +(\S+)/);
      const models = await fetch(`${baseURL}/models`, {
        headers: { authorization: `Bearer ${apiKey}` },
      });
      expect(await models.json()).toMatchObject({
        data: [{ id: expect.stringContaining('model') }],
      });
      const tried = startTrinity(place, [
        'debug',
        '-c',
        'forking.yaml',
        '-m',
        'workflow',
        '--plugin-dir',
        'plugins',
      ]);
      expect(await tried.ended).toMatchObject({
        exitCode: 0,
        stdout: expect.stringContaining('(served model)'),
      });
      serving.child.kill('SIGINT');
      expect(await serving.ended).toMatchObject({ exitCode: 0 });
      expect(existsSync(output('debug_output/inference_model.json'))).toBe(false);
      const viewing = startTrinity(place, ['debug', '-c', 'forking.yaml', '-m', 'viewer']);
      const url = await printed(viewing, /(http:\S+)/);
      const shown = new URLSearchParams(new URL(url).hash.slice(1));
      const headers = { authorization: `Bearer ${shown.get('key')}` };
      const rollouts = `api/runs/${encodeURIComponent(shown.get('run') ?? '')}/rollouts`;
      const rows = await fetch(new URL(rollouts, url), { headers });
      expect(await rows.json()).toMatchObject({
        total: 1,
        rows: [{ question: '0+0=', reward: 0.5, turns: 2, rows: [1, 2] }],
      });
      const talked = await fetch(new URL(`${rollouts}/1/conversation`, url), { headers });
      const { calls } = (await talked.json()) as {
        calls: { segments: { texts: string[] }[] }[];
      };
      expect(calls[0]?.segments.flatMap(({ texts }) => texts).join('')).toContain('0+0=');
      viewing.child.kill('SIGINT');
      expect(await viewing.ended).toMatchObject({ exitCode: 0 });
    },
  );

  it('view a run while it goes on', { timeout: 240_000 }, async () => {
    const long = workspace.config('long.yaml', { name: 'long', buffer: { total_steps: 2000 } });
    const run = startTrinity(workspace.root, runArgs('long.yaml'));
    await expect
      .poll(() => existsSync(output('runs/tests/long/buffer/experience_buffer.db')), {
        timeout: 120_000,
      })
      .toBe(true);
    const places = await findRecords(long, { cwd: workspace.root, env: {} });
    const { database } = places[0]!;
    const folder = path.dirname(path.dirname(database));
    const studio = await openStudio({ runs: folder });
    const id = encodeURIComponent(path.basename(folder));
    const total = async (): Promise<number> => {
      const rows = await fetch(new URL(`api/runs/${id}/rollouts`, studio.url), {
        headers: { authorization: `Bearer ${studio.key}` },
      });
      return ((await rows.json()) as { total: number }).total;
    };
    await expect.poll(total, { timeout: 60_000 }).toBeGreaterThan(0);
    const before = await total();
    await expect.poll(total, { timeout: 60_000 }).toBeGreaterThan(before);
    await studio.close();
    run.child.kill('SIGINT');
    expect(await run.ended).toMatchObject({ exitCode: 130 });
  });
});
