import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { auxiliaryModel, defineWorkflow } from '@trinity-rft/workflow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runHere } from './support/run-here.js';
import { metricLines, usedRows, weightsDigest } from './support/run-record.js';
import { createWideModel } from './support/wide-model.js';
import { createWorkspace, evalTasksets, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  await createWideModel(workspace, 'judge');
});
const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);

/**
 * Workflow whose reward is the judge's number of digits. It reaches the judge by name, by position and through its
 * client.
 */
const judged = defineWorkflow({
  name: 'judged',
  run: async ({ task, model, auxiliaryModels, signal }) => {
    const [answer] = await model.chat(
      [{ role: 'user', content: String(task.rawTask['question']) }],
      { signal },
    );
    const judge = auxiliaryModel(auxiliaryModels, 'judge');
    const [verdict] = await judge.chat([{ role: 'user', content: answer!.responseText || '0' }], {
      signal,
      maxTokens: 8,
      temperature: 1,
    });
    const client = auxiliaryModel(auxiliaryModels, 0).openaiClient();
    const messages = [{ role: 'user' as const, content: '1+1=' }];
    const { choices } = await client.chat.completions.create({
      model: judge.modelPath,
      messages,
      max_tokens: 4,
    });
    const digits = `${verdict!.responseText}${choices[0]!.message.content ?? ''}`.replaceAll(
      /\D/g,
      '',
    ).length;
    return {
      reward: digits,
      metrics: { version: judge.policyVersion, models: auxiliaryModels.size },
    };
  },
});

/** Serves a judge that answers with the number of digits in the question. */
async function serveJudge(): Promise<{
  readonly url: string;
  readonly keys: Set<string | undefined>;
}> {
  const keys = new Set<string | undefined>();
  const server = createServer((request, response) => {
    keys.add(request.headers.authorization);
    void text(request).then((body) => {
      const { messages } = JSON.parse(body) as {
        readonly messages: readonly { readonly content: string }[];
      };
      const answer = /<answer>([^]*)<\/answer>/.exec(messages.at(-1)?.content ?? '')?.[1] ?? '';
      const content = `{"rating": ${Math.min(10, 1 + answer.replaceAll(/\D/g, '').length)}}`;
      const choice = {
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content, refusal: null },
      };
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ choices: [choice] }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => (server.closeAllConnections(), server.close()));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, keys };
}

const closing: (() => void)[] = [];
afterAll(() => closing.forEach((close) => close()));

const withJudge: Tree = {
  buffer: { total_steps: 3, explorer_input: { default_workflow_type: 'judged' } },
  explorer: {
    auxiliary_models: [
      { name: 'judge', model_path: 'judge', max_prompt_tokens: 1500, max_response_tokens: 16 },
    ],
  },
};

describe('an auxiliary model of the embedded engine', () => {
  it(
    'judges a whole run, is not trained, and leaves equal runs equal',
    { timeout: 240_000 },
    async () => {
      for (const name of ['one', 'two']) {
        const { error } = await runHere(
          workspace,
          workspace.config(`${name}.yaml`, { name }, withJudge),
          { workflows: [judged] },
        );
        expect(error).toBeUndefined();
      }
      const lines = metricLines(job('one'));
      expect(lines).toEqual(metricLines(job('two')));
      expect(weightsDigest(job('one'))).toBe(weightsDigest(job('two')));
      const [first] = lines.filter(({ role }) => role === 'explorer');
      expect(first!.metrics).toMatchObject({
        'rollout/version/mean': -1,
        'rollout/models/mean': 1,
      });
      // Each run has one experience: the judge's answers are not experiences.
      expect(usedRows(path.join(job('one'), 'buffer/experience_buffer.db'))).toHaveLength(
        3 * 4 * 4,
      );
    },
  );
});

/** Contents of all files below a folder, as one text. */
const everything = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(folder, name))
    .filter((file) => statSync(file).isFile())
    .map((file) => readFileSync(file, 'latin1'))
    .join('\n');

const key = 'judges-own-key-1234567';
const rubric = [{ description: 'Has digits', weight: 1 }];
const rubricTree = (judge: Tree): Tree => ({
  buffer: {
    total_steps: 3,
    explorer_input: {
      tasksets: [
        {
          name: 'rated',
          path: 'rated.jsonl',
          format: { prompt_key: 'question' },
          workflow_args: { judge: 'judge' },
        },
      ],
      default_workflow_type: 'rubric_judge_workflow',
      default_reward_fn_type: 'math_reward',
    },
  },
  explorer: { auxiliary_models: [judge] },
});

/** Workflow that calls the auxiliary model over HTTP with the given address and key, as a separate process would. */
const overHttp = defineWorkflow({
  name: 'over_http',
  run: async ({ task, model, auxiliaryModels, signal }) => {
    await model.chat([{ role: 'user', content: String(task.rawTask['question']) }], { signal });
    const { OPENAI_BASE_URL: url, OPENAI_API_KEY: apiKey } = auxiliaryModel(
      auxiliaryModels,
      'judge',
    )
      .endpoint()
      .env();
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const body = JSON.stringify({
      model: 'any',
      messages: [{ role: 'user', content: '1' }],
      max_tokens: 2,
    });
    const response = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers,
      body,
      signal,
    });
    return { reward: 0, metrics: { status: response.status } };
  },
});

describe('the auxiliary models of a run', () => {
  it('are there in mode bench, and over HTTP', { timeout: 240_000 }, async () => {
    const bench: Tree = { name: 'benched', mode: 'bench' };
    const names: Tree = { buffer: { explorer_input: { default_workflow_type: 'over_http' } } };
    const config = workspace.config('benched.yaml', bench, evalTasksets, withJudge, names);
    const { error } = await runHere(workspace, config, { workflows: [overHttp] });
    expect(error).toBeUndefined();
    expect(metricLines(job('benched')).at(-1)!.metrics).toMatchObject({
      'bench/fresh/status/mean@1': 200,
      'bench/fresh/failed_task_count': 0,
    });
  });

  it(
    'are named when their folder cannot be used, before anything runs',
    { timeout: 240_000 },
    async () => {
      workspace.write('hollow/config.json', workspace.read('judge/config.json'));
      const hollow: Tree = {
        explorer: { auxiliary_models: [{ name: 'hollow', model_path: 'hollow' }] },
      };
      const { error } = await runHere(
        workspace,
        workspace.config('hollow.yaml', { name: 'hollow' }, hollow),
        { workflows: [judged] },
      );
      const folder = path.join(workspace.root, 'hollow');
      const problem = String.raw`\n +\S+/hollow\.yaml:\d+:\d+ explorer\.auxiliary_models\[0\]\.model_path: `;
      expect(error).toMatchObject({
        name: 'ConfigError',
        message: expect.stringMatching(
          `${problem}${folder} holds neither model\\.safetensors .*${problem}There is no tokenizer\\.json in ${folder}\\.`,
        ) as string,
      });
      expect(existsSync(job('hollow'))).toBe(false);
    },
  );
});

describe('a judge at an OpenAI-compatible address', () => {
  beforeAll(() => {
    const rows = workspace.read('tasks.jsonl').trim().split('\n');
    workspace.write(
      'rated.jsonl',
      rows.map((row) => `${JSON.stringify({ ...(JSON.parse(row) as Tree), rubric })}\n`).join(''),
    );
  });

  it(
    'rates a run by the rubric of its rows, and its key is left nowhere',
    { timeout: 240_000 },
    async () => {
      const { url, keys } = await serveJudge();
      const judge = {
        name: 'judge',
        model_path: 'big',
        base_url: url,
        api_key: '${oc.env:JUDGE_KEY}',
        max_response_tokens: 50,
      };
      const config = workspace.config('rated.yaml', { name: 'rated' }, rubricTree(judge));
      const { error, output } = await runHere(workspace, config, { env: { JUDGE_KEY: key } });
      expect(error).toBeUndefined();
      expect([...keys]).toEqual([`Bearer ${key}`]);
      const { metrics } = metricLines(job('rated')).find(({ role }) => role === 'explorer')!;
      expect(metrics['rollout/judge_success/mean']).toBe(1);
      expect(metrics['rollout/reward/mean']).toBeGreaterThanOrEqual(0.1);
      expect(`${output}${everything(job('rated'))}`).not.toContain(key);
    },
  );

  it('that fails is no reward: its rollouts fail, and say so', { timeout: 240_000 }, async () => {
    const judge = {
      name: 'judge',
      model_path: 'big',
      base_url: 'http://127.0.0.1:1/v1',
      api_key: '${oc.env:JUDGE_KEY}',
    };
    const config = workspace.config('silent.yaml', { name: 'silent' }, rubricTree(judge), {
      buffer: { total_steps: 1 },
    });
    const { output, error } = await runHere(workspace, config, { env: { JUDGE_KEY: key } });
    const { metrics } = metricLines(job('silent')).find(({ role }) => role === 'explorer')!;
    expect(metrics).toMatchObject({ 'rollout/runs/ok': 0, 'rollout/runs/failed': 16 });
    expect(error?.message).toContain('All 16 runs of the last explore step failed.');
    expect(output).toContain('The judge "big" gave no verdict: The auxiliary model "big"');
    expect(`${output}${everything(job('silent'))}`).not.toContain(key);
  });
});
