/** Tests a killed run whose write-ahead log, which has most of its experiences, is damaged. */
import { cpSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { runHere } from './support/run-here.js';
import { metricLines, usedRows, weightsDigest } from './support/run-record.js';
import { killedTrinity, runArgs } from './support/trinity.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

const saving: Tree = { trainer: { save_interval: 2 } };
let workspace: Workspace;
let whole: ReturnType<typeof recordOf>;

const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);
const databaseIn = (name: string): string => path.join(job(name), 'buffer/experience_buffer.db');

function recordOf(name: string) {
  const lines = metricLines(job(name));
  return {
    weights: weightsDigest(job(name)),
    experiences: usedRows(databaseIn(name)),
    metrics: Object.groupBy(lines, ({ role }) => role),
  };
}

beforeAll(async () => {
  workspace = await createWorkspace();
  await runHere(workspace, workspace.config('whole.yaml', saving, { name: 'whole' }));
  whole = recordOf('whole');
  const killed = workspace.config('killed.yaml', saving, { name: 'killed' });
  await killedTrinity(workspace.root, runArgs(killed), {
    call: 'rename',
    match: 'latest_checkpointed_iteration.txt',
    nth: 2,
    when: 'after',
  });
});

function flipMiddle(file: string): void {
  const bytes = readFileSync(file);
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}

it.each([
  ['cut', (file: string) => truncateSync(file, Math.floor(readFileSync(file).length / 2))],
  ['flipped', flipMiddle],
] as const)(
  'what the log has lost is made again, and the run ends as if it had been whole: %s',
  async (name, damage) => {
    cpSync(job('killed'), job(name), { recursive: true });
    damage(`${databaseIn(name)}-wal`);
    const config = workspace.config(`${name}.yaml`, saving, { name });
    const { error, output } = await runHere(workspace, config);
    expect(error).toBeUndefined();
    expect(output).toMatch(
      /end at train step [123], and the newest checkpoint is of step 4: the disk has lost what was stored last/,
    );
    expect(recordOf(name)).toEqual(whole);
  },
);
