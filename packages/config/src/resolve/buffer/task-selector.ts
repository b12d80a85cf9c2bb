/** Resolves the order of tasks, and checks the columns and operators that the order needs. */
import { booleanArg, numberArg, type ArgSpec } from '@trinity-rft/core';
import { taskSelector } from '../../schema/data.js';
import { resolveSection } from '../../schema/resolve-section.js';
import type { RunInput } from '../../schema/root.js';
import type { KeyPath } from '../../source/node.js';
import { derivePart } from '../algorithm/parts.js';
import type { StageContext } from '../base/context.js';
import type { TaskSelectorConfig } from '../base/resolved.js';

type SelectorInput = RunInput['buffer']['explorer_input']['tasksets'][number]['data_selector'];

const difficulty = {
  m: numberArg(16, { min: 1 }, 'Runs that an observation counts as.'),
  lamb: numberArg(0.2, { min: 0, max: 1 }, 'Share of the past that an update forgets.'),
  rho: numberArg(0.2, { min: 0, max: 1 }, 'Weight of what the ability of the model says.'),
  adaptiveRho: booleanArg(false, 'Halves rho when that was wrong by 0.25 or more.'),
  targetReward: numberArg(1, {}, 'Tasks whose pass rate is near it come first.'),
  tau: numberArg(1, { min: 0 }, 'Temperature of the choice; 0 = the nearest ones.'),
  doSample: booleanArg(false, 'Draws pass rates from their distributions.'),
} satisfies ArgSpec;

const table = { difficulty_based: { args: difficulty } };

/**
 * Resolves the order of the tasks of a task set.
 * @param place path of the task set
 */
export function deriveTaskSelector(
  context: StageContext,
  place: KeyPath,
  input: SelectorInput,
): TaskSelectorConfig {
  const { selector_type: name, feature_keys: features } = input;
  const at = (key: string): KeyPath => [...place, 'data_selector', key];
  const key = context.isSet(...at('feature_keys')) ? at('feature_keys') : at('selector_type');
  if (name === 'offline_easy2hard' && features.length === 0)
    context.report(
      key,
      'offline_easy2hard orders rows by columns, and feature_keys names none. Name one with a number in every row; higher is easier.',
    );
  if (name === 'difficulty_based' && features.length !== 2)
    context.report(
      key,
      `difficulty_based needs two feature_keys, and there are ${features.length}. Name the columns with the pass rates of a weak and of a strong model.`,
    );
  if (name === 'difficulty_based') explainFeedback(context, at('selector_type'));
  const args =
    name === 'difficulty_based'
      ? derivePart(
          context,
          { name: at('selector_type'), args: at('kwargs'), kind: 'data selector' },
          table,
          { name, preset: undefined },
        )?.args
      : undefined;
  return { ...resolveSection(taskSelector, input), selectorArgs: args };
}

function explainFeedback(context: StageContext, path: KeyPath): void {
  const { operators } = context.input.data_processor.experience_pipeline;
  if (operators.some(({ name }) => name === 'pass_rate_calculator')) return;
  context.warn(
    path,
    'without results the estimates stay as they are. Add the operator pass_rate_calculator to data_processor.experience_pipeline.operators.',
  );
}
