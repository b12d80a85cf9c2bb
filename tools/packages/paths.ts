/**
 * Shorter installation tests: two steps of a new project, of an existing project, and with a Node that
 * is too old.
 */
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Terminal } from './project.ts';

type Manager = 'npm' | 'pnpm';

/** Shortens the run in the folder to two steps, and trains it with the command. */
export async function trainTwoSteps(
  folder: string,
  terminal: Terminal,
  command: string,
): Promise<string> {
  const file = join(folder, 'train.yaml');
  const text = readFileSync(file, 'utf8').replace(/total_steps: \d+/, 'total_steps: 2');
  writeFileSync(file, text);
  const printed = await terminal.run(command);
  const checkpoint = /^Done after train step 2: (.*)$/m.exec(printed)?.[1] ?? '';
  if (!existsSync(join(checkpoint, 'model.safetensors')))
    throw new Error(`there is no model after two steps:\n${printed}`);
  return 'trained two steps';
}

/** Adds training to an existing project, whose own install script must still run. */
export async function addToProject(
  manager: Manager,
  at: (folder: string) => Terminal,
  folder: string,
): Promise<string> {
  const scripts = { prepare: `node -e "fs.writeFileSync('prepared', '')"` };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'mine', scripts }));
  const add = { npm: 'npm create @trinity-rft -- --add', pnpm: 'pnpm create @trinity-rft --add' };
  const printed = await at(folder).run(add[manager]);
  await install(at(folder), printed);
  if (!existsSync(join(folder, 'prepared')))
    throw new Error('the install script of the project itself did not run');
  const runner = { npm: 'npx', pnpm: 'pnpm exec' }[manager];
  const trinity = join(folder, 'trinity');
  return trainTwoSteps(trinity, at(trinity), `${runner} trinity run train.yaml`);
}

/** Runs the printed command, including a variable before it. */
export async function install(terminal: Terminal, printed: string): Promise<void> {
  const [, variable, value, command] = /^ {2}(?:(\w+)=(\w+) )?(\w+ install)$/m.exec(printed) ?? [];
  if (command === undefined) throw new Error(`it names no command that installs:\n${printed}`);
  await terminal.run(command, variable === undefined ? {} : { [variable]: value });
}

/** Runs the command that a too old Node suggests, exactly as printed. */
export async function pasteFromOldNode(
  terminal: Terminal,
  command: string,
  project: string,
): Promise<string> {
  const printed = await terminal.run(command).then(
    () => '',
    (error: Error) => error.message,
  );
  const pasted = /^ {2}(npx .*)$/m.exec(printed)?.[1];
  if (pasted === undefined) throw new Error(`it names no command to run instead:\n${printed}`);
  await terminal.run(pasted);
  if (!existsSync(join(project, 'train.yaml'))) throw new Error(`"${pasted}" created no project`);
  return 'the command that it prints creates the project';
}

/** Checks that a package contains its built files, whichever packer is used. */
export async function assertPacks(terminal: Terminal, manager: Manager): Promise<void> {
  const pack = { npm: 'npm pack --dry-run', pnpm: 'pnpm pack --dry-run' }[manager];
  for (const command of [pack, 'npx --yes bun pm pack --dry-run']) {
    const printed = await terminal.run(command);
    if (!printed.includes('dist/index.js'))
      throw new Error(`"${command}" packs no dist/index.js:\n${printed}`);
  }
}

/** Tests an example outside of the repository, with only the packed packages and their declarations. */
export async function ownParts(
  example: string,
  at: (folder: string) => Terminal,
  folder: string,
): Promise<string> {
  const project = join(folder, 'own-parts');
  for (const part of ['src', 'test'])
    cpSync(join(example, part), join(project, part), { recursive: true });
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(join(example, 'package.json'), 'utf8'),
  ) as Record<'dependencies' | 'devDependencies', Record<string, string>>;
  const any = Object.keys({ ...dependencies, ...devDependencies }).map((name) => [name, '*']);
  const manifest = { type: 'module', dependencies: Object.fromEntries(any) as object };
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));
  const compilerOptions = {
    noEmit: true,
    strict: true,
    module: 'nodenext',
    target: 'es2024',
    allowImportingTsExtensions: true,
    types: ['node'],
  };
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['src', 'test'] }),
  );
  const terminal = at(project);
  await terminal.run('npm install --ignore-scripts --no-audit --no-fund');
  await terminal.run('npx tsc');
  const printed = await terminal.run('npx vitest run');
  return /Tests .*/.exec(printed)?.[0] ?? 'no test ran';
}
