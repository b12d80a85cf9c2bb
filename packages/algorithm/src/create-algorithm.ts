/** Puts an algorithm together from the tables: advantage, policy loss + KL loss + entropy loss, and what they need. */
import { ConfigError, noNeeds, pickRow, type Algorithm, type AlgorithmNeeds, type LossInput, type LossOutput } from '@trinity-rft/core';
import { advantageFns, type AdvantagePart } from './advantage/table.js';
import { aggregationWeights, lossAggModes, type LossAggMode } from './aggregate.js';
import { checkLossInput, type LossField } from './check-input.js';
import type { EntropyPart } from './entropy/entropy-loss.js';
import { entropyLossFns } from './entropy/table.js';
import type { KlPart } from './kl/kl-loss.js';
import { klLossFns } from './kl/table.js';
import type { LossTerm, Part, TermOutput, TermWithNeeds } from './part.js';
import { policyLossFns } from './policy-loss/table.js';

/** A row of a table, with arguments that differ from its defaults. */
export interface PartChoice {
  readonly name: string;
  /** Names in camelCase; null and undefined mean the default. */
  readonly args?: object | undefined;
}

/** The `algorithm` section of a resolved configuration fits. */
export interface AlgorithmOptions {
  /** Undefined for supervised data. */
  readonly advantageFn?: PartChoice | undefined;
  readonly policyLossFn: PartChoice;
  /** @default none */
  readonly klLossFn?: PartChoice | undefined;
  /** @default none */
  readonly entropyLossFn?: PartChoice | undefined;
  /** @default "token-mean" */
  readonly lossAggMode?: LossAggMode | undefined;
}

/**
 * `seed` feeds what an advantage function draws at random. @default 0
 * @throws ConfigError for an unknown name or argument, a value out of range, or parts that contradict each other
 */
export function createAlgorithm(options: AlgorithmOptions, seed = 0): Algorithm {
  const none: PartChoice = { name: 'none' };
  const mode = options.lossAggMode ?? 'token-mean';
  pickRow('loss_agg_mode', Object.fromEntries(lossAggModes.map((name) => [name, name])), mode);

  const advantage = options.advantageFn && make<AdvantagePart>('advantage function', advantageFns, options.advantageFn, seed);
  const policy = make<Part<TermWithNeeds>>('policy loss', policyLossFns, options.policyLossFn);
  const rollouts = advantage !== undefined || policy.needs.rollouts === true;
  const kl = make<KlPart>('KL loss', klLossFns, options.klLossFn ?? none, { rollouts });
  const entropy = make<EntropyPart>('entropy loss', entropyLossFns, options.entropyLossFn ?? none);
  if (policy.needs.rollouts && !advantage) {
    throw new ConfigError(
      `The policy loss "${options.policyLossFn.name}" needs advantages, and there is no advantage function. Choose one of ${Object.keys(advantageFns).join(', ')}.`,
      { code: 'ADVANTAGE_MISSING' },
    );
  }

  const parts = [policy, kl, entropy].filter((part) => part !== undefined);
  const needs: AlgorithmNeeds = Object.assign({ ...noNeeds, rollouts }, ...parts.map((part) => part.needs)) as AlgorithmNeeds;
  const terms = parts.map(({ term }) => term);
  return { ...(advantage && { advantage }), loss: (input) => evaluate(input, mode, terms, needs), needs: { ...needs, rollouts } };
}

function make<P extends Part<unknown, readonly never[]>>(
  kind: string,
  table: Readonly<Record<string, P>>,
  choice: PartChoice,
  ...context: P extends Part<unknown, infer C> ? C : never
): ReturnType<P['make']> {
  const part = pickRow(kind, table, choice.name);
  return part.make(`${kind} "${choice.name}"`, choice.args, ...context) as ReturnType<P['make']>;
}

function evaluate(input: LossInput, mode: LossAggMode, terms: readonly LossTerm[], needs: AlgorithmNeeds): LossOutput {
  checkLossInput(input, fieldsOf(needs));
  const weights = aggregationWeights(input, mode);
  const outputs = terms.map((term) => term(input, weights));
  const loss = outputs.reduce((sum, output) => sum + output.loss, 0);
  return {
    loss,
    gradLogprobs: sum(outputs, 'gradLogprobs', weights.length),
    ...(needs.entropy === 'gradient' && { gradEntropy: sum(outputs, 'gradEntropy', weights.length) }),
    metrics: Object.assign({}, ...outputs.map(({ metrics }) => metrics), { final_loss: loss }) as LossOutput['metrics'],
  };
}

function fieldsOf(needs: AlgorithmNeeds): readonly LossField[] {
  return [
    'currentLogprobs',
    ...(needs.rollouts ? (['oldLogprobs', 'advantages'] as const) : []),
    ...(needs.referenceLogprobs ? (['refLogprobs'] as const) : []),
    ...(needs.entropy === 'none' ? [] : (['entropy'] as const)),
  ];
}

function sum(outputs: readonly TermOutput[], field: 'gradLogprobs' | 'gradEntropy', size: number): Float32Array {
  const total = new Float64Array(size);
  for (const output of outputs) output[field]?.forEach((value, t) => (total[t]! += value));
  return Float32Array.from(total);
}
