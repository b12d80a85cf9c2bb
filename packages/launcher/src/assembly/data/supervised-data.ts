/** Reads supervised data: checks rows of files and converts them to experiences. */
import { readPreferenceRow, readSupervisedRow, readTaskRows } from '@trinity-rft/buffer';
import { checkRows, readText } from '@trinity-rft/buffer/internal';
import { encodeConversation, type ChatFormat, type ConversationInput } from '@trinity-rft/chat';
import type { AlgorithmConfig, SupervisedBufferConfig } from '@trinity-rft/config';
import {
  createExperience,
  describeError,
  type Experience,
  type RawTask,
  TaskError,
} from '@trinity-rft/core';
import type { StageModel } from '../models/chat-format.js';
import { maxPositionsOf } from '../models/model-folder.js';
import type { Reading } from './tasks.js';

/**
 * `sft`: responses to imitate; `dpo`: pairs of a chosen and a rejected response; `cpt`: plain
 * texts.
 */
export type RowSchema = Exclude<AlgorithmConfig['schema'], 'experience'>;

/**
 * Reads the rows of a supervised data set and checks their columns.
 * @throws TaskError when the data cannot be read, or a row does not match the schema
 */
export async function readSupervisedRows(
  config: SupervisedBufferConfig,
  schema: RowSchema,
  { signal, env: environment }: Reading,
): Promise<readonly RawTask[]> {
  const { name, path, split, subsetName } = config;
  const rows = await readTaskRows({ name, path, split, signal, subsetName, environment });
  const read = readers[schema];
  checkRows(rows, placeOf(config), (rawTask, row) => read(rawTask, config.format, row));
  return rows;
}

const readPlainText = (
  rawTask: RawTask,
  { promptKey }: SupervisedBufferConfig['format'],
  row: number | string,
): string => readText(rawTask, promptKey, row, 'Set format.prompt_key to the key of the text');

const readers = { sft: readSupervisedRow, dpo: readPreferenceRow, cpt: readPlainText } as const;

/**
 * Converts a row to one experience, or a pair to two: the chosen response, then the rejected one.
 */
export type RowEncoder = (rawTask: RawTask, row: number) => readonly Experience[];

/**
 * Reads the rows of a supervised data set, and returns them with a function that converts a row to
 * experiences.
 * @throws TaskError as {@link readSupervisedRows}, and if a row exceeds the model's context length
 */
export async function openRows(
  model: Omit<StageModel, 'runtime'>,
  config: SupervisedBufferConfig,
  schema: RowSchema,
): Promise<{ readonly rows: readonly RawTask[]; readonly toExperiences: RowEncoder }> {
  const { startModel, format } = model;
  const rows = await readSupervisedRows(config, schema, model);
  const maxPositions = maxPositionsOf(startModel);
  const encode = rowEncoder(format, config, schema);
  const toExperiences: RowEncoder = (rawTask, row) => {
    const experiences = encode(rawTask, row);
    for (const { tokens } of experiences)
      if (tokens.length > maxPositions) throw tooLong(config, row, tokens.length, maxPositions);
    return experiences;
  };
  // Each token has at least one byte, so a row with few bytes fits and need not be encoded.
  const mayBeTooLong = (rawTask: RawTask): boolean =>
    Buffer.byteLength(JSON.stringify(rawTask)) + templateBytes > maxPositions;
  checkRows(
    rows,
    placeOf(config),
    (rawTask, row) => mayBeTooLong(rawTask) && toExperiences(rawTask, row),
  );
  return { rows, toExperiences };
}

/**
 * Estimated number of bytes that a chat template adds to a row. Rows that are too long only because
 * a template adds more are not reported before the trainer encodes them.
 */
const templateBytes = 256;

const placeOf = ({ name, path }: SupervisedBufferConfig): string => `"${name}" (${path})`;

function tooLong(
  { name }: SupervisedBufferConfig,
  row: number,
  tokens: number,
  positions: number,
): TaskError {
  return new TaskError(
    `Row ${row} of "${name}": it has ${tokens} tokens with the chat template; expected at most ${positions}, the positions of the model. Shorten or remove the row.`,
    { code: 'SUPERVISED_ROW', details: { row, tokens } },
  );
}

function rowEncoder(
  format: ChatFormat,
  config: SupervisedBufferConfig,
  schema: RowSchema,
): RowEncoder {
  const { format: layout, name, path } = config;
  const encode = (
    input: ConversationInput,
    row: number,
    run: number,
    info: Readonly<Record<string, unknown>>,
  ): Experience => {
    try {
      const { enableThinking } = layout;
      const encoded = encodeConversation(format, { ...input, enableThinking });
      return createExperience({ ...encoded, eid: { batch: name, task: row, run }, info });
    } catch (cause) {
      throw new TaskError(
        `Row ${row} of "${name}" (${path}) cannot be used for training: ${describeError(cause)}`,
        { code: 'SUPERVISED_ROW', cause },
      );
    }
  };
  const place = (row: number): string => `${row} of "${name}"`;
  if (schema === 'cpt')
    return (rawTask, row) => {
      const tokens = format.encode(readPlainText(rawTask, layout, place(row)));
      if (tokens.length < 2)
        throw new TaskError(
          `Row ${row} of "${name}" (${path}): ${tokens.length} tokens; expected at least two, as the first one is not trained. Remove the row.`,
          { code: 'SUPERVISED_ROW' },
        );
      return [
        createExperience({ tokens, promptLength: 1, eid: { batch: name, task: row, run: 0 } }),
      ];
    };
  if (schema === 'sft') {
    const trainOn = layout.enableConcatenatedMultiTurn ? 'all' : 'last';
    return (rawTask, row) => [
      encode({ ...readSupervisedRow(rawTask, layout, place(row)), trainOn }, row, 0, {}),
    ];
  }
  return (rawTask, row) => {
    const { prompt, chosen, rejected, ...rest } = readPreferenceRow(rawTask, layout, place(row));
    const answer = (messages: typeof chosen, run: number, preference: string): Experience =>
      encode(
        { ...rest, messages: [...prompt, ...messages], trainOn: { from: prompt.length } },
        row,
        run,
        { preference },
      );
    return [answer(chosen, 0, 'chosen'), answer(rejected, 1, 'rejected')];
  };
}
