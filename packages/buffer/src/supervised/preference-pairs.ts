/**
 * Handles human preferences: creates pairs of stored responses to the same task, and converts
 * people's choices to rows for DPO.
 */
import { type Experience, type RawTask, TaskError, uid } from '@trinity-rft/core';

/** Two responses to compare. A person sets `preferred`. */
export interface AnswerPair {
  /** Uids of the two experiences, separated by a space. */
  readonly id: string;
  readonly prompt: string;
  readonly answer1: string;
  readonly answer2: string;
  /**
   * Number of the preferred response (1 or 2); null if no choice was made or if neither is
   * preferred.
   */
  readonly preferred: 1 | 2 | null;
}

/** A row of preference data. Its keys are the defaults of `format`. */
export interface ChosenRow {
  readonly prompt: string;
  readonly chosen: string;
  readonly rejected: string;
}

export interface AnswerPairsOptions {
  /** Rows of the task set from which the responses were sampled. */
  readonly rows: readonly RawTask[];
  readonly promptKey: string;
  /** Name of the task set, to consider only its tasks. @default all task sets */
  readonly taskset?: string;
}

/**
 * Returns a pair of responses for each explored task: those with the highest and the lowest reward.
 * Omits tasks whose two responses have the same text, and responses that took several model calls.
 * The order within a pair does not reveal the rewards.
 */
export function answerPairs(
  experiences: Iterable<Experience>,
  { rows, promptKey, taskset }: AnswerPairsOptions,
): readonly AnswerPair[] {
  const ofTask = Map.groupBy(
    [...experiences].filter(
      ({ info, responseText }) =>
        responseText !== undefined && (taskset === undefined || info['taskset'] === taskset),
    ),
    ({ eid }) => `${eid.batch}/${eid.task}`,
  );
  return [...ofTask.values()].flatMap((task) => pairOf(task, rows, promptKey) ?? []);
}

function pairOf(
  task: readonly Experience[],
  rows: readonly RawTask[],
  promptKey: string,
): AnswerPair | undefined {
  const runs = Map.groupBy(task, ({ eid }) => eid.run);
  const answers = [...runs.values()]
    .flatMap(([first, second]) => (first && !second ? [first] : []))
    .sort((a, b) => (a.reward ?? 0) - (b.reward ?? 0));
  const [worst, best] = [answers[0], answers.at(-1)];
  const prompt = rows[Number(worst?.info['row'])]?.[promptKey];
  if (!worst || !best || worst.responseText === best.responseText || typeof prompt !== 'string')
    return undefined;
  // Sorted by uid, so that the order does not reveal the rewards.
  const [first, second] = [best, worst].sort((a, b) => (uid(a.eid) < uid(b.eid) ? -1 : 1));
  return {
    id: `${uid(first!.eid)} ${uid(second!.eid)}`,
    prompt,
    answer1: first?.responseText ?? '',
    answer2: second?.responseText ?? '',
    preferred: null,
  };
}

/**
 * Converts pairs to rows for DPO. Pairs without a choice are skipped, and those on which people
 * disagree or have chosen both. Each item is an {@link AnswerPair} or an item of a JSON export of
 * Label Studio. In such an export, `data` contains the pair, and the choice is the side that
 * `Pairwise` selects or the response that `Choices` names (answer1 or answer2).
 * @param placeOf names the item of an index in errors. @default its number, from 1
 * @throws TaskError if an item has neither format, or if all choices of an export are others
 */
export function chosenRows(
  items: readonly unknown[],
  placeOf: (index: number) => string = (index) => `Pair ${index + 1}`,
): readonly ChosenRow[] {
  const errorAt = (index: number, problem: string): TaskError =>
    pairError(index, `${placeOf(index)}: ${problem}`);
  const decisions = items.map((item, i) => readDecision(item, (problem) => errorAt(i, problem)));
  // An export may have other questions beside this one, with choices of their own.
  const isAnswered = decisions.some(({ chosen }) => chosen.length > 0);
  const at = isAnswered ? -1 : decisions.findIndex(({ other }) => other !== undefined);
  if (at >= 0)
    throw errorAt(
      at,
      `the choice "${decisions[at]?.other}" is none of ${[...selections.keys()].join(', ')}`,
    );
  return decisions.flatMap(({ pair: { prompt, answer1, answer2 }, chosen }) => {
    if (new Set(chosen).size !== 1) return [];
    return chosen[0] === 1
      ? [{ prompt, chosen: answer1, rejected: answer2 }]
      : [{ prompt, chosen: answer2, rejected: answer1 }];
  });
}

const pairError = (index: number, problem: string): TaskError =>
  new TaskError(
    `${problem}. Expected the lines that trinity pairs wrote with preferred 1, 2 or null, or Label Studio's export JSON (not JSON-MIN).`,
    { code: 'PAIR_INVALID', details: { index } },
  );

type Fields = Readonly<Record<string, unknown>>;
type Texts = Pick<AnswerPair, 'prompt' | 'answer1' | 'answer2'>;
type ErrorOf = (problem: string) => TaskError;

interface Decision {
  readonly pair: Texts;
  /** The answers that people chose. */
  readonly chosen: readonly (1 | 2)[];
  /** The first choice that names no answer. */
  readonly other?: string;
}

function readDecision(item: unknown, errorOf: ErrorOf): Decision {
  const fields = fieldsOf(item);
  const isExport = typeof fields['data'] === 'object' && fields['data'] !== null;
  const { prompt, answer1, answer2 } = isExport ? fieldsOf(fields['data']) : fields;
  if (typeof prompt !== 'string' || typeof answer1 !== 'string' || typeof answer2 !== 'string')
    throw errorOf('there are no texts prompt, answer1 and answer2');
  const pair = { prompt, answer1, answer2 };
  if (isExport) {
    const names = choicesIn(fields);
    const chosen = names.flatMap((name) => selections.get(name) ?? []);
    return { pair, chosen, other: names.find((name) => !selections.has(name)) };
  }
  const { preferred } = fields;
  if (preferred === undefined) throw errorOf('there is no preferred');
  if (preferred === null) return { pair, chosen: [] };
  if (preferred !== 1 && preferred !== 2)
    throw errorOf(`preferred is ${JSON.stringify(preferred)}`);
  return { pair, chosen: [preferred] };
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const selections: ReadonlyMap<string, 1 | 2> = new Map([
  ['left', 1],
  ['right', 2],
  ['answer1', 1],
  ['answer2', 2],
]);

/** Returns the names that were chosen in the annotations that were not cancelled. */
const choicesIn = (item: Fields): readonly string[] =>
  listOf(item['annotations'])
    .map(fieldsOf)
    .filter(({ was_cancelled: cancelled }) => cancelled !== true)
    .flatMap(({ result }) => listOf(result).map((each) => fieldsOf(fieldsOf(each)['value'])))
    .flatMap(({ selected, choices }) => [selected ?? [], choices ?? []].flat().map(String));
