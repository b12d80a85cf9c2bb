import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RewardInput } from '@trinity-rft/core';
import { fromScorer, type Scorer } from '@trinity-rft/workflow/reward';
import { Levenshtein } from 'autoevals';
import { rules } from '../../src/diagnosis/index.js';
import { afterAll, describe, expect, it } from 'vitest';
import { diagnoseRun, renderDiagnosis, renderReport, reportRun } from '../../src/index.js';
import { diagnosisOf, toFinding } from '../../src/studio/insight/diagnosis.js';
import { createRun } from '../../src/studio/runs/run.js';
import { sickRuns } from './sick-runs.js';
import { rollouts, writeRun, type WrittenRun } from './written-run.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-sick-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function diagnosed(name: string, run: WrittenRun) {
  const folder = path.join(root, name);
  await writeRun(folder, run);
  return diagnoseRun(folder);
}

/** Findings of the studio, which reads only the metrics that the rules ask for. */
async function findingsInStudio(name: string) {
  const folder = path.join(root, name);
  const run = createRun({
    ...{ id: name, folder },
    metricsFile: path.join(folder, 'monitor', 'metrics.jsonl'),
    database: path.join(folder, 'buffer', 'experiences.db'),
  });
  return (await diagnosisOf(run)).findings;
}

describe('diagnoseRun', () => {
  it('has a sick run for each rule, and each rule at most once', () => {
    const names = rules.map(({ name }) => name);
    expect(Object.keys(sickRuns).toSorted()).toEqual(names.toSorted());
    expect(new Set(names).size).toBe(names.length);
    const known = new Set(names);
    expect(
      rules.flatMap(({ explains = [] }) => explains).filter((name) => !known.has(name)),
    ).toEqual([]);
  });

  it('blames a healthy run for nothing', async () => {
    const { stages } = await diagnosed('healthy', {});
    expect(stages.map(({ findings }) => findings)).toEqual([[]]);
    expect(stages[0]).toMatchObject({ exploreSteps: 12, trainSteps: 12, rollouts: 64 });
  });

  it.each(Object.entries(sickRuns))('names %s, and nothing else', async (name, run) => {
    const diagnosis = await diagnosed(name, run);
    const [stage] = diagnosis.stages;
    expect(stage?.findings.map((finding) => finding.name)).toEqual([name]);
    const [finding] = stage?.findings ?? [];
    expect(finding?.text).toMatch(/\d|EngineError/);
    expect(renderDiagnosis(diagnosis)).toContain(finding?.advice);
    expect(await findingsInStudio(name)).toEqual(stage?.findings.map(toFinding));
  });

  it('names the causes of a failure, as the log does', async () => {
    const failure =
      'WorkflowError: All 256 runs failed.\n    at stop\n  [cause]: ModelError: 400 The prompt has 6 tokens.\n      at chat\n';
    const { jobDirectory, stages } = await diagnosed('caused', { failure });
    const text = 'All 256 runs failed. [cause]: ModelError: 400 The prompt has 6 tokens.';
    expect(stages[0]?.findings[0]?.text).toBe(`WorkflowError: ${text}`);
    expect(renderReport(await reportRun(jobDirectory))).toContain(`WorkflowError: ${text}\n`);
  });

  it.each([
    [
      'failing-runs',
      'rollout/runs/failed / (rollout/runs/ok + rollout/runs/failed) = 0.25, steps 8 to 12',
    ],
    ['failing-tools', 'rollout/tool_errors/mean / rollout/tool_calls/mean = 0.8, steps 8 to 12'],
    [
      'nothing-stored',
      'experience_pipeline/experience_count (share of steps with 0) = 1, steps 8 to 12',
    ],
    ['no-gradient', 'actor/grad_norm (share of steps with 0) = 1, steps 8 to 12'],
    ['not-finite', 'actor/grad_norm (steps that are not finite) = 2, steps 11 to 12'],
    ['gradient-explodes', 'actor/grad_norm (largest) = 400, steps 8 to 12'],
    ['reward-collapse', 'rollout/reward/mean = 0.05, steps 10 to 12'],
    ['eval-falls', 'eval/fresh/accuracy/mean@1 = 0.5, steps 12 to 12'],
  ] as const)('says what the number of %s is', async (name, line) => {
    const diagnosis = await diagnosed(`number-${name}`, sickRuns[name] ?? {});
    expect(renderDiagnosis(diagnosis)).toContain(`Number    ${line}\n`);
  });

  it.each(['actor/final_loss', 'critic/vf_loss'])(
    'sees that %s is not finite, as the studio does',
    async (metric) => {
      const name = path.basename(metric);
      const trainer = (step: number) => (step > 9 ? { [metric]: Number.NaN } : {});
      const { stages } = await diagnosed(name, { trainer });
      expect(stages[0]?.findings).toMatchObject([
        {
          name: 'not-finite',
          text: `${metric} was not finite in 3 recent steps, the first of them train step 10.`,
        },
      ]);
      expect(await findingsInStudio(name)).toEqual(stages[0]?.findings.map(toFinding));
    },
  );

  it('counts forks of recent steps only, and none for steps without any', async () => {
    const forked = (isForked: (step: number) => boolean) => (step: number) => ({
      'rollout/model/spliced/mean': 0.5,
      ...(isForked(step) && { 'rollout/model/fork/history_edited/mean': 1.5 }),
    });
    const early = { steps: 60, explorer: forked((step) => step <= 5) };
    expect((await diagnosed('forked-early', early)).stages[0]?.findings).toEqual([]);
    const everyThird = { steps: 60, explorer: forked((step) => step % 3 === 0) };
    const { stages } = await diagnosed('forked-at-times', everyThird);
    expect(stages[0]?.findings).toMatchObject([
      {
        name: 'broken-conversations',
        text: '50 % of the later calls of explore steps 49 to 60 began anew, 0.5 per run.',
      },
    ]);
  });

  it('names a trained judge whose verdicts cannot be parsed', async () => {
    const explorer = () => ({ 'rollout/judge_success/mean': 0.4, 'rollout/runs/judge_failed': 0 });
    const { stages } = await diagnosed('trained-judge', { explorer });
    expect(stages[0]?.findings).toMatchObject([
      {
        name: 'judge-fails',
        text: 'The judge scored 40 % of the answers of explore steps 8 to 12.',
      },
    ]);
  });

  it('names the steps of the role that has the rewards', async () => {
    const zero = { 'critic/score/mean': 0, 'critic/score/min': 0, 'critic/score/max': 0 };
    const { stages } = await diagnosed('scored', {
      explorer: () => ({ 'rollout/reward/mean': Number.NaN }),
      trainer: () => zero,
    });
    expect(stages[0]?.findings).toMatchObject([
      { name: 'reward-floor', text: 'Every attempt of train steps 1 to 12 got 0.' },
    ]);
  });

  it.each([
    [
      'takes rewards of an explorer of few steps, not those of what raft kept',
      'raft-short',
      {
        explorer: (step: number) => ({
          'rollout/reward/mean': step < 3 ? 0.9 : Number.NaN,
          'experience_pipeline/raft/kept_run_ratio': 0.25,
          'experience_pipeline/group_advantages/zero_variance_ratio': 1,
        }),
        trainer: () => ({ 'critic/score/mean': 1, 'critic/score/min': 1, 'critic/score/max': 1 }),
      },
    ],
    [
      'has no rewards of a run whose explorer drops experiences and records none',
      'kept-only',
      {
        explorer: () => ({
          'rollout/reward/mean': Number.NaN,
          'experience_pipeline/filtered_count': 32,
        }),
        trainer: () => ({ 'critic/score/mean': 1, 'critic/score/min': 1, 'critic/score/max': 1 }),
      },
    ],
    [
      'says nothing of equal groups after one explore step',
      'one-step',
      {
        explorer: () => ({
          'experience_pipeline/group_advantages/zero_variance_ratio': Number.NaN,
        }),
        rollouts: rollouts(() => ({ reward: 0 })),
      },
    ],
    [
      'compares experiences that were too old with experiences',
      'somewhat-stale',
      { trainer: () => ({ 'sample/stale_dropped': 30 }) },
    ],
    [
      'does not compare dropped experiences with those that an earlier version did not count',
      'old-stale',
      {
        trainer: (step: number) => ({
          'sample/stale_dropped': 1,
          'sample/experience_count': step < 12 ? Number.NaN : 1,
        }),
      },
    ],
  ] satisfies [string, string, WrittenRun][])('%s', async (_what, name, run) => {
    expect((await diagnosed(name, run)).stages[0]?.findings).toEqual([]);
  });

  it('blames equal groups, not an operator that drops few of many', async () => {
    const { stages } = await diagnosed('std-threshold', {
      explorer: () => ({
        'experience_pipeline/group_advantages/zero_variance_ratio': 0.9,
        'experience_pipeline/invalid_reward_filter/filtered_count': 4,
        'experience_pipeline/filtered_count': 56,
        'experience_pipeline/experience_count': 8,
      }),
    });
    expect(stages[0]?.findings[0]?.name).toBe('no-variance');
  });

  it('sees changes of a named stage, except those of a complete one', async () => {
    const change = 'buffer.explorer_input.tasksets[0].reward_fn_args.scale: changed from 1 to 2:';
    const log = [
      `WARN  2026-01-02T03:04:05.678Z warmup: ${change} takes no effect: the stage is complete.`,
      `WARN  2026-01-02T03:04:05.678Z grpo: ${change} takes effect in part: from the next explore step on.`,
      '',
    ];
    const { jobDirectory, stages } = await diagnosed('staged-change', { log: log.join('\n') });
    expect(stages[0]?.findings).toMatchObject([
      {
        name: 'settings-changed',
        text: `grpo: ${change} takes effect in part: from the next explore step on.`,
      },
    ]);
    expect(await findingsInStudio('staged-change')).toEqual(stages[0]?.findings.map(toFinding));
    // Also after the log began anew.
    const file = path.join(jobDirectory, 'log/trinity.log');
    renameSync(file, `${file}.1`);
    writeFileSync(file, '');
    expect((await diagnoseRun(jobDirectory)).stages).toEqual(stages);
    expect(await findingsInStudio('staged-change')).toEqual(stages[0]?.findings.map(toFinding));
  });

  it('says when a reward fell that never rose, and that answers were whole before', async () => {
    const { stages } = await diagnosed('fallen', {
      explorer: (step) => ({
        'rollout/reward/mean': step < 3 ? 0.3 / step : 0,
        'rollout/reward/max': 1,
        'rollout/reward/min': 0,
        'rollout/model/response_truncated/mean': step < 4 ? 0 : 8,
        'rollout/model/choices/mean': 8,
      }),
    });
    const findings = stages[0]?.findings ?? [];
    expect(findings.map(({ name, text }) => [name, text])).toEqual([
      [
        'reward-collapse',
        'The mean reward was 0.15 at step 3 and is 0 now, with half of the fall by step 4.',
      ],
      [
        'truncated-answers',
        '100 % of the answers of explore steps 8 to 12 reached the limit, and 0.0 % of those of the first steps.',
      ],
    ]);
  });
});

describe('a graded scorer', () => {
  /** Rollouts whose answers are nonsense, scored against a sentence. */
  async function nonsense(scorer: Scorer, answerOf: (run: number, task: number) => string) {
    const reward = fromScorer(scorer);
    const score = async (run: number, task: number) => {
      const truth = `The train to the mountains leaves at ${task} in the morning.`;
      const response = answerOf(run, task);
      const input = { response, truth, prompt: 'When?', rawTask: {} } as RewardInput;
      const { parts, reasons } = (await reward(input)) as {
        parts: Record<string, number>;
        reasons: Record<string, string>;
      };
      const tokens = [10 + task, 20, ...Array.from(response, (_, i) => i)];
      const logprobs = Array.from(response, () => -1);
      const sum = Object.values(parts).reduce((a, b) => a + b, 0);
      const info = { reasons };
      return { tokens, logprobs, responseText: response, reward: sum, metrics: parts, info };
    };
    const scored = await Promise.all(
      Array.from({ length: 64 }, (_, i) => score(i % 8, Math.floor(i / 8))),
    );
    return rollouts((run, task) => scored[8 * task + run]!);
  }
  const findingsOf = async (name: string, run: WrittenRun) =>
    (await diagnosed(name, run)).stages[0]?.findings ?? [];

  it('is named where it rewards nonsense by its length', async () => {
    const written = { rollouts: await nonsense(Levenshtein, (run) => 'eta '.repeat(2 + run)) };
    const [finding, ...others] = await findingsOf('levenshtein-length', written);
    expect([finding?.name, others]).toEqual(['reward-follows-length', []]);
    expect(finding?.text).toMatch(
      /over 64 attempts\. The scorer is Levenshtein \(correlation 0\.\d+\)\.$/,
    );
  });

  it.each([0, 4])(
    'is not a count that is 0 with the reward of all but %i tasks',
    async (solved) => {
      const findings = await findingsOf(`count-${solved}`, {
        rollouts: rollouts((run, task) => ({
          reward: task < solved && run === 0 ? 1 : 0,
          metrics: { timeouts: 0 },
        })),
        explorer: () => ({ 'experience_pipeline/group_advantages/zero_variance_ratio': 1 }),
      });
      const text = findings.find(({ name }) => name === 'no-variance')?.text;
      expect(text).toMatch(/all attempts got the same reward\.$/);
    },
  );

  it('is named with its reason where all nonsense gets the same', async () => {
    const half = ({ output }: { readonly output: string }) => ({
      ...{ name: 'closeness', score: output.length / 16 },
      comment: `half of   "${output}" is right`,
    });
    const rollout = await nonsense(half, () => 'nonsense');
    const explorer = () => ({
      'experience_pipeline/group_advantages/zero_variance_ratio': 1,
    });
    const findings = await findingsOf('equal-parts', { rollouts: rollout, explorer });
    expect(findings.find(({ name }) => name === 'no-variance')?.text).toContain(
      'There the scorers gave on average closeness 0.5. closeness says of one of them: "half of "nonsense" is right".',
    );
  });
});
