/**
 * `pnpm bench faults [KIND]`: damages every kind of file of a stopped run, resumes the run, and reports
 * whether the damage was refused, made no difference, or went unnoticed. Also kills the run at several
 * moments. Flips bits of served calls, late rewards, a checkpoint that is used as a model, and the task
 * and model files that a resumed run reads again. Exits with 1 if a fault went unnoticed or ended
 * without a named error.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { dataFaults, faultsOf, mergeLog } from './faults/damage.ts';
import { judge, resultOf, type Judgement, type Verdict } from './faults/judge.ts';
import { writeDigitsData } from './digits/run.ts';
import { flipBits, storedFiles } from './faults/stored.ts';
import { jobOf, totalSteps, train } from './faults/workspace.ts';

const fromSources = [
  '--conditions=@trinity-rft/source',
  `--import=${new URL('../tools/register-source.mjs', import.meta.url).href}`,
];
const wanted = process.argv[2] ?? '';
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const root = mkdtempSync(path.join(tmpdir(), 'trinity-faults-'));
const failed: readonly Verdict[] = ['NO NAMED ERROR', 'SILENTLY DIFFERENT'];
const counts = new Map<string, Map<Verdict, number>>();

function count(kind: string, what: string, { verdict, detail }: Judgement): void {
  const ofKind = counts.get(kind) ?? new Map<Verdict, number>();
  counts.set(kind, ofKind.set(verdict, (ofKind.get(verdict) ?? 0) + 1));
  say(`${verdict}: ${kind}, ${what}${detail === '' ? '' : ` (${detail.replaceAll(root, '')})`}`);
  if (failed.includes(verdict)) process.exitCode = 1;
}

/** Starts the run in `folder`, in a process that is killed when it has printed `text`. */
function killAt(folder: string, text: string): Promise<void> {
  const script = path.join(import.meta.dirname, 'faults/killed.ts');
  const child = spawn(process.execPath, [...fromSources, script, folder, text], {
    stdio: 'ignore',
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  });
}

try {
  await writeDigitsData(root);
  const whole = path.join(root, 'whole');
  await train(whole);
  const expected = resultOf(whole);
  const newest = path.join(jobOf(whole), `global_step_${totalSteps}`);
  for (const stored of await storedFiles(root, newest, wanted))
    for await (const { what, judgement } of flipBits(stored, 100))
      count(stored.kind, what, judgement);
  for (let step = 1; step <= totalSteps; step++) {
    if (!'killed'.includes(wanted)) break;
    const folder = path.join(root, `killed-${step}`);
    await killAt(folder, `step ${step}/`);
    await train(folder);
    const isEqual = isDeepStrictEqual(resultOf(folder), expected);
    const verdict = isEqual ? 'equal' : 'SILENTLY DIFFERENT';
    count('killed', `when train step ${step} is recorded`, { verdict, detail: '' });
  }
  const killed = path.join(root, 'stopped');
  await killAt(killed, 'step 5/');
  // Merges the write-ahead log first: after a kill, most experiences are still in the log.
  const closed = path.join(root, 'merged');
  cpSync(killed, closed, { recursive: true });
  mergeLog(jobOf(closed));
  const cases = [
    ...faultsOf(jobOf(closed))
      .filter(({ kind }) => kind === 'experience database')
      .map((fault) => [closed, fault] as const),
    ...faultsOf(jobOf(killed)).map((fault) => [killed, fault] as const),
  ];
  for (const [folder, fault] of cases) {
    if (!fault.kind.includes(wanted)) continue;
    count(fault.kind, fault.what, await judge(folder, fault, expected));
  }
  if ('file read again'.includes(wanted))
    for await (const fault of dataFaults(root, 20))
      count(fault.kind, fault.what, await judge(killed, fault, expected));
  const verdicts: readonly Verdict[] = ['refused', 'equal', 'record only', ...failed];
  say(`\n| file | ${verdicts.join(' | ')} |\n| --- | ${verdicts.map(() => '---').join(' | ')} |`);
  for (const [kind, ofKind] of counts)
    say(`| ${kind} | ${verdicts.map((verdict) => ofKind.get(verdict) ?? 0).join(' | ')} |`);
} finally {
  rmSync(root, { recursive: true, force: true });
}
