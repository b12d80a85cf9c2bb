// Installs the packed packages as a stranger would, in an empty folder, with nothing but the package registry in reach, and trains.
// Needs a build.
//
//   pnpm test:install          what CI runs: the oldest Node with npm, the whole path of a stranger; the newest with pnpm
//   pnpm test:install --all    every template with every Node and package manager
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { templates } from '../packages/create/src/templates.ts';
import { openGate, type Gate } from './packages/gate.ts';
import { packAll } from './packages/pack.ts';
import { openTerminal, type Terminal } from './packages/project.ts';
import { openRegistry } from './packages/registry.ts';
import { strangersPath } from './packages/stranger.ts';
import { fetchToolchain, nodeVersions, type NodeVersion } from './packages/toolchains.ts';

interface Case {
  readonly node: NodeVersion;
  readonly manager: 'npm' | 'pnpm';
  readonly template: string;
  /** Goes on to the trained, served and called model. */
  readonly whole?: boolean;
}

const root = join(import.meta.dirname, '..');
const { values: given } = parseArgs({
  options: { all: { type: 'boolean' }, template: { type: 'string' } },
});

const quick: readonly Case[] = [
  { node: '22.13', manager: 'npm', template: 'openai', whole: true },
  { node: '24', manager: 'pnpm', template: 'ai-sdk' },
];

/** npm does not have AgentScope; `tools/templates.test.ts` trains its template with a double. */
const all: readonly Case[] = nodeVersions.flatMap((node) =>
  (['npm', 'pnpm'] as const).flatMap((manager) =>
    templates
      .filter(({ name }) => name !== 'agentscope')
      .map(({ name }) => ({ node, manager, template: name, whole: name === 'openai' })),
  ),
);

const cases = (given.all ? all : quick).filter(
  ({ template }) => given.template === undefined || template === given.template,
);
const work = mkdtempSync(join(tmpdir(), 'trinity-install-'));
const registry = await openRegistry(packAll(root, work));
const gate = await openGate(await configuredRegistry(), work);
let failures = 0;
try {
  for (const one of cases) {
    const title = `${one.template} with Node ${one.node} and ${one.manager}`;
    const started = performance.now();
    try {
      const result = await tryCase(one, registry.url, gate);
      const seconds = ((performance.now() - started) / 1000).toFixed(0);
      console.log(`ok      ${title}: ${result} (${seconds} s)`);
    } catch (error) {
      failures++;
      console.error(`FAILED  ${title}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
} finally {
  await gate.close();
  await registry.close();
  rmSync(work, { recursive: true, force: true });
}
console.log(`${cases.length - failures} of ${cases.length} projects install and train.`);
process.exitCode = failures === 0 && cases.length > 0 ? 0 : 1;

/** Returns what there is to say about it. @throws Error with the output of the command that failed */
async function tryCase(one: Case, url: string, { env, refused }: Gate): Promise<string> {
  const { path } = fetchToolchain(one.node, join(root, 'node_modules/.cache/toolchains'));
  const folder = mkdtempSync(join(work, 'stranger-'));
  const scoped = { ...env, ...scopeAt(url), npm_config_yes: 'true', CI: '1' };
  const project = join(folder, 'my-agent');
  const create = {
    npm: 'npm create @trinity-rft my-agent --',
    pnpm: 'pnpm create @trinity-rft my-agent',
  };
  await openTerminal(folder, path, scoped).run(`${create[one.manager]} --template ${one.template}`);
  const terminal = openTerminal(project, path, scoped);
  await terminal.run(`${one.manager} install`);
  await terminal.run(`${one.manager} run typecheck`);
  const result = one.whole
    ? await strangersPath(project, terminal)
    : await trainTwoSteps(project, terminal, one.manager);
  const hosts = refused();
  if (hosts.length > 0) throw new Error(`it tried to reach ${hosts.join(', ')}`);
  return result;
}

/** Settings of the machine, for npm and for pnpm, by which our packages come from another registry. */
function scopeAt(url: string): Readonly<Record<string, string>> {
  const setting = '@trinity-rft:registry';
  const folder = join(work, 'config');
  mkdirSync(join(folder, 'pnpm'), { recursive: true });
  writeFileSync(join(folder, 'pnpm', 'auth.ini'), `${setting}=${url}\n`);
  return { [`npm_config_${setting}`]: url, XDG_CONFIG_HOME: folder };
}

async function trainTwoSteps(
  project: string,
  terminal: Terminal,
  manager: string,
): Promise<string> {
  const file = join(project, 'train.yaml');
  const text = readFileSync(file, 'utf8').replace(/total_steps: \d+/, 'total_steps: 2');
  writeFileSync(file, text);
  const printed = await terminal.run(`${manager} run train`);
  const checkpoint = /^Done after train step 2: (.*)$/m.exec(printed)?.[1] ?? '';
  if (!existsSync(join(checkpoint, 'model.safetensors')))
    throw new Error(`there is no model after two steps:\n${printed}`);
  return 'trained two steps';
}

/** The one that npm uses on this machine, whatever it is. */
async function configuredRegistry(): Promise<string> {
  const { path } = fetchToolchain('24', join(root, 'node_modules/.cache/toolchains'));
  return (
    await openTerminal(work, path, {}).run('npm config get registry --loglevel=error')
  ).trim();
}
