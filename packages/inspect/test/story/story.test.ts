import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hash } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { recordAnswers } from '@trinity-rft/buffer/internal';
import { createExperience, type Experience, type Metrics } from '@trinity-rft/core';
import { answersFile, lockRun } from '@trinity-rft/launcher/files';
import { jsonlSink } from '@trinity-rft/monitor';
import { afterAll, describe, expect, it } from 'vitest';
import { readStory, renderStory, renderStoryPage } from '../../src/index.js';
import { openStudio } from '../../src/studio/index.js';
import { story as storySchema } from '../../src/studio/interface/schemas.js';
import { writeRun, type WrittenRun } from '../sick/written-run.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-story-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const attack =
  '<script>steal()</script><img src=x onerror="steal()"></style>"\'><b id=injected>\u0000\u001b[2J';
const set = 'held_out';

const evaluated = (mean: number, version: number): Metrics => ({
  [`eval/${set}/reward/mean@1`]: mean,
  [`eval/${set}/reward/mean@1/ci95_low`]: mean - 0.2,
  [`eval/${set}/reward/mean@1/ci95_high`]: mean + 0.2,
  [`eval/${set}/task_count`]: 10,
  'eval/model_version': version,
});

/** Record of a run with ten tasks that have these rewards. */
function record(
  folder: string,
  policyVersion: number,
  rewards: readonly number[],
  text = 'is',
): void {
  const answers = rewards.map((reward, row): Experience =>
    createExperience({
      tokens: [1, 2, 3],
      promptLength: 1,
      logprobs: [-1, -1],
      reward,
      policyVersion,
      eid: { batch: policyVersion, task: row, run: 0 },
      promptText: `<|im_start|>user\n${row} ${text}?<|im_end|>\n`,
      responseText: `${policyVersion} ${text}`,
      info: { taskset: set, row, reasons: { right: `${reward} ${text}` } },
    }),
  );
  recordAnswers({ path: answersFile(folder), set, policyVersion, answers });
}

async function storyOfRun(name: string, run: WrittenRun, before?: (folder: string) => unknown) {
  const folder = path.join(root, name);
  await writeRun(folder, run);
  await before?.(folder);
  return { folder, story: await readStory(folder) };
}

const settingsOf = (stage: object) => (place: string) =>
  writeFileSync(
    path.join(place, 'settings.json'),
    JSON.stringify({ jobDirectory: place, stages: [stage] }),
  );

const rows = (ones: number): readonly number[] =>
  Array.from({ length: 10 }, (_, row) => Number(row < ones));
const twoEvaluations: WrittenRun = {
  explorer: (step) => (step === 1 ? evaluated(0.2, 0) : step === 12 ? evaluated(0.8, 12) : {}),
  trainer: () => ({
    'perf/sampled_tokens': 100,
    'perf/total_num_tokens': 1000,
    'perf/processor_seconds': 2,
    'time/train_step': 1,
    'time/read_experience': 3,
  }),
};

describe('the story of a run', () => {
  it('counts the tokens that explorers in other processes sampled', async () => {
    const explorer = () => ({
      'rollout/response_tokens/mean': 10,
      'rollout/steps/mean': 2,
      'rollout/runs/ok': 8,
    });
    const { story } = await storyOfRun('distributed', {
      explorer,
      trainer: () => ({ 'perf/sampled_tokens': 0, 'perf/processor_seconds': 2 }),
    });
    expect(story.cost).toMatchObject({ sampledTokens: 12 * 160, processorSeconds: 24 });
    expect(renderStory(story)).toMatch(/processor time of the trainer/);
    // Responses may contain tokens that no model sampled, such as answers of tools.
    const trainer = () => ({ 'perf/sampled_tokens': 100 });
    const counted = await storyOfRun('counted', { explorer, trainer });
    expect(counted.story.cost).toMatchObject({ sampledTokens: 12 * 100 });
  });

  it('says that it learned, with the difference task by task, answers, cost and what comes next', async () => {
    const { folder, story } = await storyOfRun('learned', twoEvaluations, (place) => {
      record(place, 0, rows(2));
      record(place, 12, [0, ...rows(9).slice(1), 0].slice(0, 10));
      mkdirSync(path.join(place, 'global_step_12'));
      writeFileSync(path.join(place, 'configuration.json'), '{"file":"/project/train it.yaml"}');
    });
    expect(story.verdict).toMatchObject({
      kind: 'learned',
      headline: 'It learned.',
      evaluation: { set, before: { step: 0, value: 0.2 }, after: { step: 12, value: 0.8 } },
    });
    expect(story.verdict.evaluation?.tasks).toEqual({ better: 7, worse: 1, same: 2 });
    expect(story.verdict.text).toContain('which excludes 0');
    expect(
      story.answers.map(({ kind, question, before, after }) => [
        ...[kind, question, before.reward, after.reward],
      ]),
    ).toEqual([
      ['gain', '2 is?', 0, 1],
      ['typical', '7 is?', 0, 1],
      ['loss', '0 is?', 1, 0],
    ]);
    expect(story.answers[0]?.after).toEqual({
      reward: 1,
      answer: '12 is',
      reasons: ['right: 1 is'],
    });
    expect(story.charts.map(({ name }) => name)).toEqual(['evaluation', 'entropy', 'gradient']);
    expect(story.charts[0]).toMatchObject({ x: [1, 12], values: [0.2, 0.8] });
    expect(story.reward?.values).toHaveLength(12);
    expect(story.cost).toEqual({
      ...{ seconds: 48, processorSeconds: 24, sampledTokens: 1200, trainedTokens: 12_000 },
    });
    expect(story.time).toEqual([
      {
        role: 'trainer',
        seconds: 48,
        parts: [
          { name: 'training', title: 'training', seconds: 12 },
          { name: 'waiting', title: 'waiting for batches', seconds: 36 },
        ],
      },
    ]);
    expect(story.actions.map(({ name }) => name)).toEqual(['chat', 'export', 'serve']);
    expect(story.actions[2]?.command).toMatch(/trinity serve '.*train it\.yaml' --no-train$/);
    expect(renderStory(story)).toMatch(
      /^It learned\. learned\n[^]*largest loss: 0 is\?[^]*\nNext:\n/,
    );

    const studio = await openStudio({ runs: root });
    const { origin } = new URL(studio.url);
    const answer = await fetch(`${origin}/api/runs/learned/story`, {
      headers: { authorization: `Bearer ${studio.key}` },
    });
    const { verdict } = storySchema.parse(await answer.json());
    await studio.close();
    expect(verdict).toEqual(story.verdict);
    expect(folder).toBe(story.folder);
  });

  it('draws an evaluation after the step that was the last one then', async () => {
    const ended = { explorer: (step: number) => (step === 1 ? evaluated(0.2, 0) : {}) };
    const lines = [evaluated(0.8, 12), { 'rollout/reward/mean': 0.5 }].map(
      (metrics) => `${JSON.stringify({ role: 'explorer', step: 13, metrics, timing: {} })}\n`,
    );
    const { story } = await storyOfRun('longer', ended, (place) =>
      appendFileSync(path.join(place, 'monitor', 'metrics.jsonl'), lines.join('')),
    );
    expect(story.charts[0]).toMatchObject({ name: 'evaluation', x: [1, 12], values: [0.2, 0.8] });
  });

  it('leaves open what two intervals leave open, without recorded answers', async () => {
    const { story } = await storyOfRun('unclear', {
      explorer: (step) => (step === 1 ? evaluated(0.4, 0) : step === 12 ? evaluated(0.6, 12) : {}),
    });
    expect(story.verdict).toMatchObject({ kind: 'unclear' });
    expect(story.verdict.text).toContain('which includes 0');
    expect(story.verdict.evaluation?.tasks).toBeUndefined();
    expect([story.answers, story.noAnswers]).toEqual([[], expect.stringContaining('trinity eval')]);
  });

  it.each<readonly [string, WrittenRun, kind: string, headline: string, first: string]>([
    ['unevaluated', {}, 'notEvaluated', 'The training reward rose.', 'doctor'],
    [
      'flat',
      {
        explorer: () => ({
          ...{ 'rollout/reward/mean': 0, 'rollout/reward/max': 0, 'rollout/reward/min': 0 },
        }),
      },
      'same',
      'It did not learn.',
      'doctor',
    ],
    [
      'broken',
      { failure: 'EngineError: The worker ended.\n    at somewhere' },
      'failed',
      'It failed after step 12.',
      'log',
    ],
    [
      'empty',
      { steps: 0, rollouts: [] },
      'notMeasured',
      'Nothing says whether it learned.',
      'doctor',
    ],
  ])('has a verdict for a run that is %s', async (name, run, kind, headline, first) => {
    const { story } = await storyOfRun(name, run);
    expect([story.verdict.kind, story.verdict.headline]).toEqual([kind, headline]);
    expect(story.actions[0]?.name).toBe(first);
    for (const line of story.verdict.text.split('\n')) expect(renderStory(story)).toContain(line);
    expect(renderStoryPage(story)).toContain(headline);
  });

  it('ends its curve where the reward is not finite any more', async () => {
    const { story } = await storyOfRun('diverged', {
      explorer: (step) => ({ 'rollout/reward/mean': step < 10 ? step / 10 : Number.NaN }),
    });
    expect(renderStory(story)).toMatch(/^ *1: 0\.1 +12: NaN$/m);
  });

  it.each([
    ['both', 'status'],
    ['serve', 'log'],
  ])('says how far a running run of mode %s is, and how to watch it', async (mode, command) => {
    let unlock: (() => Promise<void>) | undefined;
    const { story } = await storyOfRun(`still running ${mode}`, {}, async (place) => {
      unlock = await lockRun(place);
      settingsOf({ mode, 'buffer.total_steps': 40 })(place);
    });
    await unlock?.();
    expect(story.verdict.headline).toBe('Running: step 12 of 40.');
    expect(story.verdict.text).toContain('So far: The training reward rose');
    expect(story.actions[0]?.command).toMatch(
      new RegExp(`trinity ${command} '.*still running ${mode}'$`),
    );
  });

  it.each([
    ['sampling policy', { 'actor/ppo_kl': 1, 'actor/kl_loss': 1 }],
    ['reference', { 'actor/kl_loss': 1 }],
    ['attempts all got the same reward', { 'critic/group_advantages/zero_variance_ratio': 1 }],
    ['calls whose advantages are all 0', { 'sample/zero_advantage_ratio': 1 }],
  ])('has a chart of %s where the run has %o', async (text, metrics: Metrics) => {
    const { story } = await storyOfRun(`chart ${text}`, {
      trainer: (step) =>
        Object.fromEntries(Object.entries(metrics).map(([name, value]) => [name, value / step])),
    });
    const shown = story.charts.filter(({ metric }) => metric in metrics);
    expect(shown.map(({ title, about }) => `${title}: ${about}`)).toEqual([
      expect.stringContaining(text),
    ]);
  });

  it('says of a run without tasks how many rows a step had, and tries nothing on rollouts', async () => {
    const run: WrittenRun = {
      rollouts: [],
      explorer: (step) => ({
        ...Object.fromEntries(['mean', 'min', 'max'].map((of) => [`rollout/reward/${of}`, 0])),
        ...(step === 1 ? evaluated(0.4, 0) : step === 12 ? evaluated(0.4, 12) : {}),
      }),
    };
    const stage = { mode: 'train', 'buffer.batch_size': 1, 'buffer.train_batch_size': 16 };
    const { story } = await storyOfRun('rows', run, settingsOf(stage));
    expect(story.setup).toEqual([{ name: 'train batch size', value: '16' }]);
    expect(story.verdict.kind).toBe('same');
    expect(story.actions.map(({ name }) => name)).not.toContain('whatIf');
  });

  it.each([
    [{}, ['serve', 'doctor']],
    [{ 'external.name': 'big' }, ['doctor']],
  ])(
    'suggests to serve a measured model, unless it is behind an API: %j',
    async (external, names) => {
      const bench = async (place: string) => {
        settingsOf({ mode: 'bench', ...external })(place);
        writeFileSync(path.join(place, 'configuration.json'), '{"file":"/project/bench.yaml"}');
        const sink = jsonlSink({ path: path.join(place, 'monitor', 'metrics.jsonl') });
        const metrics = { [`bench/${set}/reward/mean@1`]: 0.2 };
        sink.write({ role: 'bench', step: 0, metrics });
        await sink.close();
      };
      const { story } = await storyOfRun(`measured ${names.length}`, { steps: 0 }, bench);
      expect(story.verdict.kind).toBe('measured');
      expect(story.actions.map(({ name }) => name)).toEqual(names);
    },
  );

  it('says that a run of known length failed before its first step', async () => {
    const { story } = await storyOfRun(
      'failed early',
      { steps: 0, failure: 'EngineError: The worker ended.' },
      settingsOf({ mode: 'both', 'buffer.total_steps': 40 }),
    );
    expect(story.verdict.headline).toBe('It failed before its first step.');
  });

  it('has a page that hostile texts do not change', async () => {
    const { story } = await storyOfRun(
      'hostile',
      { ...twoEvaluations, failure: `Error: ${attack}` },
      (place) => {
        record(place, 0, rows(2), attack);
        record(place, 12, rows(8), attack);
      },
    );
    const page = renderStoryPage(story);
    expect(page.length).toBeLessThan(2_000_000);
    expect(page).toContain('&lt;script&gt;steal()');
    expect(page).not.toMatch(/<(?:script|img|b|a|link|iframe)\b|https?:|\u0000|\u001b/);
    expect(page.match(/<style>/g)).toHaveLength(1);
    const style = /<style>([^]*?)<\/style>/.exec(page)?.[1] ?? '';
    expect(page).toContain(
      `style-src 'sha256-${hash('sha256', style, 'base64')}'`.replaceAll("'", '&apos;'),
    );
    expect(renderStory(story)).not.toMatch(/[\u0000\u001b]/);
  });

  it('is refused for what is no run', async () => {
    await expect(readStory(path.join(root, 'nowhere'))).rejects.toThrow('There is no');
    mkdirSync(path.join(root, 'void'));
    await expect(readStory(path.join(root, 'void'))).rejects.toThrow('has no log and no metrics. ');
    mkdirSync(path.join(root, 'void/explorers/one'), { recursive: true });
    await expect(readStory(path.join(root, 'void'))).rejects.toThrow(
      `only explorers have worked there. See their logs with trinity log ${path.join(root, 'void/explorers/one')}; train`,
    );
  });
});
