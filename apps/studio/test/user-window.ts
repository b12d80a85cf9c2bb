/** Opens a page in a browser as a user would, without a debugger, whose overhead is about that of the page itself. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import puppeteer from 'puppeteer-core';

export interface UserWindow {
  /**
   * Waits for an element.
   * @throws when there is no such element
   */
  expect(selector: string): Promise<void>;
  close(): Promise<void>;
}

export async function openUserWindow(executable: string, url: string): Promise<UserWindow> {
  const profile = mkdtempSync(path.join(tmpdir(), 'trinity-studio-window-'));
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
  const child = spawn(
    executable,
    [
      ...flags,
      '--window-size=1280,900',
      '--remote-debugging-port=0',
      `--user-data-dir=${profile}`,
      url,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const address = await debuggingAddress(child);
  return {
    expect: async (selector) => {
      const browser = await puppeteer.connect({ browserWSEndpoint: address });
      const shown = (await browser.pages()).find((page) => page.url().startsWith(url.slice(0, 20)));
      const found = await shown?.$(selector);
      await browser.disconnect();
      if (!found) throw new Error(`The page does not show ${selector}.`);
    },
    close: async () => {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function debuggingAddress({ stderr }: ChildProcess): Promise<string> {
  if (stderr === null) throw new Error('The browser was started without a pipe.');
  for await (const line of createInterface(stderr)) {
    const [address] = /ws:\/\/\S+/.exec(line) ?? [];
    if (address !== undefined) return address;
  }
  throw new Error('The browser ended before it showed a page.');
}
