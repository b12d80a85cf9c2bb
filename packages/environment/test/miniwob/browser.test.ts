/** Starts of the browser, with a program in its place that notes each start and fails. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { browserOf } from '../../src/drivers/miniwob/browser.js';

it.skipIf(process.platform === 'win32')('starts one browser for all pages that open', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'trinity-browser-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [program, notes] = [path.join(folder, 'chromium'), path.join(folder, 'notes')];
  await writeFile(program, `#!/bin/sh\necho started >> '${notes}'\nexit 1\n`, { mode: 0o755 });
  const starts = async (): Promise<number> =>
    (await readFile(notes, 'utf8')).split('\n').length - 1;
  const browser = browserOf(program, 120_000);
  const failed = { status: 'rejected', reason: { code: 'ENVIRONMENT_START_FAILED' } };
  const pages = await Promise.allSettled([browser.page(), browser.page()]);
  expect(pages).toMatchObject([failed, failed]);
  expect(await starts()).toBe(1);
  await expect(browser.page()).rejects.toMatchObject(failed.reason);
  expect(await starts()).toBe(2);
  await browser.close();
});

it.skipIf(process.platform === 'win32')(
  'waits for the browser until its start_timeout',
  async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'trinity-browser-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const program = path.join(folder, 'chromium');
    await writeFile(program, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
    const browser = browserOf(program, 300);
    await expect(browser.page()).rejects.toThrow(/Timeout 300ms/);
    await browser.close();
  },
);
