/**
 * `pnpm bench rollouts [ROWS] [--keep FOLDER]`: the studio's page of rollouts over a run with ROWS
 * rollouts (default: a million), in Chromium. Measures the time to the first rows, the longest frame
 * while scrolling, the time of sorting and searching, and the memory of the server. With `--keep`, the
 * run stays in that folder and is used again.
 */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildPageInto } from '../apps/studio/test/build-page.ts';
import { findChromium } from '../tests/support/src/browser/chromium.ts';
import { launch, type Look } from '../apps/studio/test/look.ts';
import { makeRun } from './rollouts/make-run.ts';
import { longestTask } from './studio/frames.ts';
import { startServer } from './studio/start-server.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { keep: { type: 'string' } },
});
const rows = Number(positionals[0] ?? 1_000_000);
const scratch = mkdtempSync(join(tmpdir(), 'trinity-bench-rollouts-'));
const root = values.keep ?? join(scratch, 'runs');
const database = join(root, 'run', 'buffer', 'experience_buffer.db');
const patience = { timeout: 300_000 };

const report = (what: string, value: string): void => console.log(`${what.padEnd(58)} ${value}`);
type Page = Look['page'];
const ms = (value: number): string => `${Math.round(value)} ms`;
const mib = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;

async function measure(): Promise<void> {
  const begun = performance.now();
  const { page } = await browser.open(`${server.url}&page=rollouts&run=run`);
  await page.setViewport({ width: 1500, height: 950 });
  await page.waitForFunction(hasRows, patience);
  report('First rows on the page after', ms(performance.now() - begun));
  memory('Server, first rows');
  for (const what of Object.keys(scrolls) as (keyof typeof scrolls)[]) await frames(page, what);
  await page.waitForFunction(hasRows, patience);
  await order(page, 'by reward, the first time', 'reward');
  memory('Server, all rows indexed');
  await order(page, 'by advantage', 'advantage');
  for (const what of ['from end to end', 'to an end and back'] as const)
    await frames(page, what, 'sorted, ');
  await search(page, 'what is 4242 +');
  memory('Server, after a search of all texts');
}

interface Frames {
  readonly longest: number;
  readonly count: number;
}

/** Measures frames. Frame times include other work on the machine; the processor time of the longest task does not. */
async function frames(page: Page, what: keyof typeof scrolls, how = ''): Promise<void> {
  const scroll = scrolling(scrolls[what]);
  let measured: Frames | undefined;
  const task = await longestTask(page, async () => {
    measured = (await page.evaluate(scroll)) as Frames;
  });
  const { longest = Number.NaN, count = 0 } = measured ?? {};
  report(`Longest of ${count} frames, ${how}${what}: time, work`, `${ms(longest)}, ${ms(task)}`);
}

const hasRows = "document.querySelector('#row-0, .body .row')?.children[1]?.textContent !== ''";
const isComplete =
  "/^\\d+ (of \\d+ )?rollouts/.test(document.querySelector('.count')?.textContent ?? '')";

/** Scroll positions by frame: `at` goes from 0 to 1. */
const scrolls = {
  'wheel, 120 pixels each': 'rows.scrollTop += 120',
  'from end to end': 'rows.scrollTop = at * rows.scrollHeight',
  'jumping about': 'rows.scrollTop = ((at * 7919) % 1) * rows.scrollHeight',
  'to an end and back':
    'if (frames % 40 === 1) rows.scrollTop = ((frames - 1) / 40) % 2 === 0 ? rows.scrollHeight : 0',
} as const;

const scrolling = (script: string): string => `new Promise((resolve) => {
  const rows = document.querySelector('.rows');
  const count = 240;
  let [frames, longest, last] = [0, 0, performance.now()];
  const next = (now) => {
    if (frames > 0) longest = Math.max(longest, now - last);
    last = now;
    const at = frames / count;
    if (++frames > count) return resolve({ longest, count });
    ${script};
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
})`;

async function order(page: Page, what: string, column: string): Promise<void> {
  const begun = performance.now();
  await page.evaluate(`document.querySelector('.head [data-column=${column}] button').click()`);
  await page.waitForFunction(
    `document.querySelector('[aria-sort]')?.matches('[data-column=${column}]') && document.querySelector('#row-0')?.children[1]?.textContent`,
    patience,
  );
  const first = performance.now() - begun;
  await page.waitForFunction(isComplete, patience);
  report(`Order ${what}: first rows, all`, `${ms(first)}, ${ms(performance.now() - begun)}`);
}

async function search(page: Page, text: string): Promise<void> {
  const begun = performance.now();
  await page.evaluate(
    `document.querySelector('input[name=text]').value = ${JSON.stringify(text)}; document.querySelector('[role=search]').requestSubmit()`,
  );
  await page.waitForFunction(
    `document.querySelector('#row-0')?.children[1]?.textContent.includes('4242 +')`,
    patience,
  );
  const first = performance.now() - begun;
  await page.waitForFunction(isComplete, patience);
  const found = await page.evaluate("document.querySelector('.count').textContent");
  report(
    `Search: first row, all (${String(found).trim()})`,
    `${ms(first)}, ${ms(performance.now() - begun)}`,
  );
}

function memory(what: string): void {
  report(`${what}: most memory so far`, `${Math.round(server.peakMemory())} MiB`);
}

if (!existsSync(database)) {
  const begun = performance.now();
  await makeRun(join(root, 'run'), rows);
  report(`${rows} rollouts made`, ms(performance.now() - begun));
}
report('Store', mib(statSync(database).size));

const outDir = join(scratch, 'page');
await buildPageInto(outDir);
const chromium = await findChromium();
if (chromium === undefined) throw new Error('No Chromium: set CHROMIUM_PATH or install one.');
const server = await startServer(root, outDir);
const browser = await launch(chromium);
try {
  await measure();
} finally {
  await browser.close();
  await server.close();
  rmSync(scratch, { recursive: true });
}
