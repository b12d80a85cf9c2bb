/** Command line of `npm create @trinity-rft [FOLDER] [--template NAME] [--add]`. */
import { createInterface } from 'node:readline/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ConfigError, describeError } from '@trinity-rft/core';
import { alignColumns } from '@trinity-rft/core/support';
import { addToProject } from './add-to-project.js';
import { createProject } from './create-project.js';
import { templates } from './templates.js';

const listed = alignColumns(
  templates.map(({ name, description }) => [name, description]),
  '  ',
);

const usage = `npm create @trinity-rft [FOLDER] -- [--template NAME] [--add]

Creates a project that trains an agent. With --add, adds what training needs to the project in the working
directory: dependencies, settings, and FOLDER (trinity) with a first run. The templates:
${listed.join('\n')}
`;

/**
 * Runs the command line. Resolves with the exit code (0 success, 1 failure, 2 wrong arguments, 130
 * interrupted), and never rejects.
 */
export async function main(args: readonly string[]): Promise<number> {
  try {
    const { help, add, ...given } = readArguments(args);
    if (help) {
      process.stdout.write(usage);
      return 0;
    }
    if (add) {
      const { template, files, kept, next } = await addToProject(given);
      const folder = path.resolve(given.folder ?? 'trinity') + path.sep;
      const changed = files.filter((file) => !path.resolve(file).startsWith(folder));
      const notes = kept.map((line) => `Kept: ${line}.\n`).join('');
      process.stdout.write(
        `Added the template ${template} (${files.length} files, changed ${changed.join(', ')}).\n${notes}Next:\n\n${linesOf(next)}\n`,
      );
      return 0;
    }
    const answers = await askForMissing(given);
    if (answers === undefined) return 130;
    const { template, folder, next } = await createProject(answers);
    process.stdout.write(
      `Created ${folder} from the template ${template}. Next:\n\n${linesOf(next)}\n`,
    );
    return 0;
  } catch (error) {
    const expected = error instanceof ConfigError;
    process.stderr.write(`${expected ? error.message : describeError(error)}\n`);
    return expected ? 2 : 1;
  }
}

const linesOf = (commands: readonly string[]): string =>
  commands.map((line) => `  ${line}\n`).join('');

interface Answers {
  readonly folder: string | undefined;
  readonly template: string | undefined;
}

function readArguments(
  args: readonly string[],
): Answers & { readonly help: boolean; readonly add: boolean } {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        template: { type: 'string', short: 't' },
        help: { type: 'boolean', short: 'h' },
        add: { type: 'boolean' },
      },
    });
    if (positionals.length > 1)
      throw new ConfigError(`There is one folder at most; ${positionals.join(' ')} are several.`);
    const { template, help = false, add = false } = values;
    return { folder: positionals[0], template, help, add };
  } catch (error) {
    throw new ConfigError(`${describeError(error)}\n\n${usage}`, { cause: error });
  }
}

/**
 * Asks for missing arguments if the command runs in a terminal; otherwise, uses the defaults.
 * Returns undefined if the user ends the input, for example with Ctrl-C.
 */
async function askForMissing({
  folder,
  template,
}: Answers): Promise<{ readonly folder: string; readonly template: string } | undefined> {
  const defaults = { folder: 'my-agent', template: templates[0]?.name ?? '' };
  if (!process.stdin.isTTY || !process.stdout.isTTY || (folder && template))
    return { folder: folder ?? defaults.folder, template: template ?? defaults.template };
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const closed = new AbortController();
  terminal.once('close', () => closed.abort());
  const { signal } = closed;
  const ask = async (question: string, fallback: string): Promise<string> =>
    (await terminal.question(`${question} (${fallback}): `, { signal })).trim() || fallback;
  try {
    if (template === undefined) process.stdout.write(usage.slice(usage.indexOf('The templates:')));
    return {
      folder: folder ?? (await ask('Folder', defaults.folder)),
      template: template ?? (await ask('Template', defaults.template)),
    };
  } catch (error) {
    if (!signal.aborted) throw error;
    process.stdout.write('\n');
    return undefined;
  } finally {
    terminal.close();
  }
}
