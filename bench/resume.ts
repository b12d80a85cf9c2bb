/**
 * `pnpm bench resume [MOMENTS]`: kills the quickstart at moments spread over the run, restarts it, and
 * compares the final results.
 */
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { metricLines, usedRows, weightsDigest } from '../apps/runner/test/support/run-record.ts';

/**
 * Node arguments that run the command from the sources. The arguments of this process are relative to its working
 * directory, so they cannot be reused.
 */
const fromSources = [
  '--conditions=@trinity-rft/source',
  `--import=${new URL('../tools/register-source.mjs', import.meta.url).href}`,
];
const quickstart = path.resolve(import.meta.dirname, '../examples/quickstart');
const moments = Number(process.argv[2] ?? 10);
const root = mkdtempSync(path.join(tmpdir(), 'trinity-resume-'));

/**
 * Runs the quickstart in `directory` to its end, or until it is killed after `killAfter` seconds.
 * Resolves with the duration in seconds.
 */
function start(directory: string, killAfter?: number): Promise<number> {
  const begun = performance.now();
  const child = spawn(process.execPath, [...fromSources, path.join(quickstart, 'src/index.ts')], {
    cwd: directory,
    stdio: 'ignore',
  });
  const timer =
    killAfter === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfter * 1000);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => {
      clearTimeout(timer);
      resolve((performance.now() - begun) / 1000);
    });
  });
}

function folder(name: string): string {
  const directory = path.join(root, name);
  mkdirSync(directory);
  copyFileSync(path.join(quickstart, 'quickstart.yaml'), path.join(directory, 'quickstart.yaml'));
  return directory;
}

/** Results to compare: weights, metrics of both stages and roles, and the train step that used each experience. */
function record(directory: string) {
  const job = path.join(directory, 'runs/Trinity-RFT/quickstart');
  const grpo = path.join(job, 'grpo');
  const lines = ['warmup', 'grpo'].map((stage) =>
    Object.groupBy(metricLines(path.join(job, stage)), ({ role }) => role),
  );
  return {
    digest: weightsDigest(grpo),
    lines,
    rows: usedRows(path.join(grpo, 'buffer/experience_buffer.db')),
  };
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const whole = folder('whole');
const seconds = await start(whole);
const expected = record(whole);
const trained = new Set(expected.rows.map(({ uid }) => uid));
say(
  `undisturbed: ${seconds.toFixed(1)} s, sha256 ${expected.digest}, ${expected.rows.length} experiences, ${trained.size} different`,
);
say(
  '| killed after | second start | weights | metrics | experiences |\n| --- | --- | --- | --- | --- |',
);
for (let i = 0; i < moments; i++) {
  const directory = folder(`moment-${i}`);
  const killAfter = (seconds * (i + 0.5)) / moments;
  await start(directory, killAfter);
  const again = await start(directory);
  const found = record(directory);
  const equal = [
    found.digest === expected.digest,
    isDeepStrictEqual(found.lines, expected.lines),
    isDeepStrictEqual(found.rows, expected.rows),
  ];
  if (equal.includes(false)) process.exitCode = 1;
  say(
    `| ${[`${killAfter.toFixed(1)} s`, `${again.toFixed(1)} s`, ...equal.map((is) => (is ? 'equal' : 'DIFFERENT'))].join(' | ')} |`,
  );
  rmSync(directory, { recursive: true });
}
rmSync(root, { recursive: true });
