/** What the studio does beside reading, in a browser. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { openStudio, type Studio } from '@trinity-rft/studio-api';
import { openControl } from '@trinity-rft/studio-control';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from './chromium.js';
import { attack, launch, timeout } from './look.js';
import { buildPage, openWorkbench, saying, type Workbench } from './support.js';

const chromium = await findChromium();
const reason = chromium === undefined ? ' (no Chromium: set CHROMIUM_PATH or install one)' : '';

describe.skipIf(chromium === undefined)(`what the studio does, in a browser${reason}`, () => {
  let browser: Awaited<ReturnType<typeof launch>>;
  let bench: Workbench;
  let studio: Studio;

  beforeAll(async () => {
    browser = await launch(chromium ?? '');
    const page = await buildPage();
    const metrics = `${JSON.stringify({ role: 'explorer', step: 1, metrics: { 'rollout/reward/mean': 0.5 }, timing: {} })}\n`;
    bench = await openWorkbench(page, 'run', [saying('a', 'b')], metrics);
    writeFileSync(path.join(bench.root, 'run', 'stage_meta.json'), '{"latest_stage":0}');
    studio = await openStudio({ runs: bench.root, page, parts: [openControl()] });
  }, timeout);
  afterAll(async () => {
    await browser?.close();
    await studio?.close();
  });

  const open = (page: string) => browser.open(`${studio.url}&page=${page}&run=run`);

  it('shows who waits for whom, as it changes', { timeout }, async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const beat = (trainer: readonly object[], explorer: readonly object[]): void => {
      const progress = { exploreStep: 7, trainStep: 5, version: 4 };
      const waits = { trainer, explorer };
      writeFileSync(
        path.join(bench.root, 'run', 'status.json'),
        // Of the future: it does not fall silent however slow the machine is.
        JSON.stringify({ pid: child.pid, host: hostname(), at: Date.now() + 1e6, waits, progress }),
      );
    };
    beat([{ what: `tasks ${attack}`, on: 'explorer', forMs: 12_000 }], []);
    const look = await open('processes');
    await look.says('.verdict', 'explorer is at work.');
    expect(await look.text('svg.waits')).toContain(`tasks ${attack}, for 12 s`);
    expect(await look.text('main')).toContain('explore step 7 · train step 5 · staleness 1 train');
    expect(await look.text('.chain')).toContain(`waits for tasks ${attack}, for 12 s: explorer is`);
    expect(await look.violations()).toEqual([]);
    beat(
      [{ what: 'tasks', on: 'explorer', forMs: 12_000 }],
      [{ what: 'the product', forMs: 180_000 }],
    );
    await look.says('.verdict', 'Cause: outside the run.');
    expect(await look.text('.waits .cause')).toBe('outside the run');
    child.kill('SIGSTOP');
    await look.says('.verdict', 'Cause: explorer is silent.');
    await look.says('tbody', 'its process is stopped (SIGSTOP)');
    child.kill('SIGKILL');
    await once(child, 'exit');
    await look.says('tbody', 'its process is gone');
    expect(await look.intrusions()).toEqual([]);
    expect(look.problems).toEqual([]);
    await look.page.close();
  });

  it('says what to do where no process makes the run', { timeout }, async () => {
    const look = await browser.open(`${studio.url}&page=processes&run=nothing`);
    await look.says('main .problem', 'Not found.');
    expect(await look.violations()).toEqual([]);
    await look.page.close();
  });
});
