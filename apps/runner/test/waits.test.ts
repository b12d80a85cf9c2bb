/**
 * Tests that processes of a run report what they wait for, and end at once when they are stopped.
 */
import { systemClock } from '@trinity-rft/core';
import { beforeAll, expect, it } from 'vitest';
import { runHere } from './support/run-here.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
});

/** Clock that runs ten times as fast as the system's. */
const start = Date.now();
const clock = {
  ...systemClock,
  now: () => start + 10 * (Date.now() - start),
  after: (ms: number, callback: () => void) => systemClock.after(ms / 10, callback),
};

/** Starts a process of the run, stops it once it has printed `text`, and returns its output. */
async function untilSaid(
  name: string,
  overrides: Tree,
  text: string,
  over: Tree = {},
): Promise<string> {
  const stop = new AbortController();
  let output = '';
  const terminal = {
    isTTY: false,
    columns: () => 80,
    write: (line: string) => {
      output += line;
      if (output.includes(text)) stop.abort(new Error('The test is over.'));
    },
  };
  const file = workspace.config(`${name}.yaml`, { name }, over);
  const { summary, error } = await runHere(workspace, file, {
    ...{ overrides, terminal, clock },
    signal: stop.signal,
  });
  expect(error).toBeUndefined();
  expect(summary?.interrupted).toBe(true);
  return output;
}

it('an explorer without a trainer says what to start, and so does a trainer without an explorer', async () => {
  const explore = { mode: 'explore', explorer: { name: 'one' } };
  expect(await untilSaid('no_trainer', explore, '--mode train')).toMatch(
    /warning: Waiting for a trainer to take part in the run \(\d+ s until now\): no trainer .*--mode train/,
  );
  expect(await untilSaid('no_explorer', { mode: 'train' }, '--mode explore')).toMatch(
    /warning: Waiting for the results of explore step 1 \(\d+ s until now\): no explorer .*--mode explore/,
  );
});

it('an explorer whose file says so explores alone, once it has waited for a trainer', async () => {
  const output = await untilSaid('lone', {}, 'steps alone', { mode: 'explore' });
  expect(output).toContain('Without one, this explorer explores alone in 30 s');
});
