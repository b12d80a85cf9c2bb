import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { casesOf } from './vectors/index.ts';
import type { VectorFile } from './vectors/suite.ts';

const root = join(import.meta.dirname, '..');
const path = join(import.meta.dirname, 'fixtures/trinity-vectors.json');
const file = JSON.parse(readFileSync(path, 'utf8')) as VectorFile & {
  readonly policy_loss: readonly { readonly expect: { readonly loss: number } }[];
};

describe('golden vectors of the original', () => {
  it.each(casesOf(file).filter(({ cases }) => cases.length > 0))(
    'hold: $key',
    async ({ cases }) => {
      const failed: string[] = [];
      for (const { id, run } of cases)
        await Promise.resolve()
          .then(run)
          .catch((error: unknown) => failed.push(`${id}: ${(error as Error).message}`));
      expect(failed).toEqual([]);
    },
  );

  it('are run for every key but those that say why not', () => {
    expect(casesOf(file).flatMap(({ key, skipped }) => (skipped ? [key] : []))).toEqual([
      'about',
      'inputs',
      'action_mask_counts',
      'prompt_truncation_run',
      'checkpoint_layout',
      'newer_upstream.collate_routed_experts',
    ]);
  });
});

describe('a case that states less', () => {
  const failuresOf = (vectors: object): readonly string[] =>
    casesOf({ inputs: file.inputs, ...vectors }).flatMap(({ cases }) =>
      cases.flatMap(({ run }) => {
        try {
          void run();
          return [];
        } catch (error) {
          return [(error as Error).message];
        }
      }),
    );

  it('is compared in what it states', () => {
    const loss = { id: 'x', fn: 'sft', args: {}, input: 'small_4x5' };
    const kl = { id: 'x', fn: 'k2', kl_coef: 1, input: 'small_4x5', with_old_logprob: true };
    expect(failuresOf({ policy_loss: [{ ...loss, expect: {} }], kl: [kl] })).toEqual([]);
    expect(failuresOf({ policy_loss: [{ ...loss, expect: { loss: 100 } }] })).toHaveLength(1);
    // Two masks: one as numbers, which selects the first of two values, and one in words, which
    // selects both.
    const two = { a: { logprob: [[-1, -3]], action_mask: 'all one', entropy: [[2, 4]] } };
    const masked = { values: 'a.entropy', mask: 'a.action_mask' };
    const mode = 'token-mean';
    const cases = [
      { mode, value: 3 },
      { mode, mask: [[1, 0]], value: 2 },
    ];
    const aggregate_loss = { ...masked, cases };
    expect(failuresOf({ inputs: two, aggregate_loss })).toEqual([]);
    const wrong = { ...aggregate_loss, mask: [[0, 1]] };
    expect(failuresOf({ inputs: two, aggregate_loss: wrong })).toHaveLength(1);
    const penalty = { token_level_scores: [[1]], input: 'one', cases: [{ fn: 'k1', kl_coef: 1 }] };
    const inputs = { one: { logprob: [[-1]], action_mask: 'all one' } };
    expect(failuresOf({ inputs, kl_penalty_in_reward: penalty })).toEqual([]);
  });

  it('may say a mask in words', () => {
    const vector = { log_ratio: [[1, 1]], advantages: [[1, 1]], threshold: 0.5 };
    const cases = [
      { ...vector, action_mask: 'all one', mask: 'all zero' },
      { ...vector, action_mask: 'all zero', mask: 'all zero' },
      { ...vector, action_mask: 'all one', mask: 'all one' },
      { ...vector, action_mask: 'some', mask: 'all one' },
    ];
    expect(failuresOf({ newer_upstream: { m2po_mask: { cases } } })).toEqual([
      expect.stringContaining('mask[0] is 0; expected 1'),
      expect.stringContaining('the mask is "some"; expected numbers, "all zero" or "all one"'),
    ]);
  });

  it('of mix, without batch sizes, has the figure that the test of the original states', () => {
    const vector = { id: 'mix', fn: 'mix', args: { mu: 0.1, clip_range: 0.2 } };
    const stated = { input: 'seed42_5x20', expect: { loss: 0.6298247575759888 } };
    expect(failuresOf({ policy_loss: [{ ...vector, ...stated }] })).toEqual([]);
  });
});

it('reads log-probabilities above 0 in their order', () => {
  const run = (run: number, reward: number, logprob: number): object => ({
    task: 0,
    run,
    step: 0,
    reward,
    response_length: 1,
    logprobs: [logprob],
  });
  // Run 0 is the likelier one and keeps 3/4 of its reward.
  const metrics = { 'group_advantages/reward_mean/mean': 0.625 };
  const spread = 0.125 * Math.SQRT2 + 1e-6;
  const output = [(1 - 0.625) / spread, (0.5 - 0.625) / spread].map((advantage, i) => ({
    task: 0,
    run: i,
    step: 0,
    advantages: [advantage],
  }));
  const vector = {
    id: 'falling',
    fn: 'grpo',
    args: { rank_penalty: 0.5 },
    experiences: [run(0, 1, 0.3), run(1, 0.5, 0.1)],
    expect: { output, metrics },
  };
  const [{ cases }] = casesOf({ advantage_group: [vector] }) as readonly [
    ReturnType<typeof casesOf>[number],
  ];
  expect(() => cases[0]!.run()).not.toThrow();
});

describe('pnpm vectors', () => {
  const vectors = (
    ...args: string[]
  ): {
    readonly status: number | null;
    readonly lines: readonly string[];
    readonly stderr: string;
  } => {
    const command = [
      '--conditions=@trinity-rft/source',
      '--import',
      './tools/register-source.mjs',
      'tests/vectors.ts',
      ...args,
    ];
    const { status, stdout, stderr } = spawnSync(process.execPath, command, {
      cwd: root,
      encoding: 'utf8',
      timeout: 120_000,
      killSignal: 'SIGKILL',
    });
    return { status, lines: stdout.trim().split('\n'), stderr };
  };

  it('prints passed or failed for every id, and fails when one does', () => {
    const directory = mkdtempSync(join(tmpdir(), 'vectors-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const [first, second] = file.policy_loss;
    const changed = { ...first, expect: { ...first!.expect, loss: first!.expect.loss + 1 } };
    const other = join(directory, 'other.json');
    writeFileSync(other, JSON.stringify({ inputs: file.inputs, policy_loss: [changed, second] }));
    const { status, lines } = vectors(other);
    expect(lines).toEqual([
      'not run  inputs: it is read by the others',
      expect.stringMatching(/^failed {3}test\/ppo: loss is 0\.26889\d+; expected 1\.26889\d+$/),
      expect.stringMatching(/^passed {3}test\/gspo$/),
      '1 passed, 1 failed, 1 keys not run',
    ]);
    expect(status).toBe(1);
  });

  it('says how it is used', () => {
    expect(vectors()).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('pnpm vectors FILE [KEY]') as string,
    });
  });
});
