// Everything that must hold besides the tests, one after the other; all run, whichever fails, and the end says what to look at.
import { spawnSync } from 'node:child_process';

/** Scripts of the root `package.json`. `build` comes before the checks of what is published. */
const checks = ['typecheck', 'lint', 'format:check', 'boundaries', 'structure', 'unused', 'build', 'lint:packages'];

const results = checks.map((name) => {
  const started = performance.now();
  console.log(`\n--- pnpm ${name}`);
  const { status } = spawnSync('pnpm', ['run', '--silent', name], { stdio: 'inherit', shell: process.platform === 'win32' });
  return { name, passed: status === 0, seconds: (performance.now() - started) / 1000 };
});

console.log('');
for (const { name, passed, seconds } of results) {
  console.log(`${passed ? 'ok    ' : 'FAILED'}  ${seconds.toFixed(1).padStart(5)} s  pnpm ${name}`);
}
process.exitCode = results.every(({ passed }) => passed) ? 0 : 1;
