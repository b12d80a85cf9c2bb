/**
 * Creates graders of OpenAI's fine-tuning API, which score an answer with access to the row of its
 * task.
 */
import { ConfigError, isUsableReward, usableReward, type RewardError } from '@trinity-rft/core';
import { readArgsBy } from '@trinity-rft/core/support';
import { errorsOf, graderFault, isGraderFault, type GraderErrors } from './fault.js';
import { parseFormula, type Formula } from './formula.js';
import {
  labelModelGrader,
  scoreModelGrader,
  type CompleteFn,
  type GraderUsage,
  type ModelCall,
} from './model-graders.js';
import { gradeInPython, type PythonLimits } from './python-grader.js';
import { graderSchema, type GraderSpec, type PartSpec } from './schema.js';
import { similarity } from './similarity.js';
import { parseTemplate, type Namespaces } from './template.js';

/** Functions and permissions that some types of graders need. */
export interface GraderTools {
  /** Function that calls a model. @default undefined: graders that call a model are refused */
  readonly complete?: CompleteFn;
  /**
   * True, or limits of time and memory, to allow graders that execute Python code on this machine,
   * with the permissions of this process.
   * @default false
   */
  readonly python?: boolean | PythonLimits;
}

/** The answer to grade, and the row of its task. */
export interface GraderInput extends Namespaces {
  /** Signal that aborts the call. @default no signal */
  readonly signal?: AbortSignal;
}

/** Result of a grader for one answer, with the same contents as a grader run of OpenAI's API. */
export interface GraderResult {
  /** Score of the answer. Undefined if the grader failed, because a failure is not a score of 0. */
  readonly reward: number | undefined;
  /** Scores of the graders that `multi` combines, without those that failed. */
  readonly subRewards: Readonly<Record<string, number>>;
  readonly errors: GraderErrors;
  /** Description of the failures; undefined if nothing failed. */
  readonly message?: string;
  /** Total token usage, keyed by the name of the model. */
  readonly tokenUsage: Readonly<Record<string, GraderUsage>>;
  /** Wall-clock duration in seconds. */
  readonly seconds: number;
}

/** A grader, with its specification. */
export interface AnswerGrader {
  readonly spec: GraderSpec;
  /**
   * Scores an answer. A failure of the grader is a part of the result. Rejects only if `signal`
   * aborts, with a ConfigError of `complete`, or because of a bug.
   */
  grade(input: GraderInput): Promise<GraderResult>;
}

type Score = (call: ModelCall) => number | Promise<number>;

/**
 * Creates a grader from its specification. It can score any number of answers.
 * @throws ConfigError for an invalid specification, and if `tools` lacks what the grader needs
 */
export function createGrader(spec: unknown, tools: GraderTools = {}): AnswerGrader {
  const owner = { key: 'grader', word: 'grader', code: 'GRADER_INVALID' };
  const read: GraderSpec = readArgsBy(
    graderSchema,
    spec as Readonly<Record<string, unknown>>,
    owner,
  );
  const score = read.type === 'multi' ? multi(read, tools) : single(read, tools);
  return { spec: read, grade: (input) => grade(score, input) };
}

interface Scores {
  readonly reward: number | undefined;
  readonly subRewards: Readonly<Record<string, number>>;
  readonly faults: readonly RewardError[];
}

type ScoreAll = (call: ModelCall) => Promise<Scores>;

async function grade(score: ScoreAll, input: GraderInput): Promise<GraderResult> {
  const { item, sample, signal = new AbortController().signal } = input;
  const startMs = performance.now();
  const tokenUsage: Record<string, GraderUsage> = {};
  const onUsage = (model: string, usage: GraderUsage): void => {
    tokenUsage[model] = addUsage(tokenUsage[model], usage);
  };
  const { faults, ...scores } = await score({ values: { item, sample }, signal, onUsage });
  const message = faults.map((fault) => fault.message).join('\n');
  return {
    ...scores,
    errors: errorsOf(faults),
    ...(message !== '' && { message }),
    tokenUsage,
    seconds: (performance.now() - startMs) / 1000,
  };
}

const addUsage = (sum: GraderUsage | undefined, more: GraderUsage): GraderUsage => ({
  prompt_tokens: (sum?.prompt_tokens ?? 0) + more.prompt_tokens,
  completion_tokens: (sum?.completion_tokens ?? 0) + more.completion_tokens,
  total_tokens: (sum?.total_tokens ?? 0) + more.total_tokens,
});

function single(spec: PartSpec, tools: GraderTools): ScoreAll {
  const score = scoreOf(spec, tools);
  return async (call) => {
    const result = await settled(score, call);
    return typeof result === 'number'
      ? { reward: result, subRewards: {}, faults: [] }
      : { reward: undefined, subRewards: {}, faults: [result] };
  };
}

function multi(
  spec: Extract<GraderSpec, { readonly type: 'multi' }>,
  tools: GraderTools,
): ScoreAll {
  const parts = Object.entries(spec.graders).map(
    ([name, part]) => [name, scoreOf(part, tools)] as const,
  );
  const formula = parseFormula(spec.calculate_output, Object.keys(spec.graders));
  return async (call) => {
    const results = await Promise.all(
      parts.map(async ([name, score]) => [name, await settled(score, call)] as const),
    );
    const faults = results.flatMap(([, result]) => (typeof result === 'number' ? [] : [result]));
    const subRewards = Object.fromEntries(
      results.filter((entry): entry is readonly [string, number] => typeof entry[1] === 'number'),
    );
    if (faults.length > 0) return { reward: undefined, subRewards, faults };
    const reward = computed(formula, subRewards, spec.calculate_output);
    return typeof reward === 'number'
      ? { reward, subRewards, faults }
      : { reward: undefined, subRewards, faults: [reward] };
  };
}

/**
 * Calls a score function. Returns the score, or a RewardError if the grader fails or the score
 * cannot be a reward. Rejects if the signal aborts, and with any other error.
 */
async function settled(score: Score, call: ModelCall): Promise<number | RewardError> {
  try {
    const result = await score(call);
    if (isUsableReward(result)) return result;
    return graderFault('other_error', `The grader gave ${result}; expected ${usableReward}.`);
  } catch (error) {
    call.signal.throwIfAborted();
    if (isGraderFault(error)) return error;
    throw error;
  }
}

function computed(
  formula: Formula,
  scores: Readonly<Record<string, number>>,
  text: string,
): number | RewardError {
  const reward = formula(scores);
  return isUsableReward(reward)
    ? reward
    : graderFault(
        'formula_parse_error',
        `The formula ${text} is ${reward} for ${JSON.stringify(scores)}; expected ${usableReward}.`,
      );
}

type Operation = Extract<PartSpec, { readonly type: 'string_check' }>['operation'];

const checks: Readonly<Record<Operation, (input: string, reference: string) => boolean>> = {
  eq: (input, reference) => input === reference,
  ne: (input, reference) => input !== reference,
  like: (input, reference) => input.includes(reference),
  ilike: (input, reference) => input.toLowerCase().includes(reference.toLowerCase()),
};

/**
 * Creates the function that computes the score of a grader.
 * @throws ConfigError if `tools` lacks what the grader needs
 */
function scoreOf(spec: PartSpec, tools: GraderTools): Score {
  switch (spec.type) {
    case 'string_check':
      return comparing(spec, (a, b) => Number(checks[spec.operation](a, b)));
    case 'text_similarity':
      return comparing(spec, (a, b) => similarity(spec.evaluation_metric, a, b));
    case 'score_model':
      return scoreModelGrader(spec, completeOf(spec, tools));
    case 'label_model':
      return labelModelGrader(spec, completeOf(spec, tools));
    case 'python':
      return pythonGrader(spec, tools);
  }
}

function comparing(
  spec: { readonly input: string; readonly reference: string },
  compare: (input: string, reference: string) => number,
): Score {
  const [input, reference] = [parseTemplate(spec.input), parseTemplate(spec.reference)];
  return ({ values }) => compare(input(values), reference(values));
}

function completeOf(
  { name, model }: { readonly name: string; readonly model: string },
  { complete }: GraderTools,
): CompleteFn {
  if (complete) return complete;
  throw new ConfigError(
    `The grader "${name}" asks the model "${model}", but there is none to ask. Pass complete to createGrader, or use a grader without a model.`,
    { code: 'GRADER_TOOL' },
  );
}

function pythonGrader(
  spec: Extract<PartSpec, { readonly type: 'python' }>,
  { python = false }: GraderTools,
): Score {
  if (python === false)
    throw new ConfigError(
      `The grader "${spec.name}" runs Python code on this machine, which is not allowed. Allow it with python: true if you trust the code.`,
      { code: 'GRADER_TOOL' },
    );
  const limits = python === true ? {} : python;
  return ({ values, signal }) => gradeInPython(spec, values, limits, signal);
}
