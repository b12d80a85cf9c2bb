// Makes `npm start` and `npm test` work from a bare clone, with any Node from 18 on and nothing
// else but npm: fetches the pinned Node and pnpm from the npm registry where the machine lacks
// them, installs, builds, and runs the task. Plain JavaScript without dependencies, because it runs
// before anything is installed.
//
//   node tools/bootstrap.mjs start           install, build, run the quickstart example
//   node tools/bootstrap.mjs test            install, check, run the tests
//   node tools/bootstrap.mjs exec COMMAND    run a command with the pinned Node and pnpm on PATH (tools/dev)
//   node tools/bootstrap.mjs trinity ...     the trinity command from the sources (tools/trinity, npx trinity)
//   node tools/bootstrap.mjs link            lets npx trinity find it (start and test do so as well)
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const cacheFolder = join(root, 'node_modules', '.cache');
const windows = process.platform === 'win32';
const pins = readPins();

const tasks = { start, test, exec, trinity, link, where };

const [name = '', ...args] = process.argv.slice(2);
const task = Object.hasOwn(tasks, name) ? tasks[name] : undefined;
if (task === undefined) {
  console.error(`usage: node tools/bootstrap.mjs ${Object.keys(tasks).join(' | ')}`);
  process.exitCode = 2;
} else {
  process.exitCode = await task(args).catch((error) => {
    console.error(error.message);
    return 1;
  });
}

/** Installs, builds and runs the quickstart example. */
async function start() {
  const env = toolchain();
  return (
    (await install(env)) || //
    (await run('Building', 'pnpm', ['build'], env)) ||
    (await run(
      'Starting the quickstart',
      'pnpm',
      ['--filter', '@trinity-rft/example-quickstart', 'start'],
      env,
    ))
  );
}

/**
 * Installs, runs all checks and tests even if some fail, and ends with the summary line that CI reads.
 */
async function test() {
  const env = toolchain();
  const installed = await install(env);
  if (installed !== 0) return installed;
  const checked = await run('Checking', 'pnpm', ['check'], env);
  const report = join(cacheFolder, 'test-report.json');
  rmSync(report, { force: true });
  const vitest = [
    'exec',
    'vitest',
    'run',
    '--tags-filter=!external',
    '--reporter=default',
    '--reporter=json',
    '--reporter=./tools/stuck-tests.ts',
    `--outputFile.json=${report}`,
  ];
  const tested = await run('Testing', 'pnpm', vitest, env);
  const counts = readCounts(report);
  if (checked !== 0)
    console.log(`\nThe checks failed (see "Checking" above), whatever the tests say.`);
  if (counts === undefined) {
    console.log('\nThe test runner ended without a report.');
    return tested || 1;
  }
  for (const line of counts.skippedTests) console.log(`skipped: ${line}`);
  for (const line of counts.failedTests) console.log(`failed: ${line}`);
  console.log(
    `\n${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}`,
  );
  return tested || checked || (counts.failed > 0 || counts.passed === 0 ? 1 : 0);
}

/** Runs one command with the pinned tools on PATH. */
async function exec([command, ...rest]) {
  if (command === undefined) {
    console.error('usage: tools/dev COMMAND [ARGUMENT...]');
    return 2;
  }
  return run(undefined, command, rest, toolchain());
}

/** Runs the trinity command from the sources, without a build, in the folder from which it was called. */
async function trinity(args) {
  const env = toolchain({ pnpm: false });
  const sources = [
    '--conditions=@trinity-rft/source',
    `--import=${pathToFileURL(join(root, 'tools', 'register-source.mjs')).href}`,
    join(root, 'apps', 'runner', 'src', 'cli.ts'),
  ];
  return run(undefined, 'node', [...sources, ...args], env);
}

/** Lets `npx trinity` find the command anywhere in the clone, instead of asking the registry. */
async function link() {
  const programs = join(root, 'node_modules', '.bin');
  mkdirSync(programs, { recursive: true });
  const script = '/../../tools/bootstrap.mjs';
  writeFileSync(
    join(programs, 'trinity'),
    `#!/bin/sh\nexec node "$(dirname "$0")${script}" trinity "$@"\n`,
  );
  chmodSync(join(programs, 'trinity'), 0o755);
  if (windows)
    writeFileSync(
      join(programs, 'trinity.cmd'),
      `@node "%~dp0${script.replaceAll('/', '\\')}" trinity %*\r\n`,
    );
  return 0;
}

/** Prints the folder into which npx has put the tools. Runs inside npx. */
async function where() {
  const program = windows ? 'pnpm.cmd' : 'pnpm';
  console.log(
    process.env.PATH.split(delimiter).find((folder) => existsSync(join(folder, program))),
  );
  return 0;
}

async function install(env) {
  const pnpm = ['install', '--frozen-lockfile'];
  return (await run('Installing the dependencies', 'pnpm', pnpm, env)) || link();
}

/**
 * Versions with which this repository is developed, from `.node-version` and `packageManager`, which other tools read
 * too.
 */
function readPins() {
  const node = readFileSync(join(root, '.node-version'), 'utf8').trim();
  const pnpm = /^pnpm@([^+]+)/.exec(
    JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).packageManager,
  )[1];
  return { node, pnpm };
}

/**
 * Environment variables for commands: those of this process, with the pinned tools first in PATH if the versions of
 * this process do not fit.
 */
function toolchain({ pnpm } = { pnpm: true }) {
  // A system's Node trusts the system's certificates, for example that of a company's proxy; npm's Node
  // needs an option for this.
  const env = {
    NODE_USE_SYSTEM_CA: '1',
    ...process.env,
    TURBO_TELEMETRY_DISABLED: '1',
    DO_NOT_TRACK: '1',
    ORT_DISABLE_TELEMETRY: '1',
  };
  if (nodeFits(process.versions.node) && (!pnpm || pnpmVersion(env) === pins.pnpm)) return env;
  return { ...env, PATH: fetchTools() + delimiter + env.PATH };
}

/** True for the Node versions that the development tools support; tsup has the narrowest range. */
function nodeFits(version) {
  const [major, minor] = version.split('.').map(Number);
  return (major === 22 && minor >= 18) || (major === 24 && minor >= 11) || major >= 26;
}

function pnpmVersion(env) {
  // Runs outside of the repository, because inside another pnpm would try to become the pinned version.
  const { stdout } = spawnSync('pnpm', ['--version'], {
    cwd: dirname(process.execPath),
    env,
    encoding: 'utf8',
    shell: windows,
  });
  return stdout?.trim();
}

/** Makes npm fetch the pinned Node and pnpm once, and returns the folder of their programs. */
function fetchTools() {
  const packages = [`node@${pins.node}`, `pnpm@${pins.pnpm}`];
  const memory = join(cacheFolder, 'toolchain.json');
  const known = readJson(memory);
  if (known?.packages?.join() === packages.join() && existsSync(join(known.folder, 'pnpm')))
    return known.folder;

  console.error(
    `> This is Node ${process.versions.node}; fetching ${packages.join(' and ')} with npm (once)`,
  );
  const npx = [
    '--yes',
    '--loglevel=error',
    ...packages.flatMap((spec) => ['-p', spec]),
    '-c',
    '"node tools/bootstrap.mjs where"',
  ];
  if (!windows) npx[npx.length - 1] = npx[npx.length - 1].slice(1, -1);
  const { status, stdout, error } = spawnSync('npx', npx, {
    cwd: root,
    encoding: 'utf8',
    shell: windows,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const folder = stdout?.trim().split('\n').at(-1);
  if (status !== 0 || !folder) {
    throw new Error(
      `npm could not fetch ${packages.join(' and ')}${error ? ` (${error.message})` : ''}. ` +
        `Install Node ${pins.node} and pnpm ${pins.pnpm} yourself, then run this again.`,
    );
  }
  const node = spawnSync(join(folder, 'node'), ['--version'], {
    encoding: 'utf8',
    shell: windows,
  }).stdout?.trim();
  if (node !== `v${pins.node}`) {
    throw new Error(
      `npm fetched node@${pins.node}, but its program says ${node ?? 'nothing'}: did npm skip its install script? ` +
        `Install Node ${pins.node} yourself, then run this again.`,
    );
  }
  mkdirSync(cacheFolder, { recursive: true });
  const draft = `${memory}.${process.pid}`;
  writeFileSync(draft, JSON.stringify({ packages, folder }));
  renameSync(draft, memory);
  return folder;
}

/**
 * Runs a command in the foreground and returns its exit code; a signal to this process reaches the
 * command.
 */
function run(title, command, commandArgs, env) {
  if (title !== undefined) say(`${title}: ${[command, ...commandArgs].join(' ')}`);
  const started = Date.now();
  return new Promise((resolve) => {
    const cwd = title === undefined ? process.cwd() : root;
    const child = spawn(command, commandArgs, { cwd, env, shell: windows, stdio: 'inherit' });
    const forward = (signal) => {
      // Ctrl-C in a terminal goes to the whole process group, so the command has already received it.
      if (signal === 'SIGINT' && process.stdin.isTTY) return;
      // pnpm forwards SIGTERM to its command, but not SIGINT.
      child.kill(signal === 'SIGINT' && command === 'pnpm' ? 'SIGTERM' : signal);
    };
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, forward);
    const finish = (code) => {
      for (const signal of signals) process.off(signal, forward);
      if (title !== undefined)
        say(
          `${title} ${code === 0 ? 'took' : 'failed after'} ${((Date.now() - started) / 1000).toFixed(1)} s`,
        );
      resolve(code);
    };
    child.on('error', (error) => {
      console.error(`Cannot run ${command}: ${error.message}`);
      finish(127);
    });
    child.on('exit', (code, signal) => finish(code ?? 128 + constants.signals[signal]));
  });
}

/** Counts of Vitest's JSON report. A file that could not be loaded counts as one failed test. */
function readCounts(file) {
  const report = readJson(file);
  if (report === undefined) return undefined;
  const broken = report.testResults.filter(
    (result) =>
      result.status === 'failed' &&
      !result.assertionResults.some((assertion) => assertion.status === 'failed'),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + broken.length,
    skipped: report.numPendingTests + report.numTodoTests,
    skippedTests: report.testResults.flatMap(skippedIn),
    failedTests: report.testResults.flatMap(failedIn),
  };
}

/**
 * Names of skipped tests as `packages/x/test/y.test.ts: name of the test`. Tests of a file that was
 * skipped as a whole are only counted.
 */
function skippedIn({ name, assertionResults }) {
  const skipped = assertionResults.filter(({ status }) => !['passed', 'failed'].includes(status));
  const isExternal = ({ tags = [] }) => tags.includes('external');
  const file = relative(root, name);
  const lines = skipped.filter((test) => !isExternal(test)).map(lineOf(file));
  const external = skipped.filter(isExternal).length;
  if (external > 0) lines.push(`${file}: ${external} (external: run it by its file)`);
  return lines;
}

/** Describes failed tests, one line per test or per file that could not be loaded. */
function failedIn({ name, status, assertionResults }) {
  const file = relative(root, name);
  const failed = assertionResults.filter((test) => test.status === 'failed');
  return status === 'failed' && failed.length === 0 ? [file] : failed.map(lineOf(file));
}

function lineOf(file) {
  return ({ fullName }) => `${file}: ${fullName}`;
}

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

function say(text) {
  console.log(`\n> ${text}`);
}
