/**
 * MCP environment that is defined by task rows alone, without code. A row contains the initial
 * files, and the files or the answer expected at the end.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { TaskError } from '@trinity-rft/core';
import { z } from 'zod';
import { folderNames } from './folder-names.js';
import { mcpEnvironment, type McpEnd, type McpStart } from './mcp-environment.js';

const keys = (record: object): number => Object.keys(record).length;

const mcpArgs = z
  .strictObject({
    command: z
      .string()
      .min(1)
      .optional()
      .describe(
        "A program that speaks over standard input and output, started for every run, in the run's own folder: paths in args must be absolute, or begin with {folder}.",
      ),
    args: z.array(z.string()).default([]).describe("{folder} is the run's own folder."),
    env: z.record(z.string(), z.string()).default({}),
    url: z
      .url()
      .optional()
      .describe('Or a server that speaks streamable HTTP; every run has a session.'),
    headers: z.record(z.string(), z.string()).default({}),
    tools: z
      .array(z.string())
      .min(1)
      .optional()
      .describe('Names of the tools that the policy may call. Default: all.'),
    max_servers: z
      .int()
      .positive()
      .default(16)
      .describe('Runs at once, each with a server; further ones wait.'),
  })
  .refine(({ command, url }) => (command === undefined) !== (url === undefined), {
    error: 'Name either the command of a server or its url.',
    path: ['command'],
  })
  .refine(({ url, args, env }) => url === undefined || args.length + keys(env) === 0, {
    error: 'A url has no args and env: give its headers, or a command.',
    path: ['url'],
  })
  .refine(({ command, headers }) => command === undefined || keys(headers) === 0, {
    error: 'A command has no headers: give it args and env, or a url.',
    path: ['headers'],
  });
type McpArgs = z.infer<typeof mcpArgs>;

const texts = z.record(z.string(), z.string());
const rowSchema = z.object({
  prompt: z.string(),
  files: texts.default({}),
  expected_files: z
    .record(z.string(), z.string().nullable())
    .default({})
    .describe('null: the file must not exist.'),
  expected_answer: z.string().optional(),
});
type Row = z.infer<typeof rowSchema>;

/**
 * Environment on an MCP server that is defined by its task rows. The reward is 1 if the files and
 * the answer match those in the row, otherwise 0.
 */
export const mcp = mcpEnvironment<McpArgs>({
  name: 'mcp',
  description:
    'The tools of an MCP server; graded by the files and the answer that a task expects.',
  args: mcpArgs,
  server: ({ folder }, { command, args, env, url, headers }) => {
    const fill = (text: string): string => text.replaceAll('{folder}', folder);
    if (command === undefined) return { url: url ?? '', headers };
    const filled = Object.entries(env).map(([name, value]) => [name, fill(value)] as const);
    return { command, args: args.map(fill), env: Object.fromEntries(filled) };
  },
  prepare: async (start) => {
    for (const [name, text] of Object.entries(readRow(start).files)) {
      const file = inside(start, name);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, text);
    }
  },
  prompt: (start) => readRow(start).prompt,
  tools: ({ tools }) => tools,
  maxServers: ({ max_servers: most }) => most,
  reward: async (end) => {
    const row = readRow(end);
    const isRight = answerIsRight(row, end) && (await filesAreRight(row, end));
    return isRight ? 1 : 0;
  },
});

const answerIsRight = ({ expected_answer: expected }: Row, { answer }: McpEnd): boolean =>
  expected === undefined || answer?.trim() === expected.trim();

async function filesAreRight({ expected_files: expected }: Row, end: McpEnd): Promise<boolean> {
  const names = folderNames(end.folder);
  for (const [name, text] of Object.entries(expected)) {
    const found = await textOf(inside(end, name));
    // The policy and the row name the folder /workspace; the server writes its real path.
    if ((found === null ? null : names.shown(found)) !== text) return false;
  }
  return true;
}

/** Returns the content of a file, or null if there is no such file. */
async function textOf(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return null;
    throw error;
  }
}

/**
 * Returns the path of a file in the episode's folder.
 * @throws TaskError if the path leads out of the folder
 */
function inside({ folder }: McpStart, name: string): string {
  const file = path.resolve(folder, name);
  if (file.startsWith(folder + path.sep)) return file;
  throw new TaskError(`"${name}" is not in the folder of the run: write relative names.`, {
    code: 'TASK_ROW',
  });
}

/**
 * Validates a row.
 * @throws TaskError if the row is invalid
 */
function readRow({ row }: McpStart): Row {
  const read = rowSchema.safeParse(row);
  const expects = ({ expected_files: files, expected_answer: answer }: Row): boolean =>
    Object.keys(files).length > 0 || answer !== undefined;
  if (read.success && expects(read.data)) return read.data;
  const why = read.success
    ? 'it expects nothing: add expected_files or expected_answer.'
    : z.prettifyError(read.error);
  throw new TaskError(
    `A task of mcp has "prompt", and may have "files", "expected_files" and "expected_answer"; ${why}`,
    { code: 'TASK_ROW' },
  );
}
