/** Tests the pages over real runs, in progress and completed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openStudio, type Studio } from '@trinity-rft/inspect/studio';
import { openControl } from '../src/control/control.js';
import type { MetricList } from '@trinity-rft/inspect/studio/interface';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findChromium } from '@trinity-rft/test-support';
import { launch, timeout, type Look } from './look.js';
import { buildPage } from './support.js';

const chromium = await findChromium();
const reason = chromium === undefined ? ' (no Chromium: set CHROMIUM_PATH or install one)' : '';
const examples = path.join(import.meta.dirname, '../../../examples');
const fromSources = [
  '--conditions=@trinity-rft/source',
  `--import=${new URL('../../../tools/register-source.mjs', import.meta.url).href}`,
];

describe.skipIf(chromium === undefined)(`the studio over real runs${reason}`, () => {
  let browser: Awaited<ReturnType<typeof launch>>;
  let root: string;
  let studio: Studio;

  beforeAll(async () => {
    browser = await launch(chromium ?? '');
    root = mkdtempSync(path.join(tmpdir(), 'trinity-studio-'));
    const parts = [openControl({ command: [], cwd: root })];
    studio = await openStudio({ runs: root, page: await buildPage(), parts });
  }, timeout);
  afterAll(async () => {
    await browser?.close();
    await studio?.close();
    rmSync(root, { recursive: true });
  });

  /** Starts an example with few steps; the test does not check whether the run learns. */
  function start(example: string, steps: readonly (readonly [usual: number, few: number])[]) {
    const [from, cwd] = [path.join(examples, example), path.join(root, example)];
    mkdirSync(cwd);
    let text = readFileSync(path.join(from, `${example}.yaml`), 'utf8');
    for (const [usual, few] of steps)
      text = text.replace(`total_steps: ${usual}\n`, `total_steps: ${few}\n`);
    writeFileSync(path.join(cwd, `${example}.yaml`), text);
    // A plugin finds its packages beside the place where it really is.
    symlinkSync(path.join(from, 'plugins'), path.join(cwd, 'plugins'));
    const program = path.join(from, 'src/index.ts');
    return spawn(process.execPath, [...fromSources, program], { cwd, stdio: 'ignore' });
  }

  /** Metrics of a run for which the page has no explanation. */
  async function unexplained(run: string): Promise<readonly string[]> {
    vi.stubGlobal(
      'metricsDocument',
      readFileSync(path.join(examples, '../docs/reference/metrics.md'), 'utf8'),
    );
    const { helpOf } = await import('../page/metric-help.js');
    const address = new URL(`api/runs/${encodeURIComponent(run)}/metrics`, studio.url);
    const headers = { authorization: `Bearer ${studio.key}` };
    const { metrics } = (await (await fetch(address, { headers })).json()) as MetricList;
    return metrics.map(({ name }) => name).filter((name) => helpOf(name).text === '');
  }

  async function visit(look: Look, run: string, withAxe: boolean): Promise<void> {
    const names = await look.page.$$eval('nav a', (links) =>
      links.map((link) => new URLSearchParams(link.hash.slice(1)).get('page') ?? ''),
    );
    expect(names.length).toBeGreaterThan(5);
    for (const name of names) {
      await look.page.evaluate(`location.hash = '#page=${name}&run=${run}'`);
      await look.page.waitForSelector(`nav a[aria-current][href^="#page=${name}"]`);
      await look.page.waitForNetworkIdle({ idleTime: 300, concurrency: 1 });
      expect([name, ...(withAxe ? await look.violations() : [])]).toEqual([name]);
      expect([name, ...look.problems]).toEqual([name]);
    }
  }

  it.each([
    [
      'quickstart',
      [
        [400, 60],
        [120, 30],
      ],
    ],
    [
      'react-calculator',
      [
        [300, 20],
        [50, 4],
      ],
    ],
  ] as const)(
    'follows %s to its end, and shows it then',
    { tags: ['slow'] },
    async (example, steps) => {
      const run = `${example}/runs/Trinity-RFT/${example}/grpo`;
      const ended = once(start(example, steps), 'exit');
      const look = await browser.open(studio.url);
      await look.page.setViewport({ width: 1280, height: 900 });
      const stage = `tbody th a[href*="${example}"][href*="grpo"]`;
      await look.page.waitForSelector(stage);
      await look.page.locator(stage).click();
      await look.page.waitForSelector('.overview .verdict');
      await look.page.locator('.tabs a[href^="#page=metrics"]').click();
      await look.says('.metric-card', 'rollout/reward/mean');
      await look.page.locator('.metric-card h3 a').click();
      await look.says('h2', 'rollout/reward/mean');
      const points = 'Number(document.querySelector("caption ~ tbody td:last-child")?.textContent)';
      await look.page.waitForFunction(`${points} > 1`);
      await visit(look, run, false);
      expect(await ended).toEqual([0, null]);
      await look.page.evaluate(`location.hash = '#page=runs'`);
      await look.says('main', 'finished');
      await look.page.evaluate(
        `location.hash = '#page=metrics&run=${run}&metric=explorer+rollout/reward/mean'`,
      );
      await look.page.waitForFunction(`${points} >= ${steps[1][1]}`);
      await visit(look, run, true);
      expect(await unexplained(run)).toEqual([]);
      await look.page.evaluate(`location.hash = '#page=workers&run=${run}'`);
      await look.says('.verdict', `finished: ${steps[1][1]} of ${steps[1][1]} steps`);

      await look.page.close();
    },
  );
});
