/** Commands as the user can type them, such as `pnpm exec trinity`. */
import { existsSync } from 'node:fs';
import path from 'node:path';

/** Command prefixes, keyed by the package manager or runtime that started the process. */
const starters: Readonly<Record<string, string>> = {
  npm: 'npx trinity',
  pnpm: 'pnpm exec trinity',
  yarn: 'yarn trinity',
  bun: 'bunx trinity',
  deno: 'deno run -A npm:@trinity-rft/runner/trinity',
};

/**
 * Returns the command that starts Trinity with the same runtime or package manager as this process,
 * such as `pnpm exec trinity`. If neither is known, returns `trinity` if it is on the PATH, and
 * `npx trinity` otherwise. The environment variable `TRINITY_COMMAND` overrides the result.
 */
export function ownCommand(env: Readonly<Record<string, string | undefined>>): string {
  const { TRINITY_COMMAND: given, npm_config_user_agent: agent = '', PATH = '' } = env;
  if (given !== undefined && given !== '') return given;
  if ('Deno' in globalThis) return starters['deno']!;
  if (process.versions['bun'] !== undefined) return starters['bun']!;
  const starter = starters[agent.split('/')[0] ?? ''];
  if (starter !== undefined) return starter;
  const isFound = PATH.split(path.delimiter).some((folder) =>
    ['trinity', 'trinity.cmd'].some((name) => existsSync(path.join(folder, name))),
  );
  return isFound ? 'trinity' : starters['npm']!;
}

const commands =
  'run|eval|export|chat|serve|verify|debug|studio|view|reward|report|log|status|why|doctor|what-if|import|pairs|convert|env|algorithms|config|init|--help';
const mentioned = new RegExp(`(^|["'\`(:] ?|\\n *|[.:] )trinity (?=(?:${commands})\\b)`, 'g');

/**
 * Replaces `trinity` with `command` (see {@link ownCommand}) in the commands that a text mentions.
 */
export const asTyped = (text: string, command: string): string =>
  command === 'trinity' || !text.includes('trinity ')
    ? text
    : text.replaceAll(mentioned, (_, before: string) => `${before}${command} `);

/** Quotes a string as one word of a shell command. */
export const shellText = (text: string): string =>
  /^[\w./:@=+,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
