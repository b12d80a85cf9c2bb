/** Tests runs, curves and comparisons in a browser. */
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openStudio } from '@trinity-rft/inspect/studio';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from '@trinity-rft/test-support';
import { attack, launch, timeout, type PatientPage } from './look.js';
import { buildPage, openWorkbench, type Workbench } from './support.js';

const chromium = await findChromium();
const reason = chromium === undefined ? ' (no Chromium: set CHROMIUM_PATH or install one)' : '';

const metric = 'eval/held_out/reward/mean@1';
const evaluated = (mean: number) => ({
  [metric]: mean,
  [`${metric}/ci95_low`]: mean - 0.125,
  [`${metric}/ci95_high`]: mean + 0.125,
});
const explorer = (step: number, reward: number): string =>
  `${JSON.stringify({
    role: 'explorer',
    step,
    metrics: {
      'rollout/reward/mean': reward,
      'rollout/model_version': step - 1,
      [attack]: 1,
      ...evaluated(reward),
    },
    timing: { 'time/wait_explore_step': 2 },
  })}\n`;
const trainer = (step: number): string =>
  `${JSON.stringify({
    role: 'trainer',
    step,
    metrics: { 'actor/final_loss': 1 / step },
    timing: { 'time/step': 2, 'perf/total_num_tokens': 1000 },
  })}\n`;
const steps = Array.from({ length: 200 }, (_, i) => i + 1);

/** Script that keeps the files that the page would save, instead of saving them. */
const keepFiles = `globalThis.saved = [];
  URL.createObjectURL = (blob) => { saved.push(blob); return '#'; };
  HTMLAnchorElement.prototype.click = function () { saved.at(-1).fileName = this.download; };`;

describe.skipIf(chromium === undefined)(`runs and curves in a browser${reason}`, () => {
  let browser: Awaited<ReturnType<typeof launch>>;
  let bench: Workbench;
  let page: string;
  const [one, two] = ['first', `second ${attack.replaceAll('/', '')}`] as const;

  beforeAll(async () => {
    browser = await launch(chromium ?? '');
    const lines = steps.map((step) => explorer(step, step / 200) + trainer(step)).join('');
    page = await buildPage();
    bench = await openWorkbench(page, one, [], lines);
    cpSync(path.join(bench.root, one), path.join(bench.root, two), { recursive: true });
    const set = 'buffer.explorer_input.eval_tasksets[0]';
    const held = { [`${set}.name`]: 'held_out', [`${set}.repeat_times`]: 1 };
    const settings = (lr: number, name: string) =>
      JSON.stringify({
        jobDirectory: '/x',
        stages: [{ mode: 'both', 'buffer.total_steps': 400, lr, [name]: attack, ...held }],
      });
    writeFileSync(path.join(bench.root, one, 'settings.json'), settings(0.1, 'same'));
    writeFileSync(path.join(bench.root, two, 'settings.json'), settings(0.2, attack));
    writeFileSync(path.join(bench.root, two, 'failure.txt'), `${attack}\n`);
    const notes = { tags: [attack.slice(0, 40)], note: attack };
    writeFileSync(path.join(bench.root, two, 'notes.json'), JSON.stringify(notes));
  }, timeout);
  afterAll(() => browser?.close());

  const open = async (query: string) => {
    const look = await browser.open(`${bench.studio.url}${query}`);
    await look.page.setViewport({ width: 1280, height: 1000 });
    return look;
  };
  const mean = `&metric=${encodeURIComponent('explorer rollout/reward/mean')}`;
  const both = `&run=${encodeURIComponent(one)}&run=${encodeURIComponent(two)}`;

  it(
    'compares runs: curves, settings that differ, numbers with intervals',
    { timeout },
    async () => {
      const look = await open('');
      await look.says('tbody', '200 of 400 steps');
      await look.says('tbody', '1 [0.875, 1.125]');
      await look.page.locator('nav a[href^="#page=compare"]').click();
      await look.says('main details', one);
      await look.type('main details input[type=search]', 'steal');
      await look.page.waitForFunction(
        `document.querySelectorAll('main details label').length === 1`,
      );
      await look.type('main details input[type=search]', 'r');
      await look.page.waitForSelector('main details input:checked');
      expect(await look.violations()).toEqual([]);
      await look.page.locator('main details label:has(input:not(:checked)) input').click();
      await look.says('main', 'settings differ');
      await look.page.locator('nav a[href^="#page=runs"]').click();
      await look.page.waitForSelector('tbody input[type=checkbox]');
      await look.page.$$eval('tbody input[type=checkbox]', (boxes) =>
        boxes.forEach((box) => box.click()),
      );
      await look.page.locator('a.button').click();
      await look.says('main', 'settings differ');
      expect(await look.text('.compared')).toMatch(/lr \(they differ\)0\.[12]0\.[12]/);
      expect(await look.text('.compared')).not.toContain('mode');
      await look.says('section > .scroll:last-of-type', '0.9525 [0.9387, 0.9663]');
      await look.page.waitForSelector('.charts canvas');
      expect(await look.violations()).toEqual([]);
      expect(await look.intrusions()).toEqual([]);
      expect(look.problems).toEqual([]);
      await look.page.close();
    },
  );

  it('says how many runs it does not list', { timeout }, async () => {
    const many = mkdtempSync(path.join(tmpdir(), 'trinity-studio-'));
    for (let i = 0; i < 2003; i++) {
      const monitor = path.join(many, `${i}`, 'monitor');
      mkdirSync(monitor, { recursive: true });
      writeFileSync(path.join(monitor, 'metrics.jsonl'), '');
      writeFileSync(path.join(many, `${i}`, 'stage_meta.json'), '{"latest_stage":1}');
    }
    const studio = await openStudio({ runs: many, page });
    try {
      const look = await browser.open(studio.url);
      await look.says('main', 'The 2000 runs that changed last are listed; 3 older ones are not.');
      expect(await look.text('output')).toBe('Connected');
      await look.page.close();
    } finally {
      await studio.close();
      rmSync(many, { recursive: true });
    }
  });

  it('keeps tags and a note beside the run, and finds runs by them', { timeout }, async () => {
    const look = await open('');
    const { page } = look;
    await look.says('tbody', attack);
    await look.type('input[type=search]', one);
    await page.waitForFunction(`document.querySelectorAll('tbody tr').length === 1`);
    await page.locator('tbody button').click();
    await look.type('input[name=tags]', 'baseline, good');
    await look.type('textarea', 'Learns.');
    expect(await look.violations()).toEqual([]);
    await page.locator('button[type=submit]').click();
    await look.says('.tag', 'baseline');
    const notes: unknown = JSON.parse(
      readFileSync(path.join(bench.root, one, 'notes.json'), 'utf8'),
    );
    expect(notes).toEqual({ tags: ['baseline', 'good'], note: 'Learns.' });
    expect(look.problems).toEqual([]);
    await page.close();
  });

  it('zooms, smooths, and draws over tokens, with what happened marked', { timeout }, async () => {
    const look = await open(`&page=metrics${both}${mean}`);
    const { page } = look;
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const points = (wanted: number) => look.says('caption ~ tbody td:last-child', String(wanted));
    await points(200);
    expect(await look.text('h2 + p')).toContain('mean over the runs of a task');
    await look.says('fieldset.marks', 'new weights (398)');
    await look.says('fieldset.marks', 'failure (1)');
    await page.locator('section > details > summary').click();
    await look.says('section > details tbody tr', 'failure');
    expect(await look.text('section > details')).not.toContain('new weights');
    await drag(page);
    await page.waitForFunction(
      `Number(document.querySelector('caption ~ tbody td:last-child').textContent) < 120`,
    );
    expect(asked.some((url) => url.includes('&from='))).toBe(true);
    await page.locator('.controls button').click();
    await points(200);
    await page.$eval('input[type=range]', (input) => {
      input.value = '0.9';
      input.dispatchEvent(new Event('input', { bubbles: true }));
    });
    await look.says('.u-legend', `${one} ·`);
    await page.select('select[name=axis]', 'tokens');
    await look.says('.u-legend', 'Tokens trained on');
    await page.locator('.controls input[type=checkbox]').click();
    expect(await look.violations()).toEqual([]);
    expect(await look.intrusions()).toEqual([]);
    expect(look.problems).toEqual([]);
    await page.close();
  });

  it(
    'shows all metrics in groups, found by their names, pinned to the top',
    { timeout },
    async () => {
      const look = await open(`&page=metrics&run=${one}`);
      const { page } = look;
      await page.waitForSelector('.metric-card canvas');
      await page.locator('.metric-card [aria-label="Pin rollout/reward/mean"]').click();
      await look.says('details.group', 'Pinned');
      await page.reload();
      await look.says('details.group', 'Pinned');
      await page.locator('.chart.small .u-over').hover();
      await page.waitForFunction(
        `[...document.querySelectorAll('.chart.small')].some(({ dataset }) => dataset.readout)`,
      );
      await look.type('main input[type=search]', 'reward/mean');
      await page.waitForFunction(
        `[...document.querySelectorAll('.metric-card h3')].every((each) => each.textContent.includes('reward/mean'))`,
      );
      expect(await look.violations()).toEqual([]);
      await page.locator('.metric-card h3 a').click();
      await look.says('h2', 'reward/mean');
      expect(await look.intrusions()).toEqual([]);
      expect(look.problems).toEqual([]);
      await page.close();
    },
  );

  it('finds pages, runs and metrics by the keyboard', { timeout }, async () => {
    const look = await open(`&page=metrics&run=${one}`);
    const { page } = look;
    await page.waitForSelector('.metric-card');
    await page.keyboard.down('Control');
    await page.keyboard.press('k');
    await page.keyboard.up('Control');
    await look.type('dialog input', 'rollout mean metric');
    await look.says('dialog [aria-selected=true]', 'rollout/reward/mean');
    expect(await look.violations()).toEqual([]);
    await page.keyboard.press('Enter');
    await look.says('h2', 'rollout/reward/mean');
    await page.keyboard.press('3');
    await page.waitForFunction(`location.hash.includes('page=rollouts')`);
    await page.keyboard.press('?');
    await look.says('dialog', 'Page of the run');
    await page.keyboard.press('Escape');
    await page.waitForFunction(`document.querySelector('dialog') === null`);
    expect(look.problems).toEqual([]);
    await page.close();
  });

  it('shows an evaluation with its meaning and its intervals', { timeout }, async () => {
    const look = await open(
      `&page=metrics&run=${one}&metric=${encodeURIComponent(`explorer ${metric}`)}`,
    );
    await look.says('h2 + p', 'mean over the k runs of a task');
    await look.says('.u-legend', `${one} 95 % low`);
    await look.says('caption ~ tbody', '1 [0.875, 1.125]');
    expect(look.problems).toEqual([]);
    await look.page.close();
  });

  it('writes the numbers of the axes in the colour of the text', { timeout }, async () => {
    const look = await open(`&page=metrics&run=${one}${mean}`);
    const { page } = look;
    await page.waitForSelector('.chart canvas');
    for (const [scheme, extreme] of [
      ['dark', 'Math.max'],
      ['light', 'Math.min'],
      ['dark', 'Math.max'],
    ] as const) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      // The strip of the numbers on the left: only text is opaque there.
      await page.waitForFunction(`(() => {
        const canvas = document.querySelector('.chart canvas');
        const { data } = canvas.getContext('2d').getImageData(0, 0, 60, canvas.height - 40);
        const opaque = [...data.keys()].filter((i) => i % 4 === 3 && data[i] === 255);
        const value = ${extreme}(...opaque.map((i) => data[i - 1]));
        return opaque.length > 0 && ${scheme === 'dark' ? 'value > 120' : 'value < 120'};
      })()`);
    }
    expect(look.problems).toEqual([]);
    await page.close();
  });

  it('saves a curve as PNG, SVG and CSV', { timeout }, async () => {
    const look = await open(
      `&page=metrics${both}&metric=${encodeURIComponent(`explorer ${attack}`)}`,
    );
    const { page } = look;
    await look.says('.u-legend', one);
    await page.evaluate(keepFiles);
    await page.waitForSelector('.controls button');
    await page.$$eval('.controls button', (buttons) =>
      buttons
        .filter(({ textContent }) => textContent.startsWith('Save'))
        .forEach((each) => each.click()),
    );
    await page.waitForFunction('saved.length === 4 && saved.every(({ fileName }) => fileName)');
    const saved = (await page.evaluate(
      'Promise.all(saved.map(async (blob) => [blob.fileName, (await blob.text()).slice(0, 5e4)]))',
    )) as readonly (readonly [name: string, text: string])[];
    const ending = (type: string) => saved.find(([name]) => name.endsWith(type))?.[1] ?? '';
    expect(ending('.png')).toContain('PNG');
    expect(ending('.svg')).toMatch(/<path d="M[\d.]+ [\d.]+L/);
    expect(ending('.svg')).toContain('&lt;script&gt;');
    expect(ending('.svg')).not.toContain('<script');
    expect(ending('.csv').split('\n')[1]).toBe('1,1');
    for (const [name] of saved) expect(name).toMatch(/^[\w.-]+$/);
    expect(look.problems).toEqual([]);
    await page.close();
  });

  it('colours runs as the list of runs does, and says what failed', { timeout }, async () => {
    const third = path.join(bench.root, 'third');
    mkdirSync(path.join(third, 'monitor'), { recursive: true });
    const diverged = Array.from({ length: 40 }, (_, i) =>
      JSON.stringify({
        role: 'trainer',
        step: i + 1,
        metrics: { only: i, loss: i < 30 ? 0.5 : null },
        timing: {},
      }),
    );
    writeFileSync(path.join(third, 'monitor', 'metrics.jsonl'), `${diverged.join('\n')}\n`);
    const shown = (name: string) =>
      `&page=metrics${both}&run=third&metric=${encodeURIComponent(`trainer ${name}`)}`;
    const look = await open(shown('only'));
    const { page } = look;
    await look.says('.u-legend', 'third');
    const colourOf = (selector: string, property: string) =>
      page.$eval(
        selector,
        (element, name) => element.computedStyleMap().get(name)?.toString(),
        property,
      );
    const swatch = await colourOf('.chosen li:nth-child(3) .swatch', 'background-color');
    expect(swatch).toMatch(/^rgb/);
    expect(await colourOf('.u-series:nth-child(2) .u-marker', 'border-top-color')).toBe(swatch);
    expect(await page.$$('main [role=alert]')).toEqual([]);
    await page.evaluate(`location.hash = ${JSON.stringify(shown('loss').slice(1))}`);
    await look.says('main', 'third: not finite since step 31');
    await look.says('caption ~ tbody', 'not finite');
    await page.evaluate(`location.hash = ${JSON.stringify(`page=compare&run=${one}&run=third`)}`);
    await look.says('section > .scroll:last-of-type', 'loss–not finite');
    await page.setRequestInterception(true);
    let isBroken = true;
    page.on('request', (request) => {
      if (!isBroken || !request.url().includes('/curve?')) return void request.continue();
      const body = JSON.stringify({ error: 'The disk is gone.' });
      return void request.respond({ status: 500, contentType: 'application/json', body });
    });
    await page.evaluate(`location.hash = ${JSON.stringify(shown('actor/final_loss').slice(1))}`);
    await look.says('main [role=alert]', 'third: The disk is gone.');
    await page.evaluate(`location.hash = ${JSON.stringify(`page=metrics&run=${one}`)}`);
    await look.says('section > [role=alert]', `${one}: The disk is gone.`);
    expect((await page.$$('[open] .metric-card')).length).toBeGreaterThan(1);
    expect(await page.$$('main [role=alert]')).toHaveLength(1);
    isBroken = false;
    await page.waitForFunction(`document.querySelector('main [role=alert]') === null`);
    await page.waitForSelector('.metric-card canvas');
    expect(look.problems).toEqual([]);
    await page.close();
    rmSync(third, { recursive: true });
  });

  it('draws evaluations before and after the steps of a curve', { timeout }, async () => {
    const explored = [1, 2, 3].map((step) => explorer(step, step / 4)).join('');
    const measured = (step: number) =>
      `${JSON.stringify({ role: 'explorer', step, metrics: evaluated(0.5), timing: { 'time/eval': 1 } })}\n`;
    const own = await openWorkbench(page, 'marked', [], measured(0) + explored + measured(4));
    const look = await browser.open(`${own.studio.url}&page=metrics&run=marked${mean}`);
    await look.says('fieldset.marks', 'evaluation (2)');
    /** Waits until a row of pixels of the chart crosses that many green lines. */
    const drawn = (lines: number) =>
      look.page.waitForFunction(`(() => {
        const canvas = document.querySelector('.chart canvas');
        if (!canvas) return false;
        const { data } = canvas.getContext('2d').getImageData(0, canvas.height / 2, canvas.width, 1);
        const isGreen = Array.from({ length: canvas.width }, (_, i) => {
          const [red, green, blue] = data.slice(4 * i);
          return green > red + 40 && green > blue + 40;
        });
        return isGreen.filter((is, i) => is && !isGreen[i - 1]).length === ${lines};
      })()`);
    await drawn(2);
    await drag(look.page);
    await drawn(0);
    expect(look.problems).toEqual([]);
    await look.page.close();
  });

  it('goes on with a curve while its run does', { timeout }, async () => {
    const look = await open(`&page=metrics&run=${one}${mean}`);
    await look.says('caption ~ tbody', '200');
    appendFileSync(bench.metricsFile, explorer(201, 0.125));
    await look.says('caption ~ tbody', '0.125');
    await look.says('caption ~ tbody', '201');
    expect(look.problems).toEqual([]);
    await look.page.close();
  });
});

async function drag(page: PatientPage): Promise<void> {
  const over = await page.$('.u-over');
  await over?.scrollIntoView();
  const box = await over?.boundingBox();
  if (!box) throw new Error('There is no chart.');
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * 0.25, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, y, { steps: 5 });
  await page.mouse.up();
}
