import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { sqliteExperienceStore } from '@trinity-rft/buffer';
import { createExperience, type Experience } from '@trinity-rft/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from '@trinity-rft/test-support';
import { attack, launch, timeout, type Look } from './look.js';
import { buildPage, openWorkbench, saying, tokenizer, type Workbench } from './support.js';

const chromium = await findChromium();
const reason = chromium === undefined ? ' (no Chromium: set CHROMIUM_PATH or install one)' : '';

/** Eight attempts at each of many tasks; rewards rise with every version. */
const sums = Array.from({ length: 800 }, (_, i) => {
  const [batch, attempt] = [1 + Math.floor(i / 80), i % 8];
  return saying(`${i}+1=`, `${i + 1} is it`, {
    eid: { batch, task: Math.floor((i % 80) / 8), run: attempt },
    policyVersion: batch - 1,
    reward: (batch + attempt) / 20,
    info: {
      finishReason: 'stop',
      taskset: 'sums',
      row: Math.floor((i % 80) / 8),
      truth: `${i + 1}!`,
    },
  });
});

/** Three calls of one attempt: the second continues the first, the third has a new prompt. */
function talk(): readonly Experience[] {
  const eid = { batch: 20, task: 0, run: 0, step: 0 };
  const info = { taskset: 'talks', row: 3, truth: '42' };
  const at = (start: number, end: number) => ({ times: [{ start, end }] });
  const answer = '<think>maybe 42</think><tool_call>{"name": "calculator"}</tool_call>';
  const first = saying('what is 2*21?\n', answer, {
    eid,
    reward: 1,
    info: { ...info, ...at(1000, 2000) },
    responseText: '',
  });
  const before = [...first.tokens, ...tokenizer.encode('<tool_response>42</tool_response>\n')];
  const second = createExperience({
    eid: { ...eid, step: 1 },
    tokens: [...before, ...tokenizer.encode('42!')],
    promptLength: before.length,
    logprobs: [-0.1, -3, -0.2],
    policyVersion: 2,
    temperature: 1,
    reward: 1,
    responseText: '42!',
    info: { ...info, ...at(2500, 3000) },
  });
  const third = saying('what is 2*21?\nnow shorter ', '42', {
    eid: { ...eid, step: 2 },
    policyVersion: 2,
    reward: 1,
    info: {
      ...info,
      ...at(3000, 5000),
      fork: 'history_edited',
      reasons: { right: 'the expected number' },
    },
  });
  return [first, second, third];
}

const hostile = [0, 1].map((step) =>
  saying('do this ', attack, {
    eid: { batch: 21, task: attack.replaceAll('/', ''), run: 0, step },
    reward: 2,
    promptText: attack,
    metrics: { [attack]: 1 },
    info: {
      finishReason: attack,
      fork: attack,
      fault: attack,
      taskset: attack,
      row: 1,
      [attack]: attack,
    },
  }),
);

const log = `WARN  2026-11-23T10:00:00.000Z Run 21/${attack.replaceAll('/', '')}/5 of workflow "x" failed: ${attack}\n`;

describe.skipIf(chromium === undefined)(`the page of rollouts${reason}`, () => {
  let browser: Awaited<ReturnType<typeof launch>>;
  let built: string;
  let bench: Workbench;

  beforeAll(async () => {
    browser = await launch(chromium!);
    built = await buildPage();
    bench = await openWorkbench(built, 'first', [...sums, ...talk(), ...hostile], '');
    mkdirSync(path.join(bench.root, 'first', 'log'));
    writeFileSync(path.join(bench.root, 'first', 'log', 'trinity.log'), log);
  }, timeout);
  afterAll(() => browser?.close());

  /** Opens the page of rollouts with this query in its address. */
  async function open(query: Readonly<Record<string, string>> = {}, of = bench): Promise<Look> {
    const url = new URL(of.studio.url);
    const place = new URLSearchParams(url.hash.slice(1));
    for (const [name, value] of Object.entries({ page: 'rollouts', run: 'first', ...query }))
      place.set(name, value);
    url.hash = place.toString();
    return browser.open(url.href);
  }

  const press = async ({ page }: Look, ...keys: readonly string[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key as 'Enter');
  };
  const active = async ({ page }: Look): Promise<unknown> =>
    page.evaluate(
      "document.getElementById(document.querySelector('.rows').getAttribute('aria-activedescendant'))?.textContent",
    );

  it('lists the tasks whose reward changed, each with its course', { timeout }, async () => {
    const look = await open({ page: 'tasks' });
    const { page } = look;
    await look.says('main [role=status]', '12 tasks. Of those visited again, 10 got a higher');
    expect(await look.text('main')).toContain(attack);
    expect(await look.violations()).toEqual([]);
    expect(await look.intrusions()).toEqual([]);
    await page.locator('thead a').click();
    await look.says('[aria-sort=descending]', 'Visits');
    await page.locator('tbody th a').click();
    await look.says('.history', 'Best answer');
    expect(await look.text('#rollout-view')).toContain('in explore step 10.');
    expect(look.problems).toEqual([]);
    await page.close();
  });

  it('shows rollouts of training or of evaluations, with whole titles', { timeout }, async () => {
    const own = await openWorkbench(built, 'first', sums.slice(0, 8), '');
    const folder = path.join(own.root, 'first', 'evaluations');
    mkdirSync(folder);
    const answers = sqliteExperienceStore({ path: path.join(folder, 'experiences.db') });
    await answers.put([saying('9+1=', 'ten', { eid: { batch: '4/held_out', task: 0, run: 0 } })]);
    await answers.close();
    const look = await open({ sort: 'reward' }, own);
    const { page } = look;
    await page.setViewport({ width: 1280, height: 900 });
    await look.says('.body .row', '8!');
    const clipped = await page.$$eval('.row.head > span', (titles) =>
      titles
        .filter((title) => title.scrollWidth > title.clientWidth)
        .map((title) => title.textContent),
    );
    expect(clipped).toEqual([]);
    await page.locator('::-p-text(Evaluations)').click();
    await look.says('.body .row', 'ten');
    expect(await look.text('#row-0 [data-column=step]')).toBe('4');
    await page.locator('#row-0').click();
    await look.says('.summary', '4/held_out/0/0');
    await look.says('.conversation', 'ten');
    expect(await look.violations()).toEqual([]);
    expect(look.problems).toEqual([]);
    await page.close();
  });

  it('shows every text as text, in each view', { timeout }, async () => {
    const look = await open({ batch: '21', rollout: String(sums.length + 4) });
    const { page } = look;
    await look.says('.body .row', attack);
    await look.says('.conversation', attack);
    await look.says('.conversation .forked', attack);
    for (const [view, wanted] of [
      ['conversation', '.conversation'],
      ['group', '.side-by-side'],
      ['history', '.history'],
      ['record', '.facts'],
    ] as const) {
      await page.locator(`#tab-${view}`).click();
      await look.says(`#rollout-view ${wanted}`, view === 'record' ? 'fault' : attack);
      expect(await look.violations()).toEqual([]);
    }
    await look.says('#rollout-view', attack);
    await page.setViewport({ width: 480, height: 900 });
    expect(await look.violations()).toEqual([]);
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    expect(overflow).toBe(0);
    expect(await look.intrusions()).toEqual([]);
    expect(look.problems).toEqual([]);
    await page.close();
  });

  it('is moved through by keys, sorted by its titles and filtered', { timeout }, async () => {
    const look = await open();
    const { page } = look;
    const sorted = page.locator('.head [data-column=reward] button');
    await look.says('.body .row', attack);
    await page.focus('.rows');
    await press(look, 'End');
    await look.says('#row-801', '0+1=');
    expect(await active(look)).toContain('0+1=');
    await press(look, 'Home', 'ArrowDown');
    expect(await active(look)).toContain('what is 2*21?');
    await press(look, 'Enter');
    await look.says('.conversation', '42!');
    await press(look, 'Escape');
    await page.waitForSelector('dialog', { hidden: true });
    await sorted.click();
    await look.says('#row-0', attack);
    await sorted.click();
    await look.says('#row-0', '0+1=');
    expect(await page.$eval('[aria-sort]', (title) => title.textContent)).toContain('Reward');
    await look.type('input[name=text]', '421 IS\n');
    await look.says('.count', '1 of 802 rollouts');
    await look.says('#row-0', '420+1=');
    // The field keeps the focus.
    await look.type('input[name=text]', '');
    await press(look, 'Enter');
    await look.says('#row-0', '0+1=');
    await page.locator('::-p-text(Filter)').click();
    await look.type('input[name=minVersion]', '9');
    await look.type('input[name=minReward]', '0.85\n');
    await look.says('.count', '10 of 802 rollouts');
    await look.says('.toolbar', 'Version ≥ 9');
    expect(await look.violations()).toEqual([]);
    expect(look.problems).toEqual([]);
    // All of it is in the address.
    const again = await browser.open(`${page.url()}&key=${bench.studio.key}`);
    await again.says('.count', '10 of 802 rollouts');
    await again.page.locator('button[aria-label="Remove filter Version ≥ 9"]').click();
    await again.says('.toolbar', 'Reward ≥ 0.85');
    await again.page.waitForFunction(
      "!document.querySelector('.toolbar').textContent.includes('Version')",
    );
    await again.page.close();
    await page.close();
  });

  it('asks once for what the server refuses', { timeout }, async () => {
    const look = await open();
    const { page } = look;
    await look.says('.body .row', attack);
    await page.evaluate(`const wait = globalThis.setTimeout;
      globalThis.setTimeout = (work, ms, ...more) => wait(work, ms === 3000 ? 20 : ms, ...more);`);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.evaluate("location.hash += '&sort=nothing'");
    await look.says('main [role=alert]', 'sort');
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 500))');
    expect(asked.filter((url) => url.includes('sort=nothing'))).toHaveLength(1);
    expect(look.problems).toEqual([]);
    await page.close();
  });

  it(
    'continues to load when the list is refreshed while the server reads',
    { timeout },
    async () => {
      const own = await openWorkbench(
        built,
        'first',
        [saying('a', 'b'), saying('c', 'd', { eid: { run: 1 } })],
        '',
      );
      const look = await open({}, own);
      await look.says('.count', '2 rollouts');
      // Answers as a server does that is still reading.
      await look.page.evaluate(`
      globalThis.calls = 0;
      globalThis.fails = false;
      const real = fetch;
      globalThis.fetch = async (url, options) => {
        if (!/rollouts[?]/.test(url)) return real(url, options);
        calls++;
        if (fails) return Response.json({ error: 'The store is closed.' }, { status: 500 });
        const page = { rows: [], matching: 0, total: 0, recorded: 1, upTo: 1, tools: [] };
        return Response.json({ ...page, progress: { done: calls, of: 1e6 } });
      };`);
      await own.store.put([saying('e', 'f', { eid: { run: 2 } })]);
      await look.page.locator('.count button').click();
      await look.page.waitForFunction('calls > 1');
      // Refreshes just after an answer, when the page is about to ask again.
      const before = await look.page.evaluate(`(async () => {
      const seen = calls;
      while (calls === seen) await new Promise((resolve) => setTimeout(resolve, 1));
      await new Promise((resolve) => setTimeout(resolve, 30));
      document.querySelector('.count button').click();
      return calls;
    })()`);
      await look.page.waitForFunction(`calls > ${Number(before)} + 2`);
      // An error is shown above the list until an answer arrives.
      await look.page.evaluate('fails = true');
      await look.says('[role=alert]', 'The store is closed.');
      await look.says('.count', 'Show');
      await look.page.evaluate('fails = false');
      await look.page.waitForFunction("document.querySelector('main [role=alert]') === null");
      expect(look.problems).toEqual([]);
      await look.page.close();
    },
  );

  it(
    'loads a page again that it has dropped, in whatever order pages came',
    { timeout },
    async () => {
      const own = await openWorkbench(built, 'first', [saying('a', 'b')], '');
      const look = await open({}, own);
      const { page } = look;
      await look.says('.count', '1 rollout');
      // Answers with many pages of the one row; the page 2 comes after the page 3.
      await page.evaluate(`
      const real = fetch;
      const third = Promise.withResolvers();
      let toolCalls = 0;
      globalThis.fetch = async (url, options) => {
        if (!/rollouts[?]/.test(url)) return real(url, options);
        const given = new URL(url, document.baseURI).searchParams;
        const at = Number(given.get('page') ?? 0);
        given.set('page', '0');
        given.delete('upTo');
        const answer = await (await real(url.replace(/[?].*/, '?' + given), options)).json();
        if (given.has('minToolCalls') && toolCalls++ === 0)
          return Response.json({ ...answer, tools: ['early'], progress: { done: 1, of: 2 } });
        if (at === 2) await third.promise;
        if (at === 3) setTimeout(third.resolve, 20);
        const rows = Array.from({ length: 50 }, (_, i) => ({ ...answer.rows[0], truth: at + '.' + i }));
        return Response.json({ ...answer, rows, matching: 5000, total: 5000, tools: ['early', 'late'] });
      };`);
      await own.store.put([saying('e', 'f', { eid: { run: 2 } })]);
      await page.locator('.count button').click();
      await look.says('.count', '5000 rollouts');
      const showRow = async (index: number): Promise<void> => {
        await page.$eval('.rows', (rows, top) => void (rows.scrollTop = top), index * 36);
        await look.says(`#row-${index}`, `${Math.floor(index / 50)}.${index % 50}`);
      };
      await showRow(145);
      await look.says('#row-150', '3.0');
      for (let at = 4; at < 43; at++) await showRow(at * 50 + 10);
      for (const at of [1, 2, 3]) await showRow(at * 50 + 10);
      // The tools are asked for again while the server reads.
      await page.locator('::-p-text(Filter)').click();
      await look.says('.filter select[name=tool]', 'late');
      expect(look.problems).toEqual([]);
      await page.close();
    },
  );

  it('keeps views and columns in the browser', { timeout }, async () => {
    const look = await open({ tool: 'calculator' });
    const { page } = look;
    await look.says('.count', '1 of 802 rollouts');
    await page.locator('::-p-text(Columns)').click();
    await page.locator('.choices label:last-child input').click();
    await page.waitForFunction("!document.querySelector('.head [data-column=problem]')");
    await press(look, 'Escape');
    await page.locator('::-p-text(Views)').click();
    await look.type('input[name=name]', 'with tools\n');
    await look.says('.views', 'with tools');
    expect(await look.violations()).toEqual([]);
    const again = await browser.open(`${bench.studio.url}&page=rollouts&run=first`);
    await again.says('.count', '802 rollouts');
    expect(await again.page.$('.head [data-column=problem]')).toBeNull();
    await again.page.locator('::-p-text(Views)').click();
    await again.page.locator('.views ::-p-text(with tools)').click();
    await again.says('.count', '1 of 802 rollouts');
    await again.page.locator('::-p-text(Views)').click();
    await again.page.locator('button[aria-label="Remove view with tools"]').click();
    await again.page.waitForFunction("document.querySelectorAll('.views li').length === 5");
    expect([...look.problems, ...again.problems]).toEqual([]);
    await again.page.evaluate('localStorage.clear()');
    await again.page.close();
    await page.close();
  });

  it(
    'shows what was asked and expected, why the reward is what it is, and a timeline',
    { timeout },
    async () => {
      const look = await open({ task: '0', batch: '20' });
      const { page } = look;
      await page.setViewport({ width: 1280, height: 900 });
      await look.says('#row-0 [data-column=question]', 'what is 2*21?');
      expect(await look.text('#row-0 [data-column=truth]')).toBe('42');
      expect(await look.text('#row-0 [data-column=toolCalls]')).toBe('calculator');
      expect(await look.text('#row-0 [data-column=turns]')).toBe('3');
      expect(await look.text('#row-0 [data-column=seconds]')).toBe('4 s');
      await page.locator('#row-0').click();
      await look.says('.summary', 'Expected answer42');
      expect(await look.text('.summary .quoted')).toBe('Questionwhat is 2*21?');
      expect(await look.text('.parts')).toContain('the expected number');
      const entries = await page.$$eval('.timeline li', (all) =>
        all.map((entry) => [
          entry.querySelector('.label')?.textContent,
          entry.querySelector('.number')?.textContent,
        ]),
      );
      expect(entries).toEqual([
        ['Turn 1', '1 s'],
        ['Tool call', '0.5 s'],
        ['Turn 2', '0.5 s'],
        ['Turn 3', '2 s'],
      ]);
      const widths = await page.$$eval('.timeline span.bar', (bars) =>
        bars.map((bar) => bar.style.width),
      );
      expect(widths).toEqual(['25%', '12.5%', '12.5%', '50%']);
      await look.says('.conversation', '42!');
      await page.locator('.timeline li:last-child button').click();
      await page.waitForFunction(
        `document.querySelector('#call-${sums.length + 3}').getBoundingClientRect().top < 800`,
      );
      await page.locator('button[aria-label="Next rollout"]').click();
      expect(await look.violations()).toEqual([]);
      expect(look.problems).toEqual([]);
      await page.close();
    },
  );

  it(
    'shows where a conversation was spliced or forked, and what each token had',
    { timeout },
    async () => {
      const look = await open({ rollout: String(sums.length + 2) });
      const { page } = look;
      await look.says('.conversation', '42!');
      expect(await look.text('.call-view:nth-child(2) .spliced')).toContain('continues turn 1');
      await look.says('.call-view:nth-child(3) .forked', 'history_edited');
      await look.says('.call-view:nth-child(3) .forked', 'Messages before an earlier answer');
      // Reasoning is folded, a tool call is not.
      const folds = await page.$$eval('.call-view:nth-child(1) details', (all) =>
        all.map((fold) => [fold.querySelector('summary')?.textContent?.split(' ')[0], fold.open]),
      );
      expect(folds).toEqual([
        ['Reasoning', false],
        ['Tool', true],
      ]);
      const options = await page.$$eval('#rollout-view select option', (all) =>
        all.map((option) => [option.textContent, option.disabled]),
      );
      expect(options).toEqual([
        ['probability', false],
        ['advantage (not recorded)', true],
        ['trained tokens', false],
        ['reward of the token (not recorded)', true],
        ['teacher (not recorded)', true],
        ['probability by the checkpoint (score it first)', true],
        ['entropy by the checkpoint (score it first)', true],
        ['ratio: checkpoint to record (score it first)', true],
      ]);
      const heats = () =>
        page.$$eval('.call-view:nth-child(2) .token.sampled', (all) =>
          all.map((token) => token.style.getPropertyValue('--heat')),
        );
      expect((await heats())[1]).toBe('hsl(3 80% 45%)');
      await page.select('#rollout-view select', 'mask');
      expect(new Set(await heats())).toEqual(new Set(['hsl(210 80% 50%)']));
      await page.focus('.conversation');
      await press(look, 'ArrowRight');
      await look.says('.inspected', '"<": id');
      // What is inspected is not hidden in a fold.
      expect(await page.$eval('.call-view details', (fold) => fold.open)).toBe(true);
      await page.locator('.call-view:nth-child(2) .token.sampled:nth-child(2)').click();
      await look.says('.inspected', 'log-probability -3, probability 0.04979');
      expect(look.problems).toEqual([]);
      await page.close();
    },
  );

  it(
    'shows attempts side by side, the task over time, and what the trainer made of it',
    { timeout },
    async () => {
      const own = await openWorkbench(built, 'first', sums, '');
      const lease = await own.store.take(2);
      await lease!.acknowledge(
        3,
        lease!.experiences.map(({ logprobs }) => logprobs.map((_, i) => i - 1)),
      );
      const look = await open({ rollout: '1', sort: 'id', descending: 'false' }, own);
      const { page } = look;
      await look.says('#row-0', '0+1=');
      await look.says('.facts-grid', 'Staleness2');
      await look.says('#rollout-view .faint', 'as the trainer computed them');
      await page.select('#rollout-view select', 'advantage');
      expect(
        await page.$$eval('.token.sampled', (all) =>
          all.slice(0, 3).map((token) => token.style.getPropertyValue('--heat')),
        ),
      ).toEqual([
        expect.stringMatching(/^hsl\((?:5\d|4\d)/),
        '',
        expect.stringMatching(/^hsl\((?:6|7)\d/),
      ]);
      await page.focus('#tab-conversation');
      await press(look, 'ArrowRight');
      await look.says('.side-by-side', '8 is it');
      const titles = await page.$$eval('.side-by-side h3', (all) =>
        all.map((title) => title.textContent),
      );
      expect([titles.length, ...titles.slice(0, 3)]).toEqual([
        8,
        'Attempt 7best',
        'Attempt 0worst',
        'Attempt 6',
      ]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
      await press(look, 'ArrowRight');
      await look.says('.history tbody tr:last-child', '9');
      expect(await page.$$('.history tbody tr')).toHaveLength(10);
      // The answer of the first step, changed into that of the last.
      await page.select('.diff select', 'best 10');
      await look.says('.diff del', '728');
      expect(await look.text('.diff ins')).toBe('1');
      expect(await look.violations()).toEqual([]);
      await page.locator('.history tbody tr:last-child td:nth-child(5) button').click();
      await look.says('.conversation', '728');
      await press(look, 'Escape');
      await own.store.put([saying('new', 'one', { eid: { batch: 99 } })]);
      await look.says('.count', 'There are newer rollouts');
      await page.locator('.count button').click();
      await look.says('.count', '801 rollouts');
      expect(look.problems).toEqual([]);
      await page.close();
    },
  );
});
