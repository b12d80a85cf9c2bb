/** Tests diagnosis and what-if in a browser, over a run with problems and hostile texts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from '@trinity-rft/test-support';
import { attack, launch, timeout, type Look } from './look.js';
import { buildPage, openWorkbench, saying, type Workbench } from './support.js';

const chromium = await findChromium();
const reason = chromium === undefined ? ' (no Chromium: set CHROMIUM_PATH or install one)' : '';

/** Rollouts in which longer answers get higher rewards. */
const rows = Array.from({ length: 64 }, (_, i) =>
  saying(`task ${Math.floor(i / 8)}`, 'x'.repeat(2 + 3 * (i % 8)), {
    eid: { batch: 1, task: i < 8 ? attack : Math.floor(i / 8), run: i % 8 },
    reward: (i % 8) / 8,
    metrics: { accuracy: Number(i % 8 === 0), [attack]: i },
  }),
);
const evaluation = `eval/${attack}/reward/mean`;
const metrics = Array.from({ length: 12 }, (_, i) => {
  const step = i + 1;
  const evaluated = step === 1 || step === 12 ? { [evaluation]: 1 - step / 20 } : {};
  const runs = { 'rollout/runs/ok': 48, 'rollout/runs/failed': 16 };
  const values = { 'rollout/reward/mean': step / 20, ...runs, ...evaluated };
  return `${JSON.stringify({ role: 'explorer', step, metrics: values, timing: {} })}\n`;
}).join('');

describe.skipIf(chromium === undefined)(`what is wrong, and what if, in a browser${reason}`, () => {
  let browser: Awaited<ReturnType<typeof launch>>;
  let bench: Workbench;
  let page: string;

  beforeAll(async () => {
    browser = await launch(chromium ?? '');
    page = await buildPage();
    bench = await openWorkbench(page, 'run', rows, metrics);
  }, timeout);
  afterAll(() => browser?.close());

  const open = (query: string): Promise<Look> =>
    browser.open(`${bench.studio.url}&run=run&${query}`);

  it('says what is wrong, and leads to its curve and its rollouts', { timeout }, async () => {
    const look = await open('page=diagnosis');
    await look.says('main [role=status]', '3 findings.');
    expect(await look.text('#reward-follows-length')).toBe(
      'The reward follows the length of the answer',
    );
    expect(await look.text('main')).toContain(`${evaluation} was 0.95 at step 1 and is 0.4`);
    expect(await look.violations()).toEqual([]);
    expect(await look.text('[aria-labelledby=failing-runs] .evidence')).toBe(
      'rollout/runs/failed / (rollout/runs/ok + rollout/runs/failed) = 0.25 (steps 8 to 12)',
    );
    expect(await look.text('[aria-labelledby=reward-follows-length] .shown')).toBe(
      'Related rollouts: show all',
    );
    await look.page
      .locator('[aria-labelledby=reward-follows-length] a[href*="page=rollouts"]')
      .click();
    await look.says('.count', '64 rollouts');
    await look.page.goBack();
    await look.says('main [role=status]', '3 findings.');
    await look.page.locator('[aria-labelledby=eval-falls] a[href*="page=metrics"]').click();
    await look.says('main', evaluation);
    expect(await look.intrusions()).toEqual([]);
    expect(look.problems).toEqual([]);
    await look.page.close();
  });

  it('says that all is well, and what is not there yet', { timeout }, async () => {
    const fine = await openWorkbench(page, 'run', [], metrics.slice(0, metrics.indexOf('\n') + 1));
    const look = await browser.open(`${fine.studio.url}&run=run&page=diagnosis`);
    await look.says('main .success', 'No problem found.');
    expect(await look.violations()).toEqual([]);
    await look.page.locator('nav a[href^="#page=tasks"]').click();
    await look.says('main .empty', 'Tasks appear with the first rollouts');
    expect(await look.violations()).toEqual([]);
    await look.page.locator('nav a[href^="#page=whatIf"]').click();
    await look.says('main .empty', 'Change a setting');
    expect(await look.violations()).toEqual([]);
    await look.page.locator('nav a[href^="#page=compare"]').click();
    await look.says('main .empty', 'No runs to compare yet');
    expect(await look.violations()).toEqual([]);
    expect(look.problems).toEqual([]);
    await look.page.close();
  });

  it('ranks attempts by another reward, and says what cannot be tried', { timeout }, async () => {
    const look = await open('page=whatIf');
    await look.says('main', 'Try');
    await look.page.select('select[name=number]', 'accuracy');
    await look.page.select('select[name=advantage]', 'rloo');
    await look.page.locator('form button').click();
    await look.says('main', 'The newest explore step with 8 groups.');
    expect(await look.text('main table')).toContain('Mean reward0.43750.125');
    expect(await look.text('main')).toContain('agreement -0.5');
    expect(await look.text('main')).toContain(`Explore step 1, task ${attack}`);
    expect(await look.violations()).toEqual([]);
    expect(await look.intrusions()).toEqual([]);
    expect(look.problems).toEqual([]);
    await look.page.close();
    const refused = await open('page=whatIf&algorithm=ppo');
    await refused.says('main [role=alert]', 'need a critic');
    await refused.page.close();
  });
});
