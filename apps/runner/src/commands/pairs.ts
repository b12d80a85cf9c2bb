/**
 * `trinity pairs`: writes stored responses for people to compare, and DPO rows from their choices.
 */
import { readFile, stat } from 'node:fs/promises';
import { redactText } from '@trinity-rft/core/support';
import type { Command } from 'commander';
import { jsonText, type AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { writeOutput } from '../shared/output-file.js';
import { invalid, refuseUnused } from '../shared/arguments.js';

interface PairsArguments {
  readonly output: string;
  readonly tasks?: string;
  readonly promptKey: string;
  readonly labelStudio?: boolean;
  readonly table: string;
}

export const addPairs: AddCommand = (program, { exitWith, write }) =>
  void program
    .command('pairs <from>')
    .description(
      'write two stored answers per task for a person to compare; then rows for dpo from the choices',
    )
    .requiredOption(
      '--output <file>',
      'new file to write; pairs also into a database: sqlite:///file.db or postgresql://...',
    )
    .option('--tasks <file>', 'the task set that was explored; <from> is the database of the run')
    .option('--prompt-key <name>', 'column of the prompt in the task set', 'prompt')
    .option('--table <name>', 'of a database: its column preferred holds the choices', 'pairs')
    .option('--label-studio', 'write a JSON list that Label Studio imports')
    .addHelpText(
      'after',
      '\nWithout --tasks, <from> is the file with the choices: the lines that this command wrote, with\n"preferred" set to 1 or 2, the JSON export of Label Studio,\nor the database with the choices.',
    )
    .action(
      exitWith(async (from: string, given: PairsArguments, command: Command) => {
        const { isDatabase } = await import('@trinity-rft/buffer/pairs');
        if (given.tasks === undefined)
          refuseUnused(command, 'without --tasks', '--prompt-key', '--label-studio');
        const [place, holder] =
          given.tasks === undefined ? ['<from>', from] : ['--output', given.output];
        if (!isDatabase(holder))
          refuseUnused(
            command,
            `without a database (sqlite:///file.db or postgresql://...) as ${place}, which is ${redactText(holder)}`,
            '--table',
          );
        const output = isDatabase(given.output)
          ? undefined
          : await stat(given.output).catch(() => undefined);
        if (output?.isFile() && output.size > 0)
          throw invalid(
            `--output is "${given.output}", which is not empty and may hold choices of people. Name a new file, or delete this one.`,
          );
        const written = await (given.tasks === undefined
          ? writeChosen(from, given)
          : writePairs(from, { ...given, tasks: given.tasks }));
        write(`${redactText(given.output)}: ${written}\n`);
        return exitCodes.done;
      }),
    );

const counted = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? '' : 's'}`;

const lines = (rows: readonly unknown[]): string =>
  rows.map((row) => `${JSON.stringify(row)}\n`).join('');

async function writePairs(
  database: string,
  { tasks, promptKey, labelStudio, output, table }: PairsArguments & { readonly tasks: string },
): Promise<string> {
  const { readExperiences, readTaskRows } = await import('@trinity-rft/buffer');
  const { answerPairs, isDatabase, writePairTable } = await import('@trinity-rft/buffer/pairs');
  if (labelStudio && isDatabase(output))
    throw invalid(
      '--label-studio writes a JSON list, and --output is a database. Name a file, or leave it out.',
    );
  const rows = await readTaskRows({ name: 'tasks', path: tasks });
  const reader = readExperiences(database);
  try {
    const pairs = answerPairs(reader.experiences(), { rows, promptKey });
    if (isDatabase(output))
      return counted(await writePairTable({ url: output, table }, pairs), 'new pair');
    const text = labelStudio ? jsonText(pairs.map((data) => ({ data }))) : lines(pairs);
    await writeOutput('--output', output, text);
    return counted(pairs.length, 'new pair');
  } finally {
    reader.close();
  }
}

async function writeChosen(from: string, { output, table }: PairsArguments): Promise<string> {
  const { chosenRows, isDatabase, readPairTable } = await import('@trinity-rft/buffer/pairs');
  const found = isDatabase(from)
    ? (await readPairTable({ url: from, table })).map((item, i) => ({
        item,
        place: `table ${table}, row ${i + 1}`,
      }))
    : await readFrom(from);
  const rows = chosenRows(
    found.map(({ item }) => item),
    (index) => found[index]!.place,
  );
  await writeOutput('--output', output, lines(rows));
  const skipped = found.length - rows.length;
  const rest = skipped > 0 ? `; ${skipped} without a choice, or with different ones` : '';
  return counted(rows.length, 'row') + rest;
}

interface Placed {
  readonly item: unknown;
  /** Where the item is, such as `pairs.jsonl:2`. */
  readonly place: string;
}

async function readFrom(from: string): Promise<readonly Placed[]> {
  const text = await readFile(from, 'utf8').catch((cause: unknown) => {
    throw invalid(`${from} cannot be read: ${(cause as Error).message}.`, cause);
  });
  if (text.startsWith('SQLite format 3\0'))
    throw invalid(`${from} is an SQLite database. Write sqlite:///${from}`);
  return parse(text, from);
}

function parse(text: string, from: string): readonly Placed[] {
  if (text.trimStart().startsWith('['))
    return (parseJson(text, from) as unknown[]).map((item, i) => ({
      item,
      place: `${from}, item ${i + 1}`,
    }));
  return text.split('\n').flatMap((line, i) => {
    const place = `${from}:${i + 1}`;
    return line.trim() === '' ? [] : [{ item: parseJson(line, place), place }];
  });
}

function parseJson(text: string, place: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalid(`${place} is not JSON: ${(cause as Error).message}.`, cause);
  }
}
