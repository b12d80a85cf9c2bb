import { appendFileSync, cpSync, rmSync } from 'node:fs';
import path from 'node:path';
import axe from 'axe-core';
import puppeteer, { type Browser, type Page } from 'puppeteer-core';
import { lockRun } from '@trinity-rft/launcher/files';
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

/**
 * Script of a page whose events are those of the test, and which is hidden while the test says so.
 * The server answers the rest.
 */
const events = `const real = fetch;
  Object.defineProperty(document, 'hidden', { get: () => globalThis.isHidden === true });
  globalThis.fetch = async (url, options) => {
    if (!String(url).endsWith('/events')) return real(url, options);
    globalThis.times = (globalThis.times ?? 0) + 1;
    return new Response(new ReadableStream({
      start: (stream) => {
        globalThis.tell = (event) =>
          stream.enqueue(new TextEncoder().encode('data: ' + JSON.stringify(event) + '\\n\\n'));
      },
      cancel: () => { globalThis.hasLeft = true; },
    }));
  };`;
/** Sends the page of {@link events} an event. */
async function tell(page: Page, runs: readonly object[], ended?: string): Promise<void> {
  await page.waitForFunction('globalThis.tell');
  await page.evaluate(`tell(${JSON.stringify({ runs, gone: [], left: 0, ended })})`);
}
const again = 'npx trinity studio runs';

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

  async function runsOf({ studio }: Workbench): Promise<readonly object[]> {
    const headers = { authorization: `Bearer ${studio.key}` };
    const response = await fetch(new URL('api/runs', studio.url), { headers });
    return (await response.json()) as readonly object[];
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

  it(
    'loads the last state when the run ends, also in a hidden tab, and then asks no more',
    { timeout },
    async () => {
      const own = await openWorkbench(built, 'ends', [saying('a', 'b')], line(1, 0.25));
      const [summary] = await runsOf(own);
      const { page, problems, asked } = await open(
        `${own.studio.url}&page=overview&run=ends`,
        events,
      );
      await tell(page, [{ ...summary, state: 'running' }]);
      await says(page, '.overview', '0.25');
      await page.evaluate('globalThis.isHidden = true');
      appendFileSync(own.metricsFile, line(2, 0.875));
      await page.waitForSelector('.run-control button');
      await tell(page, [{ ...summary, state: 'failed' }], again);
      await says(page, 'main .callout.ended', again);
      await says(page, 'main .callout.ended', 'The studio has ended');
      expect(await page.$('.run-control button')).toBeNull();
      await says(page, '.overview', '0.9');
      expect(await text(page, 'output')).toBe('The studio has ended.');
      await page.waitForFunction('globalThis.hasLeft');
      const before = asked.length;
      await to(page, 'tasks');
      await says(page, 'main [role=alert]', 'The studio has ended.');
      // Longer than the page waits before it connects again.
      await page.evaluate('new Promise((resolve) => setTimeout(resolve, 700))');
      expect([asked.length, await page.evaluate('globalThis.times')]).toEqual([before, 1]);
      expect(await seriousViolations(page)).toEqual([]);
      // The printed address opens the studio again, also with the same key.
      await page.goto(own.studio.url);
      await page.waitForFunction("!document.querySelector('.callout.ended')");
      await tell(page, [summary!]);
      await says(page, 'tbody', 'ends');
      expect(problems).toEqual([]);
      await page.close();
    },
  );

  it('takes the key of an address that is opened in its tab', { timeout }, async () => {
    const { origin } = new URL(bench.studio.url);
    const { page, problems } = await open(`${origin}/#key=an-old-key-of-a-studio`);
    await says(page, 'output', 'The key is missing or wrong.');
    await page.goto(bench.studio.url);
    await says(page, 'tbody th', name);
    expect(await page.evaluate('location.href')).not.toContain('key');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('loads a page again that was opened while the server was away', { timeout }, async () => {
    const own = await openWorkbench(built, 'away', [saying('a', 'b')], line(1, 0.25));
    const { page, problems } = await open(`${own.studio.url}&page=rollouts&run=away`);
    await says(page, '.body .row', 'b');
    const { port } = new URL(own.studio.url);
    await own.studio.close();
    await says(page, 'output', 'Connection lost');
    await page.evaluate("location.hash += '&rollout=1'");
    await says(page, '#rollout-view, dialog', 'The studio does not answer.');
    const { key } = own.studio;
    const again = await openStudio({ runs: own.root, page: built, port: Number(port), key });
    await page.waitForSelector('.rollout-view #rollout-view');
    expect(problems).toEqual([]);
    await page.close();
    await again.close();
  });

  it('loads at the end what a hidden tab has not loaded', { timeout }, async () => {
    const { page, problems } = await open(
      `${bench.studio.url}&${new URLSearchParams({ page: 'tasks', run: name }).toString()}`,
      `globalThis.isHidden = true; ${events}`,
    );
    await tell(page, await runsOf(bench), again);
    await says(page, 'main', 'No tasks');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('loads an overview for a new step, and not without one', { timeout }, async () => {
    const own = await openWorkbench(built, 'live', [saying('a', 'b')], line(1, 0.25));
    const unlock = await lockRun(path.join(own.root, 'live'));
    const first = (await runsOf(own))[0]!;
    // A look is a wait of a second, after a load of the latest version.
    const counted = `performance.now = () => 0;
      const wait = setTimeout;
      globalThis.looks = 0;
      globalThis.setTimeout = (work, ms, ...more) => {
        if (ms === 1000) globalThis.looks++;
        return wait(work, [1000, 3000].includes(ms) ? 10 : ms, ...more);
      };`;
    const { page, problems, asked } = await open(
      `${own.studio.url}&page=overview&run=live`,
      counted + events,
    );
    const stories = () => asked.filter((url) => url.includes('/story')).length;
    const tellRun = (changed: object) => tell(page, [{ ...first, state: 'running', ...changed }]);
    const looked = async (): Promise<void> => {
      const from = (await page.evaluate('looks')) as number;
      await page.waitForFunction(`looks >= ${from + 5}`);
    };
    await tellRun({ exploreStep: 1, changedAt: 60_000 });
    await says(page, '.overview .verdict', 'Running: step 1.');
    await looked();
    const before = stories();
    await tellRun({ exploreStep: 1, changedAt: 60_001, modelCalls: 9 });
    await looked();
    expect(stories()).toBe(before);
    appendFileSync(own.metricsFile, line(2, 0.875));
    await tellRun({ exploreStep: 2, changedAt: 60_002 });
    await says(page, '.overview .verdict', 'Running: step 2.');
    await looked();
    expect(stories()).toBe(before + 1);
    // A step may take long: what is written in it is loaded, too.
    await tellRun({ exploreStep: 2, changedAt: 90_000 });
    await expect.poll(stories).toBe(before + 2);
    expect(problems).toEqual([]);
    await page.close();
    await unlock();
  });

  it('waits for longer after an error that took long', { timeout }, async () => {
    const slow = `const real = fetch;
      globalThis.fetch = (url, options) => String(url).includes('/story')
        ? Promise.resolve(Response.json({ error: 'No story.' }, { status: 500 }))
        : real(url, options);
      let now = 0;
      performance.now = () => (now += 1_000_000);
      const wait = setTimeout;
      globalThis.longest = 0;
      globalThis.setTimeout = (work, ms, ...more) => {
        globalThis.longest = Math.max(globalThis.longest, ms ?? 0);
        return wait(work, ms, ...more);
      };`;
    const query = new URLSearchParams({ page: 'overview', run: name });
    const { page, problems } = await open(`${bench.studio.url}&${query.toString()}`, slow);
    await says(page, 'main [role=alert]', 'No story.');
    await page.waitForFunction('longest >= 10_000_000');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('keeps its requests for models when runs change places', { timeout }, async () => {
    const pending = `globalThis.offers = [];
      const others = fetch;
      globalThis.fetch = (url, options) => {
        const [, run] = /([^/]+)\\/checkpoints/.exec(url) ?? [];
        if (!run) return others(url, options);
        offers.push(run);
        return new Promise(() => undefined);
      };`;
    const url = `${bench.studio.url}&page=playground&run=a`;
    const { page, problems } = await open(url, events + pending);
    const [summary] = await runsOf(bench);
    const changed = (id: string, changedAt: number) => ({ ...summary, id, changedAt });
    await tell(page, [changed('a', 3), changed('b', 2), changed('c', 1)]);
    await page.waitForFunction('offers.length === 3');
    await tell(page, [changed('c', 4)]);
    // Waits until the page has drawn the event.
    const frame = 'new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))';
    for (let i = 0; i < 3; i++) await page.evaluate(frame);
    await tell(page, [changed('d', 5)]);
    await page.waitForFunction("offers.includes('d')");
    expect(await page.evaluate('offers.toSorted()')).toEqual(['a', 'a', 'b', 'b', 'c', 'c', 'd']);
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
    // A key that was shortened where it was copied cannot be sent.
    await page.goto('about:blank');
    await page.goto(new URL('/#key=0123456789…cdef', bench.studio.url).href);
    await says(page, 'output', 'Open the complete address');
    await page.close();
  });
});
