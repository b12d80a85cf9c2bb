/** The commands that documents tell people to type, and whether they exist. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { listPackages } from '../workspace.ts';
import { readBlocks } from './blocks.ts';

/** Commands that are built into pnpm and npm. */
const builtInCommands = new Set(['install', 'add', 'exec', 'create', 'ci', 'publish']);

const commandStart = /^(?:pnpm|npm|trinity|node|tools\/(?:dev|trinity))(?: |$)/;

/** The lines of `sh` blocks, and code within sentences that begins like a command. */
export function readCommands(root: string, file: string): readonly string[] {
  const lines = readBlocks(root, file)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.replaceAll('\\\n', ' ').split('\n'));
  const prose = readFileSync(join(root, file), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
  const inline = [...prose.matchAll(/`([^`]+)`/g)]
    .map(([, code = '']) => code.replaceAll('\n', ' '))
    .filter((code) => commandStart.test(code));
  return [...lines, ...inline]
    .map((line) => line.replace(/(?:^|\s)#.*$/, '').trim())
    .filter((line) => line !== '');
}

/** What is wrong with a command; undefined when nothing is, or when it is not one of ours. */
export async function commandFault(root: string, command: string): Promise<string | undefined> {
  const words = command
    .replaceAll(/\[[^\]]*\]/g, '')
    .split(/\s+/)
    .filter((word) => word !== '' && !/^\w+=/.test(word));
  return faultOf(root, words);
}

function faultOf(
  root: string,
  words: readonly string[],
): Promise<string | undefined> | string | undefined {
  const [program, ...args] = words;
  if (program === 'tools/dev') return faultOf(root, args);
  if (program === 'npm' || program === 'pnpm') return scriptFault(root, program, args);
  if (program === 'node')
    return args
      .filter((arg) => /^\.?\.?\/?[\w-]+\/.*\.\w+$/.test(arg))
      .find((path) => !existsSync(join(root, path)));
  return program === 'trinity' || program === 'tools/trinity' ? cliFault(root, args) : undefined;
}

function scriptFault(root: string, program: string, args: readonly string[]): string | undefined {
  const [first = '', second = '', third = ''] = args.filter((arg) => arg !== 'run');
  const [folder, script] = first === '--filter' ? [folderOf(root, second), third] : ['.', first];
  if (folder === undefined) return `there is no package ${second}`;
  if (script === 'exec')
    return existsSync(join(root, 'node_modules/.bin', second))
      ? undefined
      : `there is no program ${second}`;
  const { scripts = {} } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as {
    scripts?: Record<string, string>;
  };
  return script === '' || builtInCommands.has(script) || script in scripts
    ? undefined
    : `${program} has no script ${script}`;
}

const folderOf = (root: string, name: string): string | undefined =>
  listPackages(root).find(({ manifest }) => manifest.name === name)?.path;

/** Follows the subcommands through the help of each. */
async function cliFault(root: string, args: readonly string[]): Promise<string | undefined> {
  let path: readonly string[] = [];
  for (const arg of args) {
    const help = await helpOf(root, path);
    if (arg.startsWith('-')) {
      if (!help.includes(arg)) return `trinity ${path.join(' ')} has no ${arg}`;
      continue;
    }
    const commands = [...(help.split('Commands:')[1] ?? '').matchAll(/^ {2}(\w+)/gm)].map(
      ([, name]) => name,
    );
    if (commands.length === 0) continue;
    if (!commands.includes(arg)) return `trinity ${path.join(' ')} has no command ${arg}`;
    path = [...path, arg];
  }
  return undefined;
}

const helps = new Map<string, Promise<string>>();

function helpOf(root: string, path: readonly string[]): Promise<string> {
  const key = path.join(' ');
  const known = helps.get(key) ?? printHelp(root, path);
  helps.set(key, known);
  return known;
}

async function printHelp(root: string, path: readonly string[]): Promise<string> {
  const flags = [
    '--conditions=@trinity-rft/source',
    '--import',
    join(root, 'tools/register-source.mjs'),
  ];
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...flags,
    join(root, 'apps/runner/src/cli.ts'),
    ...path,
    '--help',
  ]);
  return stdout;
}
