import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { manualClock } from '@trinity-rft/testing';
import { OpenAI } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AlgorithmConfig,
  DatasetConfig,
  JudgeOutput,
  tune,
  TunerModelConfig,
  WorkflowOutput,
  type JudgeInput,
  type WorkflowInput,
} from '../src/index.js';
import { tinyWorld } from './tiny.js';

interface Row {
  readonly question: string;
  readonly answer: string;
}

async function runAgent({ task, model }: WorkflowInput<Row>): Promise<WorkflowOutput<string>> {
  const [answer] = await model.chat([{ role: 'user', content: task.question }], { maxTokens: 4 });
  return WorkflowOutput({
    response: answer!.responseText,
    reward: 99,
    metrics: { length: answer!.responseText.length, shared: 1 },
  });
}

async function ask(client: OpenAI, content: string): Promise<string> {
  const { choices } = await client.chat.completions.create({
    model: 'any',
    messages: [{ role: 'user', content }],
    max_tokens: 4,
  });
  return choices[0]!.message.content ?? '';
}

const judge = ({ response }: JudgeInput<Row, string>): JudgeOutput =>
  JudgeOutput({ reward: response.includes('1') ? 1 : 0, metrics: { shared: 2 } });

describe('tune', () => {
  let world: Awaited<ReturnType<typeof tinyWorld>>;
  beforeAll(async () => void (world = await tinyWorld()));
  afterAll(() => rmSync(world.cwd, { recursive: true, force: true }));

  const options = () => ({
    workflowFunc: runAgent,
    judgeFunc: judge,
    trainDataset: DatasetConfig({ path: 'my_dataset', split: 'train' }),
    evalDataset: { path: 'my_dataset', split: 'test' },
    model: TunerModelConfig({ modelPath: 'model', maxModelLen: 32 }),
    algorithm: AlgorithmConfig({
      groupSize: 2,
      batchSize: 2,
      learningRate: 1e-3,
      saveIntervalSteps: 1,
    }),
    cwd: world.cwd,
    terminal: world.terminal,
  });

  it('says within 5 s that it waits for the dry run, and why an attempt failed', async () => {
    const [clock, abort, called] = [manualClock(), new AbortController(), Promise.withResolvers()];
    let calls = 0;
    const tuned = tune({
      ...options(),
      ...{ clock, signal: abort.signal },
      workflowFunc: () => {
        if (++calls === 1) throw new Error('no service yet');
        called.resolve(undefined);
        return new Promise<never>(() => undefined);
      },
    });
    await Promise.race([called.promise, tuned]);
    expect(world.printed.join('')).toContain('no service yet');
    await clock.advance(5000);
    expect(world.printed.at(-1)).toBe(
      'warning: Waiting for the dry run on the first row (5 s until now).\n',
    );
    abort.abort();
    await expect(tuned).rejects.toThrow('The explorer was stopped.');
  });

  it('gives workflow and judge the auxiliary models by name, through the adapter', async () => {
    const names = new Set<string>();
    const summary = await tune({
      ...options(),
      experimentName: 'with-helper',
      algorithm: { groupSize: 2, batchSize: 4, learningRate: 1e-3 },
      evalDataset: undefined,
      auxiliaryModels: { helper: { modelPath: 'model', maxModelLen: 32, maxTokens: 4 } },
      adapter: (endpoint) => new OpenAI(endpoint.openai()),
      workflowFunc: async ({ task, model }: WorkflowInput<Row, OpenAI>) => ({
        response: await ask(model, task.question),
      }),
      judgeFunc: async ({ response, auxiliaryModels }: JudgeInput<Row, string, OpenAI>) => {
        for (const name of Object.keys(auxiliaryModels)) names.add(name);
        return { reward: (await ask(auxiliaryModels['helper']!, '1+1')) === response ? 1 : 0 };
      },
    });
    expect([...names]).toEqual(['helper']);
    expect(summary).toMatchObject({ trainStep: 1 });
    expect(path.basename(summary.jobDirectory)).toBe('with-helper');
    const first = JSON.parse(
      readFileSync(path.join(summary.jobDirectory, 'monitor', 'metrics.jsonl'), 'utf8').split(
        '\n',
      )[0]!,
    ) as object;
    // The helper's calls are not trained on.
    expect(first).toMatchObject({ metrics: { 'experience_pipeline/experience_count': 8 } });
  });

  it('trains, and leaves checkpoints and curves where the tutorial says', async () => {
    const summary = await tune(options());
    expect(summary).toMatchObject({ interrupted: false, trainStep: 2 });
    const { jobDirectory: job } = summary;
    expect(world.printed.at(-1)).toBe(
      `Done after train step 2: ${path.join(job, 'global_step_2')}\n`,
    );
    expect(path.dirname(job)).toBe(path.join(world.cwd, 'checkpoints', 'AgentScope'));
    expect(path.basename(job)).toMatch(/^Experiment-\d{14}$/);
    expect(readdirSync(job)).toEqual(
      expect.arrayContaining(['global_step_1', 'global_step_2', 'monitor', 'buffer', 'log']),
    );
    expect(existsSync(path.join(job, 'monitor', 'tensorboard'))).toBe(true);
    const lines = readFileSync(path.join(job, 'monitor', 'metrics.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const explored = lines.filter(
      ({ role, metrics }) => role === 'explorer' && 'rollout/reward/mean' in (metrics as object),
    );
    expect(explored).toHaveLength(2);
    // The judge's reward and its metrics win; the workflow's other ones stay.
    for (const { metrics } of explored as { readonly metrics: Record<string, number> }[]) {
      expect(metrics['rollout/reward/max']).toBeLessThanOrEqual(1);
      expect(metrics).toMatchObject({ 'rollout/shared/mean': 2, 'rollout/runs/ok': 4 });
      expect(metrics['rollout/length/mean']).toBeGreaterThan(0);
    }
    expect(world.printed.join('')).toContain('eval after step 0 (policy version 0): eval_taskset');
  });
});
