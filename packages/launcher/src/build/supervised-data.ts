/** Rows of files that are learned from as they are: read, checked, and made into experiences. */
import { checkRows, readPreferenceRow, readSupervisedRow, readTaskRows } from '@trinity-rft/buffer';
import { encodeConversation, type ChatFormat, type ConversationInput } from '@trinity-rft/chat';
import type { AlgorithmConfig, SupervisedBufferConfig } from '@trinity-rft/config';
import { createExperience, describeError, TaskError, type Experience, type RawTask } from '@trinity-rft/core';

/** What rows hold: answers to imitate, or pairs of a better and a worse one. */
export type RowSchema = Exclude<AlgorithmConfig['schema'], 'experience'>;

/** @throws TaskError when the data cannot be read, or a row is not what the schema asks for */
export async function readSupervisedRows(
  config: SupervisedBufferConfig,
  schema: RowSchema,
  signal: AbortSignal,
): Promise<readonly RawTask[]> {
  const { name, path, split, subsetName } = config;
  const rows = await readTaskRows({ name, path, split, signal, ...(subsetName !== undefined && { subsetName }) });
  const read = schema === 'dpo' ? readPreferenceRow : readSupervisedRow;
  checkRows(rows, `"${name}" (${path})`, (rawTask, row) => read(rawTask, config.format, row));
  return rows;
}

/** Of a pair: the chosen answer, then the rejected one. */
export type RowEncoder = (rawTask: RawTask, row: number) => readonly Experience[];

export function rowEncoder(format: ChatFormat, config: SupervisedBufferConfig, schema: RowSchema): RowEncoder {
  const { format: layout, name, path } = config;
  const encode = (input: ConversationInput, row: number, run: number, info: Readonly<Record<string, unknown>>): Experience => {
    try {
      const { enableThinking } = layout;
      const encoded = encodeConversation(format, { ...input, ...(enableThinking !== undefined && { enableThinking }) });
      return createExperience({ ...encoded, eid: { batch: name, task: row, run }, info });
    } catch (cause) {
      throw new TaskError(`Row ${row} of "${name}" (${path}) cannot be learned from: ${describeError(cause)}`, {
        code: 'SUPERVISED_ROW',
        cause,
      });
    }
  };
  const place = (row: number): string => `${row} of "${name}"`;
  if (schema === 'sft') {
    const trainOn = layout.enableConcatenatedMultiTurn ? 'all' : 'last';
    return (rawTask, row) => [encode({ ...readSupervisedRow(rawTask, layout, place(row)), trainOn }, row, 0, {})];
  }
  return (rawTask, row) => {
    const { prompt, chosen, rejected, ...rest } = readPreferenceRow(rawTask, layout, place(row));
    const answer = (messages: typeof chosen, run: number, preference: string): Experience =>
      encode({ ...rest, messages: [...prompt, ...messages], trainOn: { from: prompt.length } }, row, run, { preference });
    return [answer(chosen, 0, 'chosen'), answer(rejected, 1, 'rejected')];
  };
}
