/** Tests runs with a critic, or with advantages that are computed in the trainer. */
import path from 'node:path';
import type { ServeAddress } from '@trinity-rft/launcher';
import { beforeAll, describe, expect, it } from 'vitest';
import { productOf, serveKey, until } from './support/product.js';
import { finishHere, runHere } from './support/run-here.js';
import {
  checkpointSteps,
  criticDigest,
  metricLines,
  usedRows,
  weightsDigest,
  type Metrics,
} from './support/run-record.js';
import { createWideModel } from './support/wide-model.js';
import { actorCritic, createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
});
const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);
const database = (name: string): string => path.join(job(name), 'buffer/experience_buffer.db');

const ppo: Tree = { algorithm: actorCritic, buffer: { total_steps: 3 } };

/** Runs the configuration to its end and returns the metrics of its train steps. */
async function finish(name: string, ...over: readonly Tree[]): Promise<readonly Metrics[]> {
  await finishHere(workspace, name, ...over);
  return trainSteps(name);
}
const trainSteps = (name: string): readonly Metrics[] =>
  metricLines(job(name)).flatMap(({ role, metrics }) => (role === 'trainer' ? [metrics] : []));

const digests = (name: string) => [weightsDigest(job(name)), criticDigest(job(name))];

/** Configuration with a critic folder that has no weights. */
function hollowed({ write, read }: Workspace): Tree {
  write('hollow/config.json', read('wide/config.json'));
  write('hollow/tokenizer.json', read('wide/tokenizer.json'));
  return { model: { critic_model_path: 'hollow' } };
}

describe('a critic', () => {
  it(
    'learns from stored experiences, which have no advantages, what it learned in the run that made them',
    { timeout: 240_000 },
    async () => {
      const made = await finish('made', ppo);
      const again = await finish('again', ppo, {
        mode: 'train',
        buffer: {
          train_batch_size: 16,
          trainer_input: { experience_buffer: { storage_type: 'sql', path: database('made') } },
        },
      });
      expect(digests('again')).toEqual(digests('made'));
      expect(again.map((metrics) => metrics['critic/vf_loss'])).toEqual(
        made.map((metrics) => metrics['critic/vf_loss']),
      );
      expect(made.map((metrics) => metrics['critic/kl_coef']!.toFixed(3))).not.toEqual([
        '0.200',
        '0.200',
        '0.200',
      ]);
    },
  );

  it('learns first and alone while critic_warmup says so', { timeout: 240_000 }, async () => {
    const steps = await finish('warm', ppo, { trainer: { critic_warmup: 3 } });
    expect(
      steps.map((metrics) => ['critic/grad_norm' in metrics, 'actor/grad_norm' in metrics]),
    ).toEqual([
      [true, false],
      [true, false],
      [true, true],
    ]);
  });

  it('of a stage begins where that of the stage before ended', { timeout: 240_000 }, async () => {
    const stage = (stage_name: string, lr: number): Tree => ({
      stage_name,
      mode: 'both',
      algorithm: actorCritic,
      buffer: { total_steps: 1 },
      trainer: { trainer_config: { critic: { optim: { lr } } } },
    });
    await finish('staged', { stages: [stage('first', 1e-2), stage('second', 1e-30)] });
    expect(criticDigest(job('staged/second'))).toBe(criticDigest(job('staged/first')));
    expect(weightsDigest(job('staged/second'))).not.toBe(weightsDigest(job('staged/first')));
  });

  it(
    'begins as the model that critic_model_path names, and a folder that cannot be used is blamed on that key',
    { timeout: 240_000 },
    async () => {
      await createWideModel(workspace, 'wide');
      const wide: Tree = { model: { critic_model_path: 'wide' }, buffer: { total_steps: 1 } };
      await finish('own', ppo, wide);
      await finish('same', ppo, { buffer: { total_steps: 1 } });
      // Every critic predicts 0 before its first update, so the first policy update does not depend
      // on it.
      expect(weightsDigest(job('own'))).toBe(weightsDigest(job('same')));
      expect(criticDigest(job('own'))).not.toBe(criticDigest(job('same')));
      const { error } = await runHere(
        workspace,
        workspace.config('hollow.yaml', { name: 'hollow' }, ppo, wide, hollowed(workspace)),
      );
      expect(error).toMatchObject({
        name: 'ConfigError',
        message: expect.stringMatching(/^model\.critic_model_path.*hollow/) as string,
      });
    },
  );

  it(
    'learns beside a running product, and is there again after a restart',
    { timeout: 240_000 },
    async () => {
      const config = workspace.config('served.yaml', {
        name: 'served',
        mode: 'serve',
        buffer: { train_batch_size: 4 },
        algorithm: actorCritic,
      });
      for (const step of [1, 2]) {
        const interrupt = new AbortController();
        let ended: ReturnType<typeof runHere> | undefined;
        const { url } = await new Promise<ServeAddress>((onOpen, reject) => {
          ended = runHere(workspace, config, {
            signal: interrupt.signal,
            serve: { port: 0, apiKey: serveKey, onOpen },
          });
          void ended.then(({ error, output }) => reject(error ?? new Error(output)));
        });
        const { ask, client } = productOf(url);
        const answers = await Promise.all([1, 2, 3, 4].map(() => ask()));
        await Promise.all(
          answers.map(({ id }, runId) =>
            client.feedback({ reward: runId % 2, msgIds: [id], taskId: `task ${step}`, runId }),
          ),
        );
        await client.commit();
        await until(async () => (await client.metrics())['rollout/model_0/model_version'] === step);
        interrupt.abort();
        expect((await ended!).summary).toMatchObject({ interrupted: true, trainStep: step });
        expect([checkpointSteps(job('served')).at(-1), criticDigest(job('served'))]).toEqual([
          step,
          expect.any(String),
        ]);
      }
      expect(new Set(trainSteps('served').map((metrics) => metrics['critic/kl_coef'])).size).toBe(
        2,
      );
    },
  );
});

describe('an advantage over groups', () => {
  it('is made in the trainer where rewards are penalised there', { timeout: 240_000 }, async () => {
    const penalised: Tree = {
      algorithm: {
        algorithm_type: 'rloo',
        kl_penalty_fn: 'k1',
        kl_penalty_fn_args: { kl_coef: 0.1 },
      },
      buffer: { total_steps: 2 },
    };
    const [first, second] = await finish('penalised', penalised);
    expect([
      first!['critic/kl'],
      first!['critic/kl_coef'],
      first!['sample/partial_group_count'],
    ]).toEqual([expect.closeTo(0, 5), 0.1, 0]);
    expect(Math.abs(second!['critic/kl']!)).toBeGreaterThan(1e-4);
    expect(usedRows(database('penalised'))).toHaveLength(32);
    // Each batch has half of a group, whose runs are compared with each other only; the metric
    // counts such groups.
    const cut = await finish('cut', penalised, { buffer: { train_batch_size: 2, total_steps: 1 } });
    expect(cut.map((metrics) => metrics['sample/partial_group_count'])).toEqual(
      Array.from({ length: 8 }, () => 1),
    );
  });
});
