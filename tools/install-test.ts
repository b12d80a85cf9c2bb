// Installs the packed packages as a new user would, in an empty folder with access to the package
// registry only, and trains. Needs a build.
//
//   pnpm test:install          as in CI: the oldest Node with npm, all steps; the newest with pnpm
//   pnpm test:install --all    every template with every Node and package manager
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { templates } from '../apps/create/src/templates.ts';
import { openGate, type Gate } from './packages/gate.ts';
import { packAll } from './packages/pack.ts';
import { openTerminal, type Terminal } from './packages/project.ts';
import { openRegistry } from './packages/registry.ts';
import {
  addToProject,
  assertPacks,
  install,
  ownParts,
  pasteFromOldNode,
  trainTwoSteps,
} from './packages/paths.ts';
import { followReadme } from './packages/follow-readme.ts';
import {
  fetchToolchain,
  nodeVersions,
  oldNodeVersions,
  type NodeVersion,
} from './packages/toolchains.ts';

interface Case {
  readonly node: NodeVersion;
  readonly manager: 'npm' | 'pnpm';
  readonly template: string;
  /**
   * Path of the test. `whole`: from installation to the trained, served and called model. `add`: adds to an existing
   * project. `old`: uses the command that a too old Node prints. `seams`: uses the user's own parts, outside of the
   * repository.
   */
  readonly path?: 'whole' | 'add' | 'old' | 'seams';
}

const root = join(import.meta.dirname, '..');
const { values: given } = parseArgs({
  options: { all: { type: 'boolean' }, template: { type: 'string' }, path: { type: 'string' } },
});

const quick: readonly Case[] = [
  { node: '22.13', manager: 'npm', template: 'openai', path: 'whole' },
  { node: '24', manager: 'pnpm', template: 'ai-sdk' },
  { node: '22.13', manager: 'npm', template: 'openai', path: 'add' },
  { node: '22.13', manager: 'npm', template: 'workflow-package' },
  { node: '20', manager: 'npm', template: 'openai', path: 'old' },
  { node: '24', manager: 'npm', template: 'own-parts', path: 'seams' },
];

/**
 * All cases. AgentScope is missing, because npm does not have it; `tools/templates.test.ts` trains its template with a
 * double.
 */
const all: readonly Case[] = [
  ...oldNodeVersions.map((node): Case => ({
    node,
    manager: 'npm',
    template: 'openai',
    path: 'old',
  })),
  ...nodeVersions.flatMap((node) =>
    (['npm', 'pnpm'] as const).flatMap((manager): readonly Case[] => [
      { node, manager, template: 'openai', path: 'add' },
      ...templates
        .filter(({ name }) => name !== 'agentscope')
        .map(({ name }): Case => ({
          node,
          manager,
          template: name,
          path: name === 'openai' ? 'whole' : undefined,
        })),
    ]),
  ),
];

const cases = (given.all ? all : quick).filter(
  ({ template, path }) =>
    (given.template === undefined || template === given.template) &&
    (given.path === undefined || path === given.path),
);
const work = mkdtempSync(join(tmpdir(), 'trinity-install-'));
const registry = await openRegistry(packAll(root, work));
const gate = await openGate(await npmSetting('registry'), work);
let failures = 0;
await forgetCreate();
try {
  for (const one of cases) {
    const { template, node, manager, path } = one;
    const title = `${template} with Node ${node} and ${manager}${path ? `, ${path}` : ''}`;
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

/**
 * Runs one case and returns notes about it. @throws Error with the output of the command that failed
 */
async function tryCase(one: Case, url: string, { env, refused }: Gate): Promise<string> {
  const { path } = fetchToolchain(one.node, join(root, 'node_modules/.cache/toolchains'));
  const folder = mkdtempSync(join(work, 'new-project-'));
  const scoped = { ...env, ...scopeAt(url), npm_config_yes: 'true', CI: '1' };
  const project = join(folder, 'my-agent');
  const at = (cwd: string): Terminal => openTerminal(cwd, path, scoped);
  if (one.path === 'seams') return ownParts(join(root, 'examples', one.template), at, folder);
  if (one.path === 'add') return addToProject(one.manager, at, folder);
  const create = {
    npm: 'npm create @trinity-rft my-agent --',
    pnpm: 'pnpm create @trinity-rft my-agent',
  };
  const command = `${create[one.manager]} --template ${one.template}`;
  if (one.path === 'old') return pasteFromOldNode(at(folder), command, project);
  const printed = await at(folder).run(command);
  const terminal = at(project);
  await install(terminal, printed);
  await terminal.run(`${one.manager} run typecheck`);
  const result =
    one.path === 'whole'
      ? await followReadme(project, terminal)
      : await trainTwoSteps(project, terminal, `${one.manager} run train`);
  if (one.template.endsWith('-package')) await assertPacks(terminal, one.manager);
  const hosts = refused();
  if (hosts.length > 0) throw new Error(`it tried to reach ${hosts.join(', ')}`);
  return result;
}

/** Settings with which npm and pnpm take our packages from another registry. */
function scopeAt(url: string): Readonly<Record<string, string>> {
  const setting = '@trinity-rft:registry';
  const folder = join(work, 'config');
  mkdirSync(join(folder, 'pnpm'), { recursive: true });
  writeFileSync(join(folder, 'pnpm', 'auth.ini'), `${setting}=${url}\n`);
  return { [`npm_config_${setting}`]: url, XDG_CONFIG_HOME: folder };
}

/**
 * Removes our packages from the folders of npx, which keeps packages whose version has not changed:
 * those of an earlier run of this test.
 */
async function forgetCreate(): Promise<void> {
  const folder = join(await npmSetting('cache'), '_npx');
  const kept = existsSync(folder) ? readdirSync(folder) : [];
  for (const name of kept)
    if (existsSync(join(folder, name, 'node_modules', '@trinity-rft')))
      rmSync(join(folder, name), { recursive: true, force: true });
}

/** Setting of npm on this machine. */
async function npmSetting(name: string): Promise<string> {
  const { path } = fetchToolchain('24', join(root, 'node_modules/.cache/toolchains'));
  const command = `npm config get ${name} --loglevel=error`;
  return (await openTerminal(work, path, {}).run(command)).trim();
}
