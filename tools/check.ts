// Runs every check besides the tests, two at a time. All checks run even if some fail; the end lists
// the failures.
import { spawn } from 'node:child_process';

/**
 * Scripts of the root `package.json`, longest first. `after` names the script whose output a check
 * needs.
 */
const checks: readonly Check[] = [
  { name: 'build' },
  { name: 'typecheck' },
  { name: 'test:install', after: 'build' },
  { name: 'lint' },
  { name: 'docs:api' },
  { name: 'lint:packages', after: 'build' },
  { name: 'unused' },
  { name: 'structure' },
  { name: 'boundaries' },
  { name: 'format:check' },
];

interface Check {
  readonly name: string;
  readonly after?: string;
}

type Outcome = 'ok' | 'FAILED' | 'not run';
const outcomes = new Map<string, { readonly outcome: Outcome; readonly seconds: number }>();
const waiting = [...checks];

await Promise.all([work(), work()]);
console.log('');
for (const { name } of checks) {
  const { outcome, seconds } = outcomes.get(name) ?? { outcome: 'not run', seconds: 0 };
  console.log(`${outcome.padEnd(7)} ${seconds.toFixed(1).padStart(6)} s  pnpm ${name}`);
}
process.exitCode = checks.every(({ name }) => outcomes.get(name)?.outcome === 'ok') ? 0 : 1;

/** Runs checks until none is left. Skips checks that need a failed one. */
async function work(): Promise<void> {
  for (;;) {
    const next = waiting.findIndex(
      ({ after }) => after === undefined || outcomes.get(after)?.outcome === 'ok',
    );
    const [check] = next === -1 ? [] : waiting.splice(next, 1);
    if (check === undefined) return;
    const started = performance.now();
    const { ok, output } = await run(check.name);
    const seconds = (performance.now() - started) / 1000;
    outcomes.set(check.name, { outcome: ok ? 'ok' : 'FAILED', seconds });
    console.log(`\n--- pnpm ${check.name}\n${output.trimEnd()}`);
  }
}

function run(name: string): Promise<{ readonly ok: boolean; readonly output: string }> {
  const child = spawn('pnpm', ['run', '--silent', name], {
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (code) => resolve({ ok: code === 0, output }));
  });
}
