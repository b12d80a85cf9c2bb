/** Tests the story of a run in a browser: the studio's overview, and the report as a file. */
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { recordAnswers } from '@trinity-rft/buffer/internal';
import { readStory, renderStoryPage } from '@trinity-rft/inspect';
import { answersFile } from '@trinity-rft/launcher/files';
import { findChromium } from '@trinity-rft/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attack, launch, timeout } from './look.js';
import { buildPage, openWorkbench, saying, type Workbench } from './support.js';

const chromium = await findChromium();
const reason = chromium === undefined ? ' (no Chromium: set CHROMIUM_PATH or install one)' : '';

/** Name of an evaluation set, which cannot contain slashes. */
const set = attack.replaceAll('/', '');
const evaluated = (mean: number, version: number) => ({
  [`eval/${set}/reward/mean@1`]: mean,
  [`eval/${set}/reward/mean@1/ci95_low`]: mean - 0.1,
  [`eval/${set}/reward/mean@1/ci95_high`]: mean + 0.1,
  [`eval/${set}/task_count`]: 10,
  'eval/model_version': version,
});
const metrics = Array.from({ length: 12 }, (_, i) => {
  const step = i + 1;
  const evaluation = step === 1 ? evaluated(0.2, 0) : step === 12 ? evaluated(0.9, 12) : {};
  const explored = { 'rollout/reward/mean': step / 20, 'rollout/response_tokens/mean': step };
  const trained = { 'actor/entropy': 2 - step / 10, 'actor/grad_norm': 1 + (step % 3) };
  return [
    {
      ...{ role: 'explorer', step, metrics: { ...explored, ...evaluation } },
      timing: { 'time/wait_explore_step': 2, 'time/sync_weight': 1 },
    },
    {
      ...{ role: 'trainer', step, metrics: trained },
      timing: { 'time/train_step': 1, 'time/read_experience': 2, 'perf/sampled_tokens': 900 },
    },
  ]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
}).join('');

const answersOf = (policyVersion: number, right: number) =>
  Array.from({ length: 10 }, (_, row) =>
    saying(`${row} ${attack}`, `${policyVersion} ${attack}`, {
      eid: { batch: policyVersion, task: row, run: 0 },
      reward: Number(row < right),
      policyVersion,
      promptText: `${row} ${attack}`,
      info: { taskset: set, row, reasons: { [attack]: attack } },
    }),
  );

describe.skipIf(chromium === undefined)(`the story of a run in a browser${reason}`, () => {
  let browser: Awaited<ReturnType<typeof launch>>;
  let bench: Workbench;
  let folder: string;

  beforeAll(async () => {
    browser = await launch(chromium ?? '');
    bench = await openWorkbench(await buildPage(), 'run', [saying('a', 'b')], metrics);
    folder = path.join(bench.root, 'run');
    for (const [version, right] of [
      [0, 2],
      [12, 9],
    ] as const)
      recordAnswers({
        path: answersFile(folder),
        set,
        policyVersion: version,
        answers: answersOf(version, right),
      });
    writeFileSync(path.join(folder, 'failure.txt'), `Error: ${attack}`);
  }, timeout);
  afterAll(() => browser?.close());

  it(
    'is the first page of the run, and says whether it learned and what is next',
    { timeout },
    async () => {
      const look = await browser.open(`${bench.studio.url}&page=overview&run=run`);
      await look.says('.verdict h1', 'It failed after step 12.');
      expect(await look.text('.verdict')).toContain('0.200 → 0.900');
      expect(await look.text('.verdict')).toContain(attack);
      expect(await look.text('.next')).toMatch(/trinity log .*run --warnings/);
      expect(await look.page.$$('.overview article.gain')).toHaveLength(1);
      expect(await look.page.$$('.overview .story-chart')).toHaveLength(6);
      expect(await look.text('.took')).toContain('waiting for batches 67 %');
      for (const width of [1440, 390]) {
        await look.page.setViewport({ width, height: 900 });
        expect(await look.violations()).toEqual([]);
        expect(await look.page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      }
      expect([await look.intrusions(), look.problems]).toEqual([[], []]);
      await look.page.close();
    },
  );

  it('is a file that asks for nothing and runs nothing', { timeout }, async () => {
    const file = path.join(bench.root, 'report.html');
    writeFileSync(file, renderStoryPage(await readStory(folder)));
    expect(existsSync(file)).toBe(true);
    const look = await browser.open(pathToFileURL(file).href);
    expect(await look.text('h1')).toBe('It failed after step 12.');
    expect(await look.text('main')).toContain(attack);
    const background = 'getComputedStyle(document.body).backgroundColor';
    const colours = new Set<unknown>();
    for (const value of ['light', 'dark']) {
      await look.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);
      colours.add(await look.page.evaluate(background));
    }
    expect(colours.size).toBe(2);
    for (const width of [1440, 390]) {
      await look.page.setViewport({ width, height: 900 });
      expect(await look.violations()).toEqual([]);
      expect(await look.page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
    const inserted =
      "const one = document.createElement('script'); one.textContent = 'steal()'; document.body.append(one); globalThis.stolen";
    expect(await look.page.evaluate(inserted)).toBe(0);
    expect(await look.page.$$('main script, main img, #injected')).toEqual([]);
    expect(look.problems).toEqual([]);
    await look.page.close();
  });
});
