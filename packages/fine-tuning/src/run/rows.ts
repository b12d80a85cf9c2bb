/**
 * Checks the rows of a job's file by the rules of the job's method. Reads the file in the same way
 * as a training run.
 */
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { readPreferenceRow, readSupervisedRow } from '@trinity-rft/buffer';
import { normalizeMessages } from '@trinity-rft/chat';
import { defaultFormatArgs, describeError } from '@trinity-rft/core';
import { z } from 'zod';
import type { MethodName } from '../wire/job-request.js';

const message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  weight: z.union([z.literal(0), z.literal(1)], { error: 'expected 0 or 1' }).optional(),
});
type Message = z.infer<typeof message>;

const endsWith = (...roles: readonly Message['role'][]) =>
  z
    .array(message)
    .min(1)
    .refine((messages) => messages.slice(-1).every(({ role }) => roles.includes(role)), {
      error: `the last message has to be of the ${roles.join(' or ')}`,
    });
const tools = {
  tools: z.array(z.unknown()).optional(),
  parallel_tool_calls: z.boolean().optional(),
};
const output = z.array(message).min(1);

const rows = {
  supervised: z.strictObject({ messages: endsWith('assistant'), ...tools }),
  dpo: z.strictObject({
    input: z.strictObject({ messages: endsWith('user', 'developer', 'tool'), ...tools }),
    preferred_output: output,
    non_preferred_output: output,
  }),
  reinforcement: z.looseObject({ messages: endsWith('user', 'developer'), ...tools }),
} as const satisfies Readonly<Record<MethodName, z.ZodType>>;

const format = {
  ...defaultFormatArgs,
  messagesKey: 'messages',
  chosenKey: 'preferred_output',
  rejectedKey: 'non_preferred_output',
};

/**
 * Functions that read a row as training runs do. They find problems that the schema does not, such
 * as images, which cannot be trained on.
 * @throws Error naming the problem
 */
const readers: { readonly [K in MethodName]: (row: z.infer<(typeof rows)[K]>) => void } = {
  supervised: (row) => void normalizeMessages(readSupervisedRow(row, format).messages),
  dpo: ({ input, ...answers }) => {
    const { prompt, chosen, rejected } = readPreferenceRow({ ...input, ...answers }, format);
    for (const answer of [chosen, rejected]) normalizeMessages([...prompt, ...answer]);
    if (JSON.stringify(chosen) === JSON.stringify(rejected))
      throw new Error('preferred_output and non_preferred_output are the same');
  },
  reinforcement: ({ messages }) => void normalizeMessages(messages),
};

export interface CheckedRows {
  readonly count: number;
  /**
   * One message per faulty row, with its line number. Only the first faulty rows are listed; empty
   * if all rows are valid.
   */
  readonly faults: readonly string[];
}

/**
 * Checks the rows of a file.
 * @param onRow called with each valid row and the number of its line. If it throws, the row is
 * faulty. @default no callback
 * @param mostFaults number of faulty lines after which reading stops
 */
export async function checkRows(
  file: string,
  method: MethodName,
  onRow: (row: Row, line: number) => void = () => undefined,
  mostFaults = 5,
): Promise<CheckedRows> {
  const faults: string[] = [];
  let [line, count] = [0, 0];
  for await (const text of linesOf(file)) {
    line++;
    const bare = line === 1 ? text.replace(/^\uFEFF/, '') : text;
    if (bare.trim() === '') continue;
    const problem = problemOf(bare, method, (row) => onRow(row, line));
    if (problem === undefined) count++;
    else if (faults.push(`Line ${line}: ${problem}.`) === mostFaults) break;
  }
  if (count === 0 && faults.length === 0) faults.push('The file has no rows.');
  return { count, faults };
}

/**
 * Yields the lines of a file. Splits only at line feeds, as training runs do, because JSON strings
 * may contain Unicode's other line ends.
 */
async function* linesOf(file: string): AsyncGenerator<string> {
  let line: string[] = [];
  for await (const text of createReadStream(file, 'utf8') as AsyncIterable<string>) {
    const [end = '', ...others] = text.split('\n');
    line.push(end);
    for (const start of others) {
      yield line.join('');
      line = [start];
    }
  }
  yield line.join('');
}

export type Row = Readonly<Record<string, unknown>>;

/**
 * Reads a row, and passes it to `onRow`. Returns the problem because of which the schema, a
 * training run or `onRow` rejects the row, or undefined if there is none.
 */
function problemOf(
  text: string,
  method: MethodName,
  onRow: (row: Row) => void,
): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is not JSON';
  }
  const { success, data, error } = rows[method].safeParse(value);
  if (!success) {
    const [issue] = error.issues;
    return `${issue?.path.join('.') || 'the row'}: ${issue?.message ?? 'it cannot be read'}`;
  }
  try {
    (readers[method] as (row: unknown) => void)(data);
    onRow(data);
    return undefined;
  } catch (thrown) {
    // The caller names the line.
    return describeError(thrown)
      .replace(/^Row \?, /, '')
      .replace(/\.$/, '');
  }
}

/**
 * Writes preference pairs with the columns that training runs read: `prompt`, `chosen`, `rejected`,
 * `tools`.
 */
export async function writePairs(file: string, target: string): Promise<void> {
  const lines: string[] = [];
  await checkRows(file, 'dpo', (row) => {
    const pair = row as z.infer<typeof rows.dpo>;
    lines.push(
      JSON.stringify({
        prompt: pair.input.messages,
        chosen: pair.preferred_output,
        rejected: pair.non_preferred_output,
        ...(pair.input.tools && { tools: pair.input.tools }),
      }),
    );
  });
  await writeFile(target, `${lines.join('\n')}\n`);
}
