/**
 * `pnpm bench studio [size, live, cost] [--steps N] [--minutes N]`: measures the studio over a run of
 * 200 metrics (first paint, longest frame, memory), the delay until a new step is on the page, and the
 * cost for a training on the same machine. Needs Chromium, and Linux for memory and processor time.
 */
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { buildPageInto } from '../apps/studio/test/build-page.ts';
import { findChromium } from '../tests/support/src/browser/chromium.ts';
import { launch, type Look } from '../apps/studio/test/look.ts';
import { writeBigRun } from './studio/big-run.ts';
import { measureCost } from './studio/cost.ts';
import { longestTask } from './studio/frames.ts';
import { startServer } from './studio/start-server.ts';

const parts = { size, live, cost };
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    steps: { type: 'string', default: '100000' },
    minutes: { type: 'string', default: '5' },
  },
});
for (const name of positionals)
  if (!Object.hasOwn(parts, name))
    throw new Error(`"${name}" is not a part: ${Object.keys(parts).join(', ')}.`);
const found = await findChromium();
if (found === undefined) throw new Error('No Chromium: set CHROMIUM_PATH or install one.');
const chromium: string = found;

const root = mkdtempSync(path.join(tmpdir(), 'trinity-studio-bench-'));
const page = path.join(root, 'page');
await buildPageInto(page);
const browser = await launch(chromium);
try {
  for (const [name, measure] of Object.entries(parts))
    if (positionals.length === 0 || positionals.includes(name)) await measure();
} finally {
  await browser.close();
  rmSync(root, { recursive: true });
}

function report(what: string, figure: string): void {
  console.log(`${what.padEnd(52)} ${figure}`);
}

/** Opens a page in a window of usual size. */
async function open(url: string): Promise<Look> {
  const look = await browser.open(url);
  await look.page.setViewport({ width: 1280, height: 900 });
  return look;
}

async function size(): Promise<void> {
  const runs = path.join(root, 'big');
  writeBigRun(path.join(runs, 'run'), 200, Number(values.steps));
  const server = await startServer(runs, page);
  const begun = performance.now();
  const look = await open(server.url);
  await look.page.waitForSelector('tbody tr');
  report('first paint', `${(await firstPaint(look)).toFixed(0)} ms`);
  report('the run in the list', `${(performance.now() - begun).toFixed(0)} ms`);
  await look.says('tbody', `step ${Number(values.steps)}`);
  report('its steps and its reward', `${(performance.now() - begun).toFixed(0)} ms`);
  let again = performance.now();
  await look.page.evaluate(`location.hash = '#page=metrics&run=run'`);
  await look.page.waitForFunction(`document.querySelectorAll('.metric-card canvas').length > 0`);
  report('the first small charts', `${(performance.now() - again).toFixed(0)} ms`);
  await look.page.waitForFunction(
    `document.querySelectorAll('.controls [role=status]').length === 0`,
  );
  report('all its metrics', `${(performance.now() - again).toFixed(0)} ms`);
  const grid = await longestTask(look.page, () => scrollGrid(look));
  report('longest work, scrolling all small charts', `${grid.toFixed(0)} ms`);
  again = performance.now();
  await look.page.evaluate(
    `location.hash = '#page=metrics&run=run&metric=explorer+rollout/reward/mean'`,
  );
  await look.says('caption ~ tbody', String(Number(values.steps)));
  report('one curve', `${(performance.now() - again).toFixed(0)} ms`);
  const acts = {
    'nothing is done': rest,
    zooming: zoom,
    'other metrics': others,
    scrolling: scroll,
  };
  for (const [what, act] of Object.entries(acts)) {
    let frame = Number.NaN;
    const task = await longestTask(look.page, async () => {
      frame = await longestFrame(look, () => act(look));
    });
    report(`longest frame, ${what}: time, work`, `${frame.toFixed(0)} ms, ${task.toFixed(0)} ms`);
  }
  report('memory of the server, at most', `${server.peakMemory().toFixed(0)} MiB`);
  await look.page.close();
  await server.close();
}

async function firstPaint({ page: shown }: Look): Promise<number> {
  return Number(
    await shown.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`),
  );
}

/** Longest frame while `act` runs, in milliseconds. */
async function longestFrame({ page: shown }: Look, act: () => Promise<void>): Promise<number> {
  await shown.evaluate(`globalThis.frames_ = []; globalThis.on_ = true; globalThis.last_ = performance.now();
    (function next(now) { frames_.push(now - last_); last_ = now; if (on_) requestAnimationFrame(next); })(last_);`);
  await act();
  return Number(await shown.evaluate('on_ = false; Math.max(...frames_)'));
}

/**
 * Waits four seconds without interaction: frames meanwhile show the effect of other work on the
 * machine.
 */
async function rest(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 4000));
}

async function zoom({ page: shown }: Look): Promise<void> {
  for (let i = 0; i < 8; i++) {
    const box = await (await shown.waitForSelector('.u-over'))?.boundingBox();
    if (!box) return;
    const y = box.y + box.height / 2;
    await shown.mouse.move(box.x + box.width * 0.2, y);
    await shown.mouse.down();
    await shown.mouse.move(box.x + box.width * 0.8, y, { steps: 20 });
    await shown.mouse.up();
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

async function others({ page: shown }: Look): Promise<void> {
  for (let i = 0; i < 8; i++) {
    const name = `explorer+part_${(i * 20) % 12}/number_${i * 20}/mean`;
    await shown.evaluate(`location.hash = '#page=metrics&run=run&metric=${name}'`);
    await new Promise((resolve) => setTimeout(resolve, 800));
  }
}

/** Opens all groups, and scrolls each chart into view. */
async function scrollGrid(look: Look): Promise<void> {
  await look.page.$$eval('details.group', (groups) =>
    groups.forEach((group) => group.setAttribute('open', '')),
  );
  for (let i = 0; i < 4; i++) await scroll(look);
}

async function scroll({ page: shown }: Look): Promise<void> {
  await shown.mouse.move(200, 500);
  for (let i = 0; i < 40; i++) {
    await shown.mouse.wheel({ deltaY: 200 });
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function live(): Promise<void> {
  const runs = path.join(root, 'live');
  writeBigRun(path.join(runs, 'run'), 50, 100);
  const file = path.join(runs, 'run', 'monitor', 'metrics.jsonl');
  const server = await startServer(runs, page);
  for (const [name, query, place] of [
    ['list of runs', '', 'tbody'],
    ['small charts', '&page=metrics&run=run', '.metric-card'],
    ['curve', '&page=metrics&run=run&metric=explorer+rollout/reward/mean', 'caption ~ tbody'],
  ] as const) {
    const look = await open(server.url + query);
    await look.page.waitForSelector(place);
    const took: number[] = [];
    for (let i = 0; i < 10; i++) {
      const reward = (2000 + Math.floor(Math.random() * 1000)) / 1000;
      const metrics = { 'rollout/reward/mean': reward, 'rollout/model_version': 100 + i };
      const begun = performance.now();
      const record = { role: 'explorer', step: 101 + i, metrics, timing: {} };
      appendFileSync(file, `${JSON.stringify(record)}\n`);
      await look.says(place, String(reward));
      took.push(performance.now() - begun);
    }
    report(`a new step in the ${name}, slowest of 10`, `${Math.max(...took).toFixed(0)} ms`);
    await look.page.close();
  }
  await server.close();
}

async function cost(): Promise<void> {
  await measureCost({ root, page, chromium, report, minutes: Number(values.minutes) });
}
