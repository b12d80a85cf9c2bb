/** Schema of graders, as OpenAI's fine-tuning API defines them. */
import { z } from 'zod';
import { parseFormula } from './formula.js';
import { graderSample } from './sample.js';
import { similarityNames } from './similarity.js';
import { parseTemplate, type Namespaces } from './template.js';

const text = () => z.string('expected text').min(1, 'expected text that is not empty');

/**
 * Creates a zod check from a function: if `parse` throws an error, its message becomes an issue.
 */
const readBy =
  (parse: (value: string) => unknown) =>
  (value: string, context: z.RefinementCtx<string>): void => {
    try {
      parse(value);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
    }
  };

const template = () => z.string('expected text').superRefine(readBy(parseTemplate));

const named = <T extends string>(type: T) => ({
  type: z.literal(type),
  name: text().default(type),
});

/**
 * Threshold of OpenAI's evaluations for passing. It is accepted but ignored, because the reward is
 * the score itself.
 */
const passThreshold = z.number('expected a number').optional();

const stringCheck = z.strictObject({
  ...named('string_check'),
  input: template(),
  reference: template(),
  operation: z.enum(['eq', 'ne', 'like', 'ilike'], 'expected eq, ne, like or ilike'),
});

const otherMetrics: Readonly<Record<string, string>> = {
  cosine: 'It compares embeddings of a model of OpenAI, which offers it for evaluations only',
  meteor: 'It needs the synonyms of WordNet, which are not part of this package',
};

const textSimilarity = z.strictObject({
  ...named('text_similarity'),
  input: template(),
  reference: template(),
  evaluation_metric: z.enum(similarityNames, {
    error: ({ input }) => {
      const reason = typeof input === 'string' ? otherMetrics[input] : undefined;
      const known = similarityNames.join(', ');
      return reason === undefined ? `expected one of ${known}` : `${reason}. Use one of ${known}`;
    },
  }),
  pass_threshold: passThreshold,
});

const textPart = z.strictObject(
  { type: z.enum(['input_text', 'output_text']), text: template() },
  'expected text, or a part { type: input_text, text }; graders here see no images and no audio',
);

const message = z.strictObject({
  role: z.enum(
    ['user', 'assistant', 'system', 'developer'],
    'expected user, assistant, system or developer',
  ),
  content: z.union([template(), textPart, z.array(z.union([template(), textPart])).min(1)], {
    error: ({ input }) =>
      typeof input === 'string'
        ? undefined
        : 'expected text, or parts { type: input_text, text }; graders here see no images and no audio',
  }),
  type: z.literal('message').optional(),
});

const asked = {
  model: text(),
  input: z.array(message, 'expected a list of messages').min(1, 'expected at least one message'),
};

const samplingParams = z.strictObject({
  max_completions_tokens: z.int('expected a whole number').min(1).nullish(),
  reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  seed: z.int('expected a whole number').nullish(),
  temperature: z.number('expected a number').min(0).nullish(),
  top_p: z.number('expected a number').min(0).max(1).nullish(),
});

const number = z.number('expected a number');
const scoreModel = z.strictObject({
  ...named('score_model'),
  ...asked,
  range: z
    .tuple([number, number], 'expected two numbers, such as [0, 1]')
    .refine(([low, high]) => low < high, 'expected the lower number first')
    .default([0, 1]),
  sampling_params: samplingParams.optional(),
  pass_threshold: passThreshold,
});

const labels = () => z.array(text(), 'expected a list of texts').min(1, 'expected at least one');

const labelModel = z
  .strictObject({
    ...named('label_model'),
    ...asked,
    labels: labels(),
    passing_labels: labels(),
  })
  .superRefine(({ labels: known, passing_labels: passing }, context) => {
    const unknown = passing.find((label) => !known.includes(label));
    if (unknown !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['passing_labels'],
        message: `"${unknown}" is not in labels`,
      });
  });

/** Maximum number of characters of a Python source. OpenAI's service limits it to as many bytes. */
const longestSource = 256 * 1024;

const python = z.strictObject({
  ...named('python'),
  source: text().max(longestSource, `expected at most ${longestSource} characters`),
  image_tag: z.string('expected text').optional(),
});

const part = z.discriminatedUnion(
  'type',
  [stringCheck, textSimilarity, scoreModel, labelModel, python],
  'expected the type string_check, text_similarity, score_model, label_model or python',
);

const parts = z.record(z.string(), part, 'expected graders by name');

const onePart = part.transform((one) => ({ [one.name]: one }));

/**
 * Schema of the graders that `multi` combines: graders by name, or a single grader, which is
 * converted to an entry under its own name.
 */
const namedParts = z.unknown().transform((given, context): z.output<typeof parts> => {
  const isOne = typeof (given as { readonly type?: unknown } | null)?.type === 'string';
  const read = (isOne ? onePart : parts).safeParse(given);
  if (read.success) return read.data;
  // Not a zod union, because the problems of a union have no path.
  for (const issue of read.error.issues)
    context.issues.push({ ...issue, input: given } as z.core.$ZodRawIssue);
  return z.NEVER;
});

const multi = z
  .strictObject({ ...named('multi'), graders: namedParts, calculate_output: text() })
  .superRefine(({ graders, calculate_output: formula }, context) => {
    const names = Object.keys(graders);
    const report = (path: string[], problem: string): void =>
      context.addIssue({ code: 'custom', path, message: problem });
    const strange = names.find((name) => !/^[A-Za-z_]\w*$/.test(name));
    if (names.length === 0) report(['graders'], 'expected at least one grader');
    else if (strange !== undefined)
      report(
        ['graders', strange],
        `expected a name of letters, digits and _ that the formula can use`,
      );
    else
      try {
        parseFormula(formula, names);
      } catch (error) {
        report(['calculate_output'], (error as Error).message);
      }
  });

/** Schema of a grader, as OpenAI's API accepts it. `label_model` can only be a part of `multi`. */
export const graderSchema = z.discriminatedUnion(
  'type',
  [stringCheck, textSimilarity, scoreModel, python, multi],
  'expected the type string_check, text_similarity, score_model, python or multi (label_model is a part of multi only)',
);

export type GraderSpec = z.output<typeof graderSchema>;
/** Specification of a grader other than `multi`. `multi` may combine several of them. */
export type PartSpec = z.output<typeof part>;

/**
 * Returns the graders that `multi` combines; for any other grader, a list with the grader itself.
 */
const partsOfGrader = (spec: GraderSpec): readonly PartSpec[] =>
  spec.type === 'multi' ? Object.values(spec.graders) : [spec];

/** Returns the distinct names of the models that the grader calls. */
export const modelsOfGrader = (spec: GraderSpec): readonly string[] => [
  ...new Set(partsOfGrader(spec).flatMap((one) => ('model' in one ? [one.model] : []))),
];

/** Returns true if the grader executes Python code. */
export const needsPython = (spec: GraderSpec): boolean =>
  partsOfGrader(spec).some(({ type }) => type === 'python');

/**
 * Checks that a row has the values to which the grader's templates refer, before an answer is
 * graded.
 * @throws RewardError that names a missing value
 */
export function checkGraderRow(spec: GraderSpec, item: Namespaces['item']): void {
  const templates = JSON.stringify(partsOfGrader(spec).filter(({ type }) => type !== 'python'));
  for (const [variable] of templates.matchAll(/\{\{\s*item[^{}]*\}\}/g))
    parseTemplate(variable)({ item, sample: graderSample('') });
}
