import puppeteer, { type Browser, type Page } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from './chromium.js';
import { openWorkbench, saying, type Workbench } from './support.js';

const chromium = await findChromium();
const reason = chromium === undefined ? ' (no Chromium: set CHROMIUM_PATH or install one)' : '';

/** Generous, since other work may share the machine. */
const timeout = 120_000;

/** What a model could write, everywhere text is recorded. */
const attack =
  '<script>steal()</script><img src=x onerror="steal()"><svg onload=steal()></svg>"\'><b id=injected>';

const rows = Array.from({ length: 60 }, (_, i) =>
  saying(`${i}+1=`, `${i + 1} is it`, {
    eid: { batch: 1, task: i, run: 0 },
    reward: i / 60,
    info: { finishReason: 'stop' },
  }),
);

describe.skipIf(chromium === undefined)(`the page in a browser${reason}`, () => {
  let browser: Browser;
  let bench: Workbench;

  beforeAll(async () => {
    const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
    browser = await puppeteer.launch({ executablePath: chromium!, args });
    const hostile = saying('do this', attack, {
      eid: { batch: 9, task: attack, suffix: '0' },
      reward: 2,
      promptText: attack,
      metrics: { [attack]: 1 },
      info: { finishReason: attack, fork: attack, [attack]: attack },
    });
    bench = await openWorkbench([...rows, hostile]);
  }, 120_000);
  afterAll(() => browser?.close());

  /** A page that knows of everything that went wrong or asked for something. */
  async function open(
    url = bench.viewer.url,
  ): Promise<{ page: Page; problems: string[]; asked: string[] }> {
    const page = await browser.newPage();
    page.setDefaultTimeout(timeout);
    const [problems, asked]: [string[], string[]] = [[], []];
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    page.on('dialog', (dialog) => {
      problems.push(dialog.message());
      void dialog.dismiss();
    });
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(url);
    await page.waitForFunction('document.querySelector("#status").textContent !== "Loading ..."');
    return { page, problems, asked };
  }

  const text = (page: Page, selector: string): Promise<string> =>
    page.$eval(selector, (element) => element.textContent ?? '');
  const count = async (page: Page, selector: string): Promise<number> =>
    (await page.$$(selector)).length;

  it('lists a page of rows, turns it, filters and sorts', { timeout }, async () => {
    const { page, problems } = await open();
    expect(await count(page, '#rows tr')).toBe(50);
    expect(await text(page, '#place')).toBe('1 to 50 of 61');
    await page.click('#next');
    await page.waitForFunction('document.querySelectorAll("#rows tr").length === 11');
    await page.type('input[name=text]', '42 IS');
    await page.keyboard.press('Enter');
    await page.waitForFunction('document.querySelectorAll("#rows tr").length === 1');
    expect(await text(page, '#rows td')).toBe('1/41/0/0/');
    expect(await text(page, '#status')).toBe('1 of 61 experiences');
    await page.$eval('input[name=text]', (input) => (input.value = ''));
    await page.select('select[name=sort]', 'reward');
    await page.click('input[name=descending]');
    await page.click('button[type=submit]');
    await page.waitForFunction('document.querySelectorAll("#rows tr").length === 50');
    expect(await text(page, '#rows td:nth-child(2)')).toBe('2');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('shows tokens with their colours and numbers', { timeout }, async () => {
    const { page, problems } = await open();
    await page.click('#rows tr:nth-child(3)');
    await page.waitForSelector('.token');
    expect(await text(page, '.tokens')).toBe('2+1=3 is it');
    expect(await count(page, '.token.sampled')).toBe(7);
    const heats = await page.$$eval('.token.sampled', (tokens) =>
      tokens.map((token) => token.style.getPropertyValue('--heat')),
    );
    expect(new Set(heats).size).toBeGreaterThan(3);
    expect(await page.$eval('.token.sampled:nth-child(6)', (token) => token.title)).toMatch(
      /sampled\nlogprob -0.25, probability 0.7788/,
    );
    await page.click('#detail button');
    await page.waitForFunction('document.querySelectorAll("#rows tr").length === 1');
    expect(await text(page, '#rows td')).toBe('1/2/0/0/');
    await page.select('#colour', 'mask');
    expect(
      await page.$eval('.token.sampled', (token) => token.style.getPropertyValue('--heat')),
    ).toBe('hsl(210 80% 50%)');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('lets nothing that was recorded act, wherever it stands', { timeout }, async () => {
    const { page, problems, asked } = await open();
    await page.evaluate('globalThis.stolen = 0; globalThis.steal = () => { globalThis.stolen++; }');
    await page.type('input[name=batch]', '9');
    await page.keyboard.press('Enter');
    await page.waitForFunction('document.querySelectorAll("#rows tr").length === 1');
    expect(await text(page, '#rows td')).toContain(attack);
    await page.click('#rows tr');
    await page.waitForSelector('.token');
    expect(await text(page, '.tokens')).toBe(`do this${attack}`);
    expect(await text(page, '#detail')).toContain(`${attack}1`);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await page.evaluate('globalThis.stolen')).toBe(0);
    expect(await count(page, '#injected, #rows script, #detail script, img, svg')).toBe(0);
    const { origin } = new URL(bench.viewer.url);
    expect(asked.filter((url) => !url.startsWith(`${origin}/`))).toEqual([]);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('would stop a script even if text became HTML', { timeout }, async () => {
    const { page } = await open();
    await page.evaluate('globalThis.stolen = 0; globalThis.steal = () => { globalThis.stolen++; }');
    const refused = await page.evaluate(
      `(() => { try { document.body.innerHTML = ${JSON.stringify(attack)}; return ''; } catch (error) { return error.name; } })()`,
    );
    expect(refused).toBe('TypeError');
    await page.evaluate(
      'document.body.append(Object.assign(document.createElement("img"), { src: "https://example.com/x" }))',
    );
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await page.evaluate('globalThis.stolen')).toBe(0);
    await page.close();
  });

  it('says what to do without the key', { timeout }, async () => {
    const { page } = await open(new URL('/', bench.viewer.url).href);
    expect(await text(page, '#status')).toContain('Open the complete printed address');
    expect(await count(page, '#rows tr')).toBe(0);
    await page.close();
  });

  it('follows a run that continues', { timeout }, async () => {
    const { store, viewer } = await openWorkbench([saying('a', 'b', { eid: { step: 0 } })]);
    const { page, problems } = await open(viewer.url);
    await page.click('#follow');
    await store.put([saying('c', 'd', { eid: { step: 1 } })]);
    await page.waitForFunction('document.querySelectorAll("#rows tr").length === 2');
    expect(problems).toEqual([]);
    await page.close();
  });
});
