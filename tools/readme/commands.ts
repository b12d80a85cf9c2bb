/** Reads commands from documents, and checks that they exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProgram, dashed } from '../../apps/runner/src/program.ts';
import { listPackages } from '../workspace.ts';
import { readBlocks } from './blocks.ts';

/** Commands that are built into pnpm and npm. */
const builtInCommands = new Set(['install', 'add', 'exec', 'create', 'ci', 'pack', 'publish']);

const commandStart = /^(?:pnpm|npm|npx|trinity|node|tools\/(?:dev|trinity))(?: |$)/;

export interface DocumentedCommand {
  readonly text: string;
  /** False within a sentence, where arguments may be omitted. */
  readonly isWhole: boolean;
}

/** Reads commands from the lines of `sh` blocks, and from inline code that begins like a command. */
export function readCommands(root: string, file: string): readonly DocumentedCommand[] {
  const lines = readBlocks(root, file)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.replaceAll('\\\n', ' ').split('\n'));
  const prose = readFileSync(join(root, file), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
  const inline = [...prose.matchAll(/`([^`]+)`/g)]
    .map(([, code = '']) => code.replaceAll('\n', ' '))
    .filter((code) => commandStart.test(code));
  const all = [
    ...lines.map((text) => ({ text, isWhole: true })),
    ...inline.map((text) => ({ text, isWhole: false })),
  ];
  return all
    .map(({ text, isWhole }) => ({ text: text.replace(/(?:^|\s)#.*$/, '').trim(), isWhole }))
    .filter(({ text }) => text !== '');
}

/** Problem of a command; undefined if it has none, or is not one of our commands. */
export async function commandFault(
  root: string,
  { text, isWhole }: DocumentedCommand,
): Promise<string | undefined> {
  const words = text
    .replaceAll(/\[[^\]]*\]/g, '')
    // Removes variables before the command.
    .replace(/^(?:\w+=\S*\s+)+/, '')
    .split(/\s+/)
    .filter((word) => word !== '');
  return faultOf(root, { words, isWhole });
}

/** A command and its arguments. */
interface Command {
  readonly words: readonly string[];
  readonly isWhole: boolean;
}

function faultOf(
  root: string,
  { words, isWhole }: Command,
): Promise<string | undefined> | string | undefined {
  const [program = '', ...args] = words;
  if (program === 'tools/dev' || (program === 'npx' && args[0] === 'trinity'))
    return faultOf(root, { words: args, isWhole });
  if (program === 'npm' || program === 'pnpm') return scriptFault(root, program, args);
  if (program === 'node')
    return args
      .filter((arg) => /^\.?\.?\/?[\w-]+\/.*\.\w+$/.test(arg))
      .find((path) => !existsSync(join(root, path)));
  return program === 'trinity' || program === 'tools/trinity'
    ? cliFault({ words: args, isWhole })
    : undefined;
}

function scriptFault(root: string, program: string, args: readonly string[]): string | undefined {
  const [first = '', second = '', third = ''] = args.filter((arg) => arg !== 'run');
  const [folder, script] = first === '--filter' ? [folderOf(root, second), third] : ['.', first];
  if (folder === undefined) return `there is no package ${second}`;
  if (script === 'exec')
    return existsSync(join(root, 'node_modules/.bin', second))
      ? undefined
      : `there is no program ${second}`;
  const isKnown =
    script === '' ||
    builtInCommands.has(script) ||
    script in scriptsOf(join(root, folder, 'package.json')) ||
    // Accepts scripts of a new project, because a page may show them.
    (folder === '.' && isTemplateScript(root, script));
  return isKnown ? undefined : `${program} has no script ${script}`;
}

function scriptsOf(manifest: string): Readonly<Record<string, string>> {
  const { scripts = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as {
    scripts?: Record<string, string>;
  };
  return scripts;
}

function isTemplateScript(root: string, script: string): boolean {
  const templates = join(root, 'apps/create/templates');
  return readdirSync(templates)
    .map((name) => join(templates, name, 'manifest.json'))
    .some((manifest) => existsSync(manifest) && script in scriptsOf(manifest));
}

const folderOf = (root: string, name: string): string | undefined =>
  listPackages(root).find(({ manifest }) => manifest.name === name)?.path;

/** Parses the arguments with the real command line, without running the command. */
async function cliFault({ words, isWhole }: Command): Promise<string | undefined> {
  let printed = '';
  const program = createProgram(
    { out: () => undefined, err: (text) => (printed += text) },
    () => async () => undefined,
  );
  const args = words.slice(
    0,
    firstIndex(words, (word) => /^[|>&]/.test(word)),
  );
  try {
    await program.parseAsync(args.map(dashed), { from: 'user' });
    return undefined;
  } catch (error) {
    const { code, exitCode } = error as { readonly code?: string; readonly exitCode?: number };
    const isMention =
      !isWhole && (code === 'commander.missingArgument' || code === 'commander.help');
    return exitCode === 0 || isMention ? undefined : printed;
  }
}

function firstIndex<Item>(items: readonly Item[], is: (item: Item) => boolean): number {
  const index = items.findIndex(is);
  return index === -1 ? items.length : index;
}
