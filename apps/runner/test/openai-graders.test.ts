import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { checkFiles, readConfiguration } from '@trinity-rft/launcher';
import { beforeAll, describe, expect, it } from 'vitest';
import { finishHere } from './support/run-here.js';
import { createWorkspace, type Sum, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  const rows = workspace
    .read('tasks.jsonl')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Sum)
    .map(({ question, answer }) => ({
      messages: [{ role: 'user', content: question }],
      reference_answer: answer,
    }));
  workspace.write('rows.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
});

const graded = (grader: Tree): Tree => ({
  buffer: {
    total_steps: 30,
    explorer_input: {
      tasksets: [{ name: 'sums', path: 'rows.jsonl', workflow_args: { grader } }],
      default_workflow_type: 'openai_grader_workflow',
    },
  },
});

const exact: Tree = {
  type: 'string_check',
  name: 'digit',
  input: '{{ sample.output_text }}',
  reference: '1',
  operation: 'like',
};
const judge: Tree = {
  type: 'score_model',
  name: 'judge',
  model: 'gpt-4.1-mini',
  input: [{ role: 'user', content: 'Rate {{ sample.output_text }}.' }],
};

describe("OpenAI's graders", () => {
  it('train a model', { timeout: 240_000 }, async () => {
    const { lines } = await finishHere(workspace, 'graded', graded(exact));
    const rewards = lines
      .map(({ metrics }) => metrics['rollout/reward/mean'])
      .filter((reward) => reward !== undefined);
    const mean = (list: readonly number[]): number =>
      list.reduce((sum, one) => sum + one, 0) / list.length;
    expect(rewards).toHaveLength(30);
    expect(mean(rewards.slice(-5)) - mean(rewards.slice(0, 5))).toBeGreaterThan(0.3);
  });

  it('ask an auxiliary model over its API', { timeout: 240_000 }, async () => {
    const bodies: Tree[] = [];
    const server = createServer((request, response) => {
      void json(request).then((body) => {
        bodies.push(body as Tree);
        const message = { role: 'assistant', content: '{"result": 0.5}', refusal: null };
        const answer = { choices: [{ index: 0, finish_reason: 'stop', message }] };
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(answer));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const big = { name: 'gpt-4.1-mini', model_path: 'big', base_url: url };
    const spec = { ...judge, sampling_params: { max_completions_tokens: 9 } };
    try {
      const { lines } = await finishHere(workspace, 'judged', graded(spec), {
        buffer: { total_steps: 1 },
        explorer: { auxiliary_models: [big] },
      });
      const metrics = lines.find(({ role }) => role === 'explorer')!.metrics;
      expect(metrics['rollout/reward/mean']).toBe(0.5);
    } finally {
      server.closeAllConnections();
      server.close();
    }
    expect(bodies).toHaveLength(16);
    expect(bodies[0]).toMatchObject({
      model: 'big',
      max_completion_tokens: 9,
      response_format: { type: 'json_schema', json_schema: { name: 'grade' } },
    });
    expect(bodies[0]).not.toHaveProperty('max_tokens');
  });

  it('are checked with their models, their rows and their Python before a run', async () => {
    const { signal } = new AbortController();
    const check = async (grader: Tree): Promise<void> => {
      const { loaded, ...extensions } = await readConfiguration({
        configPath: workspace.config('checked.yaml', { name: 'checked' }, graded(grader)),
        cwd: workspace.root,
        pluginDirs: ['plugins'],
        env: {},
      });
      await checkFiles(loaded, extensions, { signal });
    };
    await check(exact);
    const python = { type: 'python', source: 'def grade(sample, item): return 1' };
    for (const [grader, text] of [
      [judge, 'asks the auxiliary model "gpt-4.1-mini" with these arguments'],
      [{ ...exact, reference: '{{ item.answer }}' }, 'reads item.answer, which is not there'],
      [{ ...exact, operation: 'equals' }, 'got "equals", expected eq, ne, like or ilike'],
      [python, 'python_graders: is not set, expected true'],
    ] as const)
      await expect(check(grader)).rejects.toThrow(text);
  });
});
