/** Defines policy losses, either by a formula over tokens or by a function of the whole batch. */
import type { AlgorithmNeeds, ArgSpec, ArgValues, LossInput, Metrics } from '@trinity-rft/core';
import { readArgs } from '@trinity-rft/core/support';
import { aggregationWeights, lossAggModeArg, type LossAggMode } from './aggregate.js';
import { noDoc, type Part, type PartDoc } from './part.js';
import type {
  BatchLoss,
  KnownLoss,
  LossPart,
  OpenLoss,
  RowQuantities,
  TokenLoss,
  TokenQuantities,
  TokenResult,
} from './token-loss.js';

export interface DescribedLoss<S extends ArgSpec> {
  /**
   * Names, defaults and ranges of arguments other than `lossAggMode`. @default no other arguments
   */
  readonly args?: S;
  readonly doc?: PartDoc;
  /**
   * Inputs that the loss needs in addition to `logprob`: `rollouts` for advantages and ratios,
   * `referenceLogprobs` for `refLogRatio`, and `entropy`.
   * @default `{ rollouts: true }`
   */
  readonly needs?: Partial<Omit<AlgorithmNeeds, 'advantages' | 'ratios'>>;
  /**
   * Returns true if the gradient depends on the log-probabilities at sampling. Only called if the
   * loss reads them.
   * @default always true
   */
  readonly ratios?: (args: ArgValues<S>) => boolean;
}

/**
 * Definition of a loss by a formula over tokens. The formula computes the value, the derivative and
 * the metrics from the quantities of one token.
 */
export interface TokenLossDefinition<
  S extends ArgSpec,
  Constants = ArgValues<S>,
  State = Constants,
  TokenMean extends string = never,
  RowMean extends string = never,
> extends DescribedLoss<S> {
  /** Metric name of the aggregated loss. */
  readonly lossMetric: string;
  /**
   * Metrics that are means over trained tokens. `token` adds to their sums in `out.sums`.
   * @default no such metrics
   */
  readonly tokenMeans?: readonly TokenMean[];
  /**
   * Metrics that are means over rows. `row` adds to their sums in `out.sums`.
   * @default no such metrics
   */
  readonly rowMeans?: readonly RowMean[];
  /**
   * Returns constants that the formulas use, derived from the arguments.
   * @default the arguments
   * @throws ConfigError for arguments that contradict each other
   */
  readonly constants?: (args: ArgValues<S>) => Constants;
  /**
   * Computes state from the whole batch, before any token is evaluated.
   * @default a function that returns the constants
   */
  readonly prepare?: (input: LossInput, constants: Constants) => State;
  /** Called for every row, before its tokens. */
  readonly row?: (
    row: RowQuantities,
    out: { readonly sums: Record<RowMean, number> },
    state: NoInfer<State>,
  ) => void;
  /** Sets `out.loss` and `out.gradient` for a trained token; both are 0 unless set. */
  readonly token: (
    token: TokenQuantities,
    out: TokenResult<TokenMean>,
    state: NoInfer<State>,
  ) => void;
  /** Metrics of the whole batch. */
  readonly metrics?: (state: NoInfer<State>) => Metrics;
  /**
   * Aggregation mode that the loss requires. Overrides the mode of the configuration.
   * @default the mode of the configuration
   */
  readonly aggregation?: (args: ArgValues<S>) => LossAggMode | undefined;
  /**
   * Form of the loss that engines may compute themselves. If an engine's value is inexact for rare
   * tokens, the trainer adds the difference afterwards.
   * @default no such form
   */
  readonly known?: (constants: Constants) => KnownLoss | undefined;
  /**
   * Returns the loss with additional behaviour that an argument turns on, or the same loss.
   * @default no wrapper
   */
  readonly wrap?: (loss: TokenLoss, args: ArgValues<S>) => TokenLoss;
}

/** A loss that is not a sum over tokens, such as a loss over pairs. */
export interface BatchLossDefinition<S extends ArgSpec> extends DescribedLoss<S> {
  /** `weights` is the result of `aggregationWeights`. [N] */
  readonly batch: (input: LossInput, args: ArgValues<S>, weights: Float64Array) => BatchLoss;
}

/** An entry of the table of policy losses. */
export type PolicyLossPart = Part<LossPart>;

/** A policy loss that is a formula over tokens, which can also be a term of other losses. */
export interface TokenLossPart<S extends ArgSpec> extends PolicyLossPart {
  readonly loss: (args: ArgValues<S>) => TokenLoss;
}

/** Defines a policy loss, typed by its arguments. */
export function definePolicyLoss<
  const S extends ArgSpec = Readonly<Record<never, never>>,
  Constants = ArgValues<S>,
  State = Constants,
  const TokenMean extends string = never,
  const RowMean extends string = never,
>(definition: TokenLossDefinition<S, Constants, State, TokenMean, RowMean>): TokenLossPart<S>;
export function definePolicyLoss<S extends ArgSpec>(
  definition: BatchLossDefinition<S>,
): PolicyLossPart;
export function definePolicyLoss<S extends ArgSpec>(
  definition: AnyTokenLoss<S> | BatchLossDefinition<S>,
): PolicyLossPart {
  if (isBatchLoss(definition)) {
    const { batch } = definition;
    return composePolicyLoss(definition, (args) => (input, { mode, norm }) => ({
      terms: [],
      whole: batch(input, args, aggregationWeights(input, mode, { norm })),
    }));
  }
  const loss = (args: ArgValues<S>): TokenLoss => tokenLossOf(definition, args);
  const part = composePolicyLoss(
    definition,
    (args) => {
      const term = { loss: loss(args), mode: definition.aggregation?.(args) };
      return () => ({ terms: [term] });
    },
    (args) => {
      const known = definition.known?.(constantsOf(definition, args));
      return known && { ...known, mode: definition.aggregation?.(args) };
    },
  );
  return Object.assign(part, { loss });
}

const isBatchLoss = <S extends ArgSpec>(
  definition: AnyTokenLoss<S> | BatchLossDefinition<S>,
): definition is BatchLossDefinition<S> => 'batch' in definition && Boolean(definition.batch);

/**
 * Defines a policy loss that is a sum of terms or a loss of the whole batch. `open` receives the
 * aggregation of the algorithm, with the mode of the argument `lossAggMode` if that is set.
 */
export function composePolicyLoss<S extends ArgSpec>(
  { args: own, doc = noDoc, needs = { rollouts: true }, ratios }: DescribedLoss<S>,
  open: (args: ArgValues<S>) => LossPart['open'],
  knownOf: (args: ArgValues<S>) => LossPart['known'] = () => undefined,
): PolicyLossPart {
  const args = { ...(own ?? ({} as S)), lossAggMode: lossAggModeArg };
  const readsRollouts = needs.rollouts === true;
  return {
    args,
    doc,
    make: (owner, given) => {
      const options = readArgs(owner, args, given);
      const opened = open(options as ArgValues<S>);
      const own = options.lossAggMode;
      const known = knownOf(options as ArgValues<S>);
      return {
        needs: {
          ...needs,
          advantages: readsRollouts,
          ratios: readsRollouts && (ratios?.(options as ArgValues<S>) ?? true),
        },
        known: known && { ...known, mode: known.mode ?? own },
        open: own
          ? (input, aggregation) => inMode(own, opened(input, { ...aggregation, mode: own }))
          : opened,
      };
    },
  };
}

const inMode = (mode: LossAggMode, { terms, ...rest }: OpenLoss): OpenLoss => ({
  ...rest,
  terms: terms.map((term) => ({ ...term, mode: term.mode ?? mode })),
});

/** A token loss definition whose `Constants`, `State` and metric types are arbitrary. */
export type AnyTokenLoss<S extends ArgSpec> = TokenLossDefinition<
  S,
  unknown,
  unknown,
  string,
  string
>;

const constantsOf = <S extends ArgSpec>(
  { constants }: AnyTokenLoss<S>,
  args: ArgValues<S>,
): unknown => (constants ? constants(args) : args);

function tokenLossOf<S extends ArgSpec>(
  definition: AnyTokenLoss<S>,
  args: ArgValues<S>,
): TokenLoss {
  const { lossMetric, tokenMeans = [], rowMeans = [], row, token, metrics } = definition;
  const { prepare, wrap } = definition;
  const constants = constantsOf(definition, args);
  const loss: TokenLoss = {
    lossMetric,
    tokenMeans,
    rowMeans,
    prepare: (input) => (prepare ? prepare(input, constants) : constants),
    row,
    token,
    metrics,
  };
  return wrap ? wrap(loss, args) : loss;
}
