import { existsSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { StageConfig } from '@trinity-rft/config';
import type { Monitor } from '@trinity-rft/core';
import { manualClock } from '@trinity-rft/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openMonitor } from './monitor.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'trinity-monitor-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const logFile = (): string => path.join(folder, 'log', 'trinity.log');
const terminal = { write: (_text: string) => undefined, isTTY: false, columns: () => 80 };

function stageWith(sinks: readonly string[] = []): StageConfig {
  const [project, name, group] = ['p', 'n', ''];
  const log = { directory: path.dirname(logFile()), level: 'info' };
  const monitor = { directory: path.join(folder, 'monitor'), sinks, args: {} };
  const stage = { jobDirectory: folder, project, name, group, mode: 'both', log, monitor };
  return stage as unknown as StageConfig;
}

function open(stage: StageConfig, monitors: readonly Monitor[] = [], write = terminal.write) {
  const clock = manualClock();
  const options = { terminal: { ...terminal, write }, clock, env: {}, monitors };
  return { clock, opened: () => openMonitor(stage, options) };
}

const openFiles = (): readonly string[] =>
  readdirSync('/proc/self/fd').flatMap((each) => {
    const link = path.join('/proc/self/fd', each);
    return existsSync(link) ? [readlinkSync(link)] : [];
  });

it('leaves no timer behind when the log cannot be opened', () => {
  mkdirSync(logFile(), { recursive: true });
  const { clock, opened } = open(stageWith());
  expect(opened).toThrow('trinity.log could not be written');
  expect(clock.sleeping).toBe(0);
});

it.skipIf(!existsSync('/proc/self/fd'))('closes the log when a service lacks its key', () => {
  const { clock, opened } = open(stageWith(['wandb']));
  expect(opened).toThrow('WANDB_API_KEY');
  expect(clock.sleeping).toBe(0);
  expect(openFiles()).not.toContain(logFile());
});

it('closes the sinks that are open when a later one cannot be opened', async () => {
  let isOpen = false;
  const first: Monitor = {
    open: () => {
      isOpen = true;
      return { write: () => undefined, close: async () => void (isOpen = false) };
    },
  };
  const second: Monitor = {
    open: () => {
      throw new Error('no room');
    },
  };
  const monitor = open(stageWith(), [first, second]).opened();
  expect(() => monitor.openSink({})).toThrow(
    /^monitors\[1\] of run\(\{ monitors \}\) threw .*: no room\. /,
  );
  await monitor.close('failed');
  expect(isOpen).toBe(false);
});

it('shows work without counting rollouts that other processes make', async () => {
  let shown = '';
  const write = (text: string): undefined => void (shown += text);
  const { clock, opened } = open(stageWith(), [], write);
  const monitor = opened();
  const texts: string[] = [];
  for (const done of [undefined, 3, 8]) {
    monitor.onProgress({ what: 'explore step 1', total: 8, done });
    shown = '';
    await clock.advance(120_000);
    texts.push(shown);
  }
  expect(texts).toEqual([
    expect.stringMatching(/^explore step 1 \(/),
    expect.stringMatching(/^explore step 1: 3\/8 runs \(/),
    expect.stringMatching(/^training \(/),
  ]);
  await monitor.close('finished');
});

it('says that a server serves, once it has opened its model', async () => {
  let shown = '';
  const write = (text: string): undefined => void (shown += text);
  const stage = { ...stageWith(), mode: 'serve' } as StageConfig;
  const { clock, opened } = open(stage, [], write);
  const monitor = opened();
  await clock.advance(120_000);
  expect(shown).toContain('opening the model');
  monitor.openSink({});
  shown = '';
  await clock.advance(120_000);
  expect(shown).toContain('serving');
  await monitor.close('finished');
});
