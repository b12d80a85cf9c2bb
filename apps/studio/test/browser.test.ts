import { appendFileSync, cpSync, rmSync } from 'node:fs';
import path from 'node:path';
import axe from 'axe-core';
import puppeteer, { type Browser, type Page } from 'puppeteer-core';
import { openStudio } from '@trinity-rft/inspect/studio';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from '@trinity-rft/test-support';
import { isOwn } from './look.js';
import { buildPage, openWorkbench, saying, type Workbench } from './support.js';

const chromium = await findChromium();
const reason = chromium === undefined ? ' (no Chromium: set CHROMIUM_PATH or install one)' : '';

/** Timeout in ms, generous because other work may share the machine. */
const timeout = 120_000;

/** Text that a model could write to attack the page; it is put wherever text is recorded. */
const attack =
  '<script>steal()</script><img src=x onerror="steal()"><svg onload=steal()></svg>"\'><b id=injected>';

const sums = Array.from({ length: 600 }, (_, i) =>
  saying(`${i}+1=`, `${i + 1} is it`, {
    eid: { batch: 1, task: Math.floor(i / 4), run: i % 4 },
    reward: i / 600,
    info: { finishReason: 'stop' },
  }),
);
const hostile = saying('do this', attack, {
  eid: { batch: 9, task: attack, suffix: '0' },
  reward: 2,
  promptText: attack,
  metrics: { [attack]: 1 },
  info: { finishReason: attack, fork: attack, [attack]: attack },
});

const line = (step: number, reward: number): string =>
  `${JSON.stringify({ role: 'explorer', step, metrics: { 'rollout/reward/mean': reward, [attack]: step }, timing: {} })}\n`;

describe.skipIf(chromium === undefined)(`the studio in a browser${reason}`, () => {
  let browser: Browser;
  let built: string;
  let bench: Workbench;
  /** Folder name with the attack, without slashes, which a file name cannot contain. */
  const name = `run ${attack.replaceAll('/', '')}`;

  beforeAll(async () => {
    const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
    browser = await puppeteer.launch({ executablePath: chromium!, args });
    built = await buildPage();
    bench = await openWorkbench(built, name, [...sums, hostile], line(1, 0.25) + line(2, 0.5));
  });
  afterAll(() => browser?.close());

  /** Opens a page that collects errors, dialogs and requests. */
  async function open(url = bench.studio.url, before = '') {
    const page = await browser.newPage();
    page.setDefaultTimeout(timeout);
    const [problems, asked]: [string[], string[]] = [[], []];
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('dialog', (dialog) => {
      problems.push(dialog.message());
      void dialog.dismiss();
    });
    page.on('request', (request) => asked.push(request.url()));
    await page.evaluateOnNewDocument(
      `globalThis.stolen = 0; globalThis.steal = () => { globalThis.stolen++; }; ${before}`,
    );
    await page.goto(url);
    await page.waitForSelector('main').catch((cause: unknown) => {
      throw new Error(`The page shows nothing: ${problems.join('; ')}`, { cause });
    });
    return { page, problems, asked };
  }

  const text = (page: Page, selector: string): Promise<string> =>
    page.$eval(selector, (element) => element.textContent ?? '');
  const says = (page: Page, selector: string, wanted: string) =>
    page.waitForFunction(
      `document.querySelector(${JSON.stringify(selector)})?.textContent.includes(${JSON.stringify(wanted)})`,
    );
  const to = async (page: Page, name: string): Promise<void> => {
    await page.locator(`nav a[href^="#page=${name}"]`).click();
  };

  async function seriousViolations(page: Page): Promise<readonly string[]> {
    await page.evaluate(axe.source);
    const found = (await page.evaluate('axe.run()')) as {
      violations: { id: string; impact: string; nodes: { html: string }[] }[];
    };
    return found.violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  }

  it('shows every page without harm from what was recorded', { timeout }, async () => {
    const { page, problems, asked } = await open();
    for (const scheme of ['light', 'dark']) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      await to(page, 'runs');
      await says(page, 'tbody th', name);
      expect(await seriousViolations(page)).toEqual([]);
      await page.locator('tbody th a').click();
      await says(page, '.verdict h1', 'Nothing says');
      expect(await seriousViolations(page)).toEqual([]);
      await to(page, 'metrics');
      await page.waitForSelector('.metric-card canvas');
      await page.locator('main input[type=search]').fill('steal');
      await says(page, '.metric-card', attack);
      expect(await seriousViolations(page)).toEqual([]);
      await page.locator('main input[type=search]').fill('rollout/reward/mean');
      await page.locator('.metric-card h3 a').click();
      await page.waitForSelector('.u-legend');
      expect(await text(page, 'h2')).toBe('rollout/reward/mean');
      expect(await text(page, 'h2 + p')).toContain('mean over the runs of a task');
      expect(await seriousViolations(page)).toEqual([]);
      await to(page, 'rollouts');
      await says(page, '.body .row', attack);
      await page.locator('.body .row').click();
      await says(page, '.conversation', attack);
      expect(await seriousViolations(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await page.setViewport({ width: 500, height: 900 });
    }
    expect(await page.evaluate('globalThis.stolen')).toBe(0);
    expect(await page.$$('#injected, #app script, #app img')).toEqual([]);
    const { origin } = new URL(bench.studio.url);
    expect(asked.filter((url) => !isOwn(url, origin))).toEqual([]);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('would stop a script even if text became HTML', { timeout }, async () => {
    const { page } = await open();
    const refused = await page.evaluate(
      `(() => { try { document.body.innerHTML = ${JSON.stringify(attack)}; return ''; } catch (error) { return error.name; } })()`,
    );
    expect(refused).toBe('TypeError');
    expect(await page.evaluate('globalThis.stolen')).toBe(0);
    await page.close();
  });

  it('shows what a run adds, and finds the server again', { timeout }, async () => {
    const own = await openWorkbench(built, 'live', [saying('a', 'b')], line(1, 0.25));
    cpSync(path.join(own.root, 'live'), path.join(own.root, 'old'), { recursive: true });
    const { page, problems } = await open(own.studio.url);
    await says(page, 'tbody', '0.25');
    await says(page, 'tbody', 'old');
    appendFileSync(own.metricsFile, line(2, 0.75));
    await own.store.put([saying('c', 'd', { eid: { step: 1 } })]);
    await says(page, 'tbody', '0.75');
    await says(page, 'tbody td.recorded', '2');
    const { port } = new URL(own.studio.url);
    await own.studio.close();
    await says(page, 'output', 'Connection lost');
    // Meanwhile, a run is removed and another one is added.
    cpSync(path.join(own.root, 'live'), path.join(own.root, 'added'), { recursive: true });
    rmSync(path.join(own.root, 'old'), { recursive: true });
    const { key } = own.studio;
    const again = await openStudio({ runs: own.root, page: built, port: Number(port), key });
    appendFileSync(own.metricsFile, line(3, 0.875));
    await says(page, 'tbody', '0.875');
    expect(await text(page, 'output')).toBe('Connected');
    await says(page, 'tbody', 'added');
    expect(await text(page, 'tbody')).not.toContain('old');
    expect(problems).toEqual([]);
    await page.close();
    await again.close();
  });

  it(
    'names the runs whose metrics cannot be loaded, and shows the others',
    { timeout },
    async () => {
      const { page, problems } = await open(`${bench.studio.url}&page=metrics&run=removed`);
      await says(page, 'main [role=alert]', 'removed: There is no run removed.');
      for (const shown of ['metrics', 'compare']) {
        const query = new URLSearchParams({ page: shown });
        for (const run of ['removed', name]) query.append('run', run);
        await page.evaluate(`location.hash = ${JSON.stringify(query.toString())}`);
        await page.waitForSelector('main .metric-card');
        await says(page, 'main [role=alert]', 'removed: There is no run removed.');
      }
      expect(problems).toEqual([]);
      await page.close();
    },
  );

  it(
    'loads a page that was opened in a hidden tab once the tab is shown',
    { timeout },
    async () => {
      const hidden =
        "Object.defineProperty(document, 'hidden', { get: () => !globalThis.isShown })";
      for (const [shown, selector, wanted] of [
        ['tasks', 'main', 'No tasks'],
        ['overview', 'main h1', ''],
      ] as const) {
        const query = new URLSearchParams({ page: shown, run: name });
        const { page, problems, asked } = await open(
          `${bench.studio.url}&${query.toString()}`,
          hidden,
        );
        await says(page, 'main', 'Loading');
        // Requests are seen in their order: after this one, each that the page has made before it.
        await page.evaluate(
          "new Promise((resolve) => setTimeout(resolve, 200)).then(() => fetch('?seen'))",
        );
        await expect.poll(() => asked.some((url) => url.endsWith('?seen'))).toBe(true);
        expect(asked.filter((url) => url.includes('/api/runs/'))).toEqual([]);
        await page.evaluate(
          "isShown = true; document.dispatchEvent(new Event('visibilitychange'))",
        );
        await says(page, selector, wanted);
        expect(problems).toEqual([]);
        await page.close();
      }
    },
  );

  it('connects again where the server has been silent', { timeout }, async () => {
    const impatient = `const wait = globalThis.setTimeout;
      globalThis.setTimeout = (work, ms, ...more) => wait(work, ms === 25_000 ? 50 : ms, ...more);`;
    const { page, problems, asked } = await open(bench.studio.url, impatient);
    await says(page, 'output', 'The server is silent.');
    await expect
      .poll(() => asked.filter((url) => url.endsWith('/events')).length)
      .toBeGreaterThan(1);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('opens where the language that the browser reports is none', { timeout }, async () => {
    const language =
      "Object.defineProperty(navigator, 'language', { value: 'en-US@posix', configurable: true })";
    const { page, problems } = await open(bench.studio.url, language);
    await says(page, 'tbody th', name);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('says what to do without the key', { timeout }, async () => {
    const { page } = await open(new URL('/', bench.studio.url).href);
    await says(page, 'output', 'Open the complete address');
    expect(await page.$$('tbody tr')).toEqual([]);
    await page.close();
  });
});
