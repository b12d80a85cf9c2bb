/** Converts conversations and preferences to rows of one kind, and writes the rows. */
import { existsSync } from 'node:fs';
import { ConfigError, RewardError, type ChatMessage } from '@trinity-rft/core';
import { assertionsOf, fromScorer } from '@trinity-rft/workflow/reward';
import { createRowWriter, type RowWriter } from '../files/write-rows.js';
import { fault, orFault } from '../record/fault.js';
import {
  isJson,
  type Conversation,
  type Fault,
  type Json,
  type Preference,
} from '../record/item.js';
import type { RowKind } from '../record/row-kind.js';
import { redactValue } from '../redact/redact.js';
import type { Place, Tally } from '../report/report.js';
import { withCallIds } from './call-ids.js';
import { hashOf, shareOf } from './hash.js';
import { createPairing } from './pairs.js';
import { dpoRow, kindOf, sftRow, taskRow } from './rows.js';

export interface RowOptions {
  /** Kind of the rows. @default the kind of the first item */
  readonly as?: RowKind;
  /**
   * Name of the score by which `dpo` pairs answers to one prompt.
   * @default the mean of all scores of an answer
   */
  readonly score?: string;
  readonly output: string;
  /** Share of the rows that is written to a separate validation file. @default 0 */
  readonly validation?: number;
  /** True to replace personal data and keys with placeholders. @default false */
  readonly redact?: boolean;
}

export interface RowWriting {
  /** Returns the kind of the rows; undefined before the first item if the option `as` is not set. */
  kind(): RowKind | undefined;
  /**
   * Writes an item as a row. If the kind is `dpo` and the item is a conversation, keeps its
   * response until `finish` writes the pair.
   * @param hasReferences true if responses are reference answers, see `Source`
   */
  add(item: Conversation | Preference, place: Place, hasReferences: boolean): Promise<void>;
  /**
   * Writes the pairs, and moves the files into place if there are rows.
   * @throws ConfigError if a score is named and all rows are pairs in the source
   */
  finish(): Promise<RowCounts>;
  /** Removes unfinished files. */
  close(): Promise<void>;
}

interface RowCounts {
  readonly as: RowKind;
  readonly written: number;
  readonly validation: number;
  readonly duplicates: number;
  readonly unlikePairs: number;
}

/** Returns the path of the validation file, such as `rows.validation.jsonl` for `rows.jsonl`. */
export const validationFile = (output: string): string =>
  output.endsWith('.jsonl')
    ? output.replace(/\.jsonl$/, '.validation.jsonl')
    : `${output}.validation.jsonl`;

/**
 * Opens the training file, and the validation file if `validation` is more than 0.
 * @param countTokens counts a row's tokens.
 * @default undefined: the report has no token counts
 * @throws ConfigError if a validation file of an earlier import exists and `validation` is 0
 */
export async function openRowWriting(
  { as, score: scoreName, output, validation = 0, redact = false }: RowOptions,
  tally: Tally,
  countTokens?: (row: Json) => number,
): Promise<RowWriting> {
  if (validation === 0 && existsSync(validationFile(output))) throw leftover(output);
  const writers: RowWriter[] = [await createRowWriter('-o', output)];
  if (validation > 0) writers.push(await createRowWriter('-o', validationFile(output)));
  const seen = new Set<string>();
  const pairing = createPairing<Place>(scoreName);
  let kind = as;
  let usesScores = false;
  let [train, held, duplicates, unlikePairs] = [0, 0, 0, 0];

  /** Returns false if the row is a duplicate, or its tokens cannot be counted. */
  const write = async (made: Json, place: Place, score: boolean): Promise<boolean> => {
    const { value: row, counts } = redact ? redactValue(made) : { value: made, counts: {} };
    const text = JSON.stringify(row);
    const hash = hashOf(text);
    if (seen.has(hash)) {
      duplicates++;
      return false;
    }
    const tokens = orFault(() => countTokens?.(row));
    if (typeof tokens === 'object') {
      tally.skip(tokens, place);
      return false;
    }
    seen.add(hash);
    const isHeld = shareOf(hash) < validation;
    await writers[Number(isHeld)]?.write(text);
    if (isHeld) held++;
    else train++;
    tally.redacted(counts);
    const assertions = assertionTypes(row['assert']);
    tally.row(messagesOf(row), { tools: 'tools' in row, score, tokens, assertions });
    for (const unchecked of uncheckedIn(row)) tally.unchecked(unchecked, place);
    return true;
  };

  return {
    kind: () => kind,
    async add(given, place, hasReferences) {
      const item = withCallIds(given);
      kind ??= kindOf(item);
      if ('scores' in item) tally.scored(item.scores ?? []);
      const made = orFault((): { readonly row?: Json } => {
        if (kind !== 'tasks' && item.media !== undefined)
          throw fault(
            `the row has ${item.media}; remove the column if the answer does not need it`,
          );
        if (kind === 'sft') return { row: sftRow(item) };
        if (kind === 'tasks') return { row: taskRow(item, hasReferences) };
        if ('chosen' in item) return { row: dpoRow(item) };
        usesScores = true;
        pairing.add(item, place);
        return {};
      });
      if ('reason' in made) tally.skip(made, place);
      else if (made.row) await write(made.row, place, 'scores' in item);
    },
    async finish() {
      for (const { pair, place, isUnlike } of pairing.pairs()) {
        const made = pair === undefined ? onlyOne : orFault(() => ({ row: dpoRow(pair) }));
        if ('reason' in made) {
          tally.skip(made, place);
          continue;
        }
        const isWritten = await write(made.row, place, true);
        if (isWritten && isUnlike) unlikePairs++;
      }
      const written = train + held;
      if (written > 0 && scoreName !== undefined && !usesScores) throw unusedScore(scoreName);
      if (written > 0) for (const writer of writers) await writer.finish();
      return { as: kind ?? 'sft', written, validation: held, duplicates, unlikePairs };
    },
    async close() {
      for (const writer of writers) await writer.close();
    },
  };
}

/**
 * Creates the error for a validation file that an earlier import left behind. It may contain rows
 * that are now in the training file.
 */
const leftover = (output: string): ConfigError =>
  new ConfigError(
    `${validationFile(output)} is part of an earlier import, and rows without --validation may repeat its rows. Give --validation, remove it, or write to another file than ${output}.`,
    { code: 'IMPORT_LEFTOVER' },
  );

const unusedScore = (name: string): ConfigError =>
  new ConfigError(
    `--score ${name} (importRows: score) chooses the answers of pairs, but the records are pairs already. Leave it out.`,
    { code: 'ARGUMENT_INVALID' },
  );

const onlyOne = { reason: 'the prompt has one answer, or several with equal scores' };

/** Returns all messages of a row of any kind. */
const messagesOf = (row: Json): readonly ChatMessage[] =>
  ['messages', 'prompt', 'chosen', 'rejected'].flatMap((key) => {
    const messages = row[key];
    return Array.isArray(messages) ? (messages as readonly ChatMessage[]) : [];
  });

/** Returns the types of promptfoo's assertions. */
const assertionTypes = (assertions: unknown): readonly string[] =>
  Array.isArray(assertions)
    ? assertions.flatMap((one: unknown) => (isJson(one) ? [String(one['type'])] : []))
    : [];

const isAssertion = (value: unknown): boolean => isJson(value) && typeof value['type'] === 'string';

/** Returns the assertions that the reward does not check, and why the task as a whole fails. */
function uncheckedIn(row: Json): readonly Fault[] {
  const { assert, question } = row;
  if (!Array.isArray(assert) || !assert.every(isAssertion)) return [];
  const { checked, unchecked } = assertionsOf(row);
  const failure = failureOf(checked);
  return [
    ...unchecked.map(({ assertion, problem: detail }) => ({ reason: assertion.type, detail })),
    ...(failure === undefined
      ? []
      : [{ reason: `the task fails: ${failure}`, detail: JSON.stringify(question) }]),
  ];
}

/** Returns why the reward cannot score a task with these assertions; undefined if it can. */
function failureOf(checked: ReturnType<typeof assertionsOf>['checked']): string | undefined {
  if (checked.length === 0) return 'none of its assertions is checked';
  try {
    fromScorer(checked);
    return undefined;
  } catch (error) {
    if (!RewardError.is(error)) throw error;
    return 'a weight or threshold is invalid, or all weights are 0';
  }
}
