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
 * Converts pairs to rows for DPO. Pairs without a choice are skipped. Each item is an
 * {@link AnswerPair} or an item of a JSON export of Label Studio. In such an export, `data`
 * contains the pair, and the choice is the side that `Pairwise` selects or the response that
 * `Choices` names (answer1 or answer2).
 * @throws TaskError if an item has neither format
 */
export function chosenRows(items: readonly unknown[]): readonly ChosenRow[] {
  return items.flatMap((item, index) => {
    const { pair, preferred } = readDecision(item, index);
    if (preferred === null) return [];
    const { prompt, answer1, answer2 } = pair;
    return preferred === 1
      ? [{ prompt, chosen: answer1, rejected: answer2 }]
      : [{ prompt, chosen: answer2, rejected: answer1 }];
  });
}

type Fields = Readonly<Record<string, unknown>>;
type Texts = Pick<AnswerPair, 'prompt' | 'answer1' | 'answer2'>;

function readDecision(
  item: unknown,
  index: number,
): { readonly pair: Texts; readonly preferred: 1 | 2 | null } {
  const fields = fieldsOf(item);
  const isExport = typeof fields['data'] === 'object' && fields['data'] !== null;
  const pair = isExport ? fieldsOf(fields['data']) : fields;
  const { prompt, answer1, answer2 } = pair;
  const preferred = isExport ? selectedIn(fields) : (fields['preferred'] ?? null);
  const isDecision = preferred === null || preferred === 1 || preferred === 2;
  if (
    typeof prompt === 'string' &&
    typeof answer1 === 'string' &&
    typeof answer2 === 'string' &&
    isDecision
  )
    return { pair: { prompt, answer1, answer2 }, preferred };
  throw new TaskError(
    `Pair ${index} has ${isDecision ? 'no texts prompt, answer1 and answer2' : `the preference ${JSON.stringify(preferred)}`}; expected the lines that trinity pairs wrote with preferred 1, 2 or null, or a JSON export of Label Studio.`,
    { code: 'PAIR_INVALID', details: { index } },
  );
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const selections: Readonly<Record<string, 1 | 2>> = { left: 1, right: 2, answer1: 1, answer2: 2 };

/** Returns the choice in the last annotation that was not cancelled, or null. */
function selectedIn(item: Fields): 1 | 2 | null {
  const annotation = listOf(item['annotations'])
    .map(fieldsOf)
    .findLast(({ was_cancelled: cancelled }) => cancelled !== true);
  const values = listOf(annotation?.['result']).map((result) =>
    fieldsOf(fieldsOf(result)['value']),
  );
  const names = values.flatMap((value) => [value['selected'], ...listOf(value['choices'])]);
  const name = names.find((each) => typeof each === 'string' && Object.hasOwn(selections, each));
  return selections[String(name)] ?? null;
}
