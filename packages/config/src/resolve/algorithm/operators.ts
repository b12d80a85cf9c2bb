/**
 * Resolves the operators on experiences: the operators of the file, otherwise those of the
 * algorithm. Mode train has no operators.
 */
import { didYouMean } from '@trinity-rft/core/support';
import type { AlgorithmConfig, ModelConfig, PartConfig } from '../base/resolved.js';
import { missingNames } from '../../schema/known-names.js';
import type { KeyPath } from '../../source/node.js';
import { comparesRuns, keptRuns, presetOf } from './algorithm.js';
import type { StageContext } from '../base/context.js';
import { derivePart, tryBuild } from './parts.js';

const section: KeyPath = ['data_processor', 'experience_pipeline', 'operators'];

export function deriveOperators(
  context: StageContext,
  { maxResponseTokens }: Pick<ModelConfig, 'maxResponseTokens'>,
  algorithm: AlgorithmConfig,
): readonly PartConfig[] {
  const chosen = chosenOperators(context, { maxResponseTokens, algorithm });
  if (context.mode !== 'train') return chosen;
  if (
    context.isSet(...section) &&
    context.input.data_processor.experience_pipeline.operators.length > 0
  ) {
    context.ignore(
      section,
      'Mode train reads experiences that are stored already, and operators work on them before they are stored. Set them in the run or stage that makes the experiences (mode both or serve), or remove the key.',
    );
  }
  return [];
}

/** Replaces the argument value `max_response_tokens` with the maximum response length. */
const withLength = ({ name, args }: PartConfig, maxResponseTokens: number): PartConfig => ({
  name,
  args: Object.fromEntries(
    Object.entries(args).map(([key, value]) => [
      key,
      value === 'max_response_tokens' ? maxResponseTokens : value,
    ]),
  ),
});

/** Settings that decide which operators have an effect. */
interface Surroundings {
  readonly maxResponseTokens: number;
  readonly algorithm: AlgorithmConfig;
}

function chosenOperators(context: StageContext, around: Surroundings): readonly PartConfig[] {
  const { maxResponseTokens } = around;
  const { operators: table } = context.tables;
  const preset = presetOf(context).operators ?? [];
  if (!context.isSet(...section))
    return preset.flatMap((choice) => {
      const place = { name: section, args: [...section, 'args'], kind: 'operator' };
      const part = derivePart(context, place, table, { name: choice.name, preset: choice });
      return part ? withLength(part, maxResponseTokens) : [];
    });
  const { operators } = context.input.data_processor.experience_pipeline;
  return operators.flatMap(({ name }, index) => {
    const place = {
      name: [...section, index, 'name'],
      args: [...section, index, 'args'],
      kind: 'operator',
    };
    const row = Object.hasOwn(table, name) ? table[name] : undefined;
    if (row === undefined) {
      reportUnknown(context, place.name, name);
      return [];
    }
    const derived = derivePart(context, place, table, { name, preset: undefined });
    if (derived === undefined) return [];
    const part = withLength(derived, maxResponseTokens);
    tryBuild(context, place, row.args, () => row.make(`operator "${name}"`, part.args));
    if (context.mode === 'both' || context.mode === 'serve')
      warnOfIdle(context, part, [...section, index], around);
    return part;
  });
}

/** Reports an unknown name, unless a status already reports the name as not supported. */
function reportUnknown(context: StageContext, path: KeyPath, name: string): void {
  const { operators } = context.tables;
  if (missingNames(context.tables, 'operators').includes(name)) return;
  const known = Object.keys(operators);
  context.report(
    path,
    `got ${name === '' ? 'nothing' : `"${name}"`}, expected one of ${known.join(', ')}.${didYouMean(name, known)}`,
  );
}

/** Warns of an operator of the file that changes nothing, or that leaves nothing to compare. */
function warnOfIdle(
  context: StageContext,
  { name, args }: PartConfig,
  place: KeyPath,
  { maxResponseTokens: longest, algorithm }: Surroundings,
): void {
  const { tasksets } = context.input.buffer.explorer_input;
  const { maxResponseLength: limit, cacheLength, cacheShare, threshold } = args as Numbers;
  const start = limit - Math.max(cacheLength, cacheShare * limit);
  if (name === 'overlong_penalty' && start >= longest)
    context.warn(
      [...place, 'args', 'max_response_length'],
      `got ${limit}, so only answers of more than ${start} tokens are penalised, and none is longer than max_response_tokens, ${longest}. Use max_response_tokens.`,
    );
  if (
    name === 'pass_rate_calculator' &&
    !tasksets.some(({ data_selector: { selector_type: type } }) => type === 'difficulty_based')
  )
    context.warn(
      [...place, 'name'],
      'tells pass rates to selectors that choose tasks by them, and no task set has data_selector.selector_type: difficulty_based. It only writes metrics, selection/*.',
    );
  if (
    name === 'reward_filter' &&
    threshold > 0 &&
    comparesRuns(context, algorithm) &&
    keptRuns(context, algorithm) === 'all'
  )
    context.warn(
      [...place, 'name'],
      `drops runs with a reward below ${threshold} before ${algorithm.advantageFn?.name} compares those of a task, so good runs are compared with good ones only; with rewards of 0 and 1 nothing is learned. Remove it, or use algorithm_type: raft, which imitates the best run.`,
    );
}

type Numbers = Readonly<
  Record<'maxResponseLength' | 'cacheLength' | 'cacheShare' | 'threshold', number>
>;
