// Everything that must hold besides the tests, one after the other; all run, whichever fails, and
// the end says what to look at.
import { spawnSync } from 'node:child_process';

/**
 * Scripts of the root `package.json`, in this order; `after` names the one whose output a script
 * looks at.
 */
const checks = [
  { name: 'typecheck' },
  { name: 'lint' },
  { name: 'format:check' },
  { name: 'boundaries' },
  { name: 'structure' },
  { name: 'unused' },
  { name: 'docs:api' },
  { name: 'build' },
  { name: 'lint:packages', after: 'build' },
  { name: 'test:install', after: 'build' },
];

type Outcome = 'ok' | 'FAILED' | 'not run';
const outcomes = new Map<string, { readonly outcome: Outcome; readonly seconds: number }>();

for (const { name, after } of checks) {
  if (after !== undefined && outcomes.get(after)?.outcome !== 'ok') {
    outcomes.set(name, { outcome: 'not run', seconds: 0 });
    continue;
  }
  console.log(`\n--- pnpm ${name}`);
  const started = performance.now();
  const { status } = spawnSync('pnpm', ['run', '--silent', name], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  outcomes.set(name, {
    outcome: status === 0 ? 'ok' : 'FAILED',
    seconds: (performance.now() - started) / 1000,
  });
}

console.log('');
for (const [name, { outcome, seconds }] of outcomes) {
  console.log(`${outcome.padEnd(7)} ${seconds.toFixed(1).padStart(6)} s  pnpm ${name}`);
}
process.exitCode = [...outcomes.values()].every(({ outcome }) => outcome === 'ok') ? 0 : 1;
