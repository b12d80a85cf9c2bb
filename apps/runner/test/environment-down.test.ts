/** Tests runs whose environment stays down: they wait, report the reason, end, and resume. */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { causesOf, openStatus, renderCauses, renderStatus } from '@trinity-rft/inspect';
import { beforeAll, expect, it, vi } from 'vitest';
import { runHere } from './support/run-here.js';
import { metricLines, usedRows, weightsDigest } from './support/run-record.js';
import { runArgs, startTrinity } from './support/trinity.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

/**
 * Environment with two steps per task. While the file `down` exists, steps fail once the number of
 * steps in the file has been taken.
 */
const wall = `
import { existsSync, readFileSync } from 'node:fs';
import { defineEnvironment, nativeEnvironment } from '@trinity-rft/environment';
import { share } from './rewards.js';
export const wall = defineEnvironment({
  name: 'wall',
  description: 'Write digits on it, twice.',
  open: ({ down }) => {
    let steps = 0;
    return nativeEnvironment(({ row }) => {
      let turn = 0;
      return {
        observation: String(row['question']),
        step: ({ text }) => {
          if (existsSync(down) && steps >= Number(readFileSync(down, 'utf8')))
            throw new Error('the wall fell down');
          steps++;
          turn++;
          return { observation: '+1=', reward: share(text), done: turn === 2 };
        },
      };
    });
  },
});
`;

const minutes = 60_000;
let workspace: Workspace;
let untouched: ReturnType<typeof recordOf>;
beforeAll(async () => {
  workspace = await createWorkspace();
  workspace.write('plugins/wall.ts', wall);
  const { error } = await runHere(workspace, configOf('untouched'));
  if (error) throw error;
  untouched = recordOf('untouched');
}, 2 * minutes);

/** Configuration that syncs weights after every second explore step, so that two explore steps overlap. */
function configOf(name: string, maxWait = 1800): string {
  const down = path.join(workspace.root, `${name}.down`);
  const explorer_input: Tree = {
    default_workflow_type: 'environment_workflow',
    tasksets: [
      {
        name: 'sums',
        path: 'tasks.jsonl',
        // The pattern matches every answer, so that a truncated answer is an action too.
        workflow_args: {
          environment: 'wall',
          environment_args: { down },
          action_pattern: '^[^]*$',
        },
      },
    ],
  };
  return workspace.config(`${name}.yaml`, {
    name,
    buffer: { explorer_input },
    synchronizer: { sync_interval: 2 },
    trainer: { save_interval: 2 },
    explorer: { environment_failures: { max_in_row: 4, max_wait: maxWait } },
  });
}

const breakAfter = (name: string, steps: number): string =>
  workspace.write(`${name}.down`, String(steps));
const mend = (name: string): void => rmSync(path.join(workspace.root, `${name}.down`));
const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);

function recordOf(name: string) {
  return {
    digest: weightsDigest(job(name)),
    // Sorted, because the order of the lines of trainer and explorer differs between runs.
    lines: metricLines(job(name)).toSorted(
      (a, b) => a.role.localeCompare(b.role) || a.step - b.step,
    ),
    rows: usedRows(path.join(job(name), 'buffer/experience_buffer.db')),
  };
}

async function statusOf(name: string): Promise<{ readonly why: string; readonly status: string }> {
  const reader = await openStatus(job(name));
  try {
    const status = await reader.look();
    return { why: renderCauses(causesOf(status)), status: renderStatus(status) };
  } finally {
    await reader.close();
  }
}

/**
 * Waits until `trinity why` matches.
 * @returns the output of `trinity status` at that time
 */
const untilWhySays = (name: string, says: RegExp): Promise<string> =>
  vi.waitFor(
    async () => {
      const { why, status } = await statusOf(name);
      expect(why).toMatch(says);
      return status;
    },
    { timeout: minutes, interval: 100 },
  );

it(
  'ends when it stays down, and goes on from there, killed or not, to the weights of a run without faults',
  { timeout: 4 * minutes },
  async () => {
    const name = 'broken';
    const config = configOf(name, 3);
    // The environment breaks in the third explore step, while the fourth one is also in progress.
    breakAfter(name, 70);
    const { error } = await runHere(workspace, config);
    expect(error).toMatchObject({ code: 'ENVIRONMENT_DOWN' });
    const end = /"wall" has failed for 3 s .*max_wait.*start the run again.*the wall fell down/;
    await expect(statusOf(name)).rejects.toThrow(end);

    breakAfter(name, 50);
    const waiting = startTrinity(workspace.root, runArgs(configOf(name)));
    const status = await untilWhySays(
      name,
      /^trainer .*\n {2}waits for experiences for train step \d+, for .*: explorer .*\n {4}waits for environment "wall".*the wall fell down.*: CAUSE: outside the run\n/m,
    );
    expect(status).toMatch(/waits for environment "wall", which fails: .*the wall fell down, for /);
    waiting.child.kill('SIGKILL');
    await waiting.ended;
    await expect(statusOf(name)).rejects.toThrow(
      /Continue it .* was killed or crashed after train step/,
    );

    mend(name);
    expect((await runHere(workspace, config)).error).toBeUndefined();
    expect(recordOf(name)).toEqual(untouched);
  },
);

it(
  'is the cause where explorers are processes of their own, which end with it, and go on when it answers',
  { timeout: 4 * minutes },
  async () => {
    const name = 'apart';
    breakAfter(name, 40);
    const start = (maxWait?: number) =>
      startTrinity(workspace.root, [...runArgs(configOf(name, maxWait)), '--explorers', '1']);
    const { exitCode, stdout } = await start(1).ended;
    expect(exitCode).toBe(3);
    expect(stdout).toMatch(/explorer-1 cannot go on[^]*"wall" has failed for 1 s/);
    expect(stdout).not.toContain('starts again');

    const waiting = start();
    await untilWhySays(
      name,
      /^trainer .*\n.*: explorer explorer-1 .*\n.*environment "wall".*the wall fell down.*: CAUSE: outside the run\n/m,
    );
    mend(name);
    expect((await waiting.ended).exitCode).toBe(0);
    const { digest, rows } = recordOf(name);
    expect({ digest, rows }).toEqual({ digest: untouched.digest, rows: untouched.rows });
  },
);
