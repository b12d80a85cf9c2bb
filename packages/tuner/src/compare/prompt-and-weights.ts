/**
 * Compares four variants on the same held-out rows, with their costs: the untuned model and prompt
 * (base), the tuned prompt alone, the tuned weights alone, and both. A better prompt is cheaper
 * than training, and often sufficient.
 */
import { mean, type RawTask } from '@trinity-rft/core';
import { pickRow } from '@trinity-rft/core/support';
import {
  meanInterval,
  pairedDifference,
  type Interval,
  type PairedDifference,
} from '@trinity-rft/explorer';
import type { AgentModel } from '@trinity-rft/workflow';
import { checkModels } from '../candidates/candidate.js';
import { runRows, type JudgedRow, type RowsOptions } from '../candidates/run-rows.js';
import type { DatasetFields } from '../config/dataset-config.js';
import type { TunerModelConfig, TunerModelFields } from '../config/model-config.js';
import {
  checkJudgeFunction,
  checkOptions,
  checkWorkflowFunction,
  type JudgeType,
  type ModelAdapter,
  type WorkflowInput,
} from '../functions/functions.js';
import type { WorkflowOutput } from '../functions/outputs.js';
import type { Components } from '../tune-prompt/play-rows.js';

/** Input of the workflow function: that of `tune`, and the agent's texts as in `tunePrompt`. */
export interface PromptedInput<Row = RawTask, Model = AgentModel> extends WorkflowInput<
  Row,
  Model
> {
  /** System prompt, which is the text `system` of the components. */
  readonly systemPrompt: string;
  readonly components: Components;
}

export interface PromptAndWeightsOptions<
  Row = RawTask,
  Response = unknown,
  Model = AgentModel,
> extends Pick<
  RowsOptions<Row, Response, Model>,
  'maxThreads' | 'logger' | 'cwd' | 'clock' | 'signal'
> {
  readonly workflowFunc: (
    input: PromptedInput<Row, Model>,
  ) => WorkflowOutput<Response> | Promise<WorkflowOutput<Response>>;
  readonly judgeFunc: JudgeType<Row, Response, Model>;
  readonly adapter?: ModelAdapter<Model>;
  /**
   * Held-out rows on which neither the prompt nor the weights were tuned. `totalSteps` limits their
   * number.
   */
  readonly evalDataset: DatasetFields;
  /** The agent's texts and the model before any tuning. */
  readonly base: { readonly components: Components; readonly model: TunerModelFields };
  /** Texts that `tunePrompt` found, keyed by name. `system` is the system prompt. */
  readonly prompt: Components;
  /** Model that was trained with the base texts, such as a checkpoint. */
  readonly weights: TunerModelFields;
  /** Model that was trained with the tuned texts, for the variant with both. @default `weights` */
  readonly both?: TunerModelFields;
  /**
   * Prices in US dollars per million tokens of prompts (`prefill`) and responses (`sample`).
   * @default undefined: costs are not computed in dollars
   */
  readonly prices?: { readonly prefill: number; readonly sample: number };
  /** Measured cost of tuning each variant, to be shown in the report. @default no tuning costs */
  readonly tuning?: Readonly<Partial<Record<Exclude<VariantName, 'base'>, Partial<Cost>>>>;
}

export type VariantName = 'base' | 'prompt only' | 'weights only' | 'both';

/** Costs of a variant, summed over the rows that succeeded. */
export interface Cost {
  /**
   * Number of model calls. Undefined if the calls were not measured, see {@link MeasuredResponse},
   * or if no row succeeded.
   */
  readonly calls?: number | undefined;
  /** Number of prompt tokens. Undefined if the tokens were not measured, or if no row succeeded. */
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  /** Sum of the durations of the rows. The rows may have run concurrently. */
  readonly seconds: number;
  /** Cost in US dollars. Undefined if no prices are given, or the tokens were not measured. */
  readonly dollars?: number;
}

export interface VariantResult {
  readonly name: VariantName;
  readonly components: Components;
  readonly modelPath: string;
  /** Mean reward over all rows, where a failed row counts as 0. */
  readonly reward: number;
  /** 95 % confidence interval of `reward`; undefined for fewer than two rows. */
  readonly interval: Interval | undefined;
  readonly failedRows: number;
  readonly cost: Cost;
  readonly tuning: Partial<Cost> | undefined;
}

/** Result of {@link comparePromptAndWeights}, as plain data. */
export interface PromptAndWeightsReport {
  readonly rows: number;
  /** Results of the variants, in the order base, prompt only, weights only, both. */
  readonly variants: readonly VariantResult[];
  /**
   * Differences between two variants, paired by row: base and each other variant, prompt only and
   * both, weights only and both.
   */
  readonly differences: readonly VariantDifference[];
}

export interface VariantDifference {
  readonly from: VariantName;
  readonly to: VariantName;
  readonly difference: PairedDifference;
}

const pairs = [
  ['base', 'prompt only'],
  ['base', 'weights only'],
  ['base', 'both'],
  ['prompt only', 'both'],
  ['weights only', 'both'],
] as const;

/**
 * Compares the variants by running every row once per variant. Local models use the same seeds for
 * all variants. Nothing is trained.
 * @throws InvalidFunctionError for invalid functions; ConfigError for invalid models; TaskError for
 * invalid data
 */
export async function comparePromptAndWeights<
  Row = RawTask,
  Response = unknown,
  Model = AgentModel,
>(options: PromptAndWeightsOptions<Row, Response, Model>): Promise<PromptAndWeightsReport> {
  checkOptions(
    'comparePromptAndWeights()',
    options,
    'adapter evalDataset base prompt weights both prices tuning maxThreads logger',
  );
  checkWorkflowFunction(options.workflowFunc);
  checkJudgeFunction(options.judgeFunc);
  const { base, weights, both = weights } = options;
  for (const name of Object.keys(options.prompt))
    pickRow('text in base.components named', base.components, name);
  const prompt = { ...base.components, ...options.prompt };
  const variants = [
    { name: 'base', components: base.components, fields: base.model },
    { name: 'prompt only', components: prompt, fields: base.model },
    { name: 'weights only', components: base.components, fields: weights },
    { name: 'both', components: prompt, fields: both },
  ] as const;
  const fields = variants.map((variant) => variant.fields);
  const models = checkModels(fields, options.evalDataset, options);
  const rewards = new Map<VariantName, readonly number[]>();
  const results: VariantResult[] = [];
  for (const [i, { name, components }] of variants.entries()) {
    const model = models[i]!;
    const rows = await runVariant(options, components, model);
    const perRow = rows.map(({ reward = 0 }) => reward);
    rewards.set(name, perRow);
    results.push({
      ...{ name, components, modelPath: model.modelPath },
      reward: mean(perRow),
      interval: meanInterval(perRow),
      failedRows: rows.filter(({ reward }) => reward === undefined).length,
      cost: costOf(rows, options.prices),
      tuning: name === 'base' ? undefined : options.tuning?.[name],
    });
  }
  const of = (name: VariantName): readonly number[] => rewards.get(name) ?? [];
  return {
    rows: of('base').length,
    variants: results,
    differences: pairs.map(([from, to]) => ({
      ...{ from, to },
      difference: pairedDifference(of(from), of(to)),
    })),
  };
}

function runVariant<Row, Response, Model>(
  options: PromptAndWeightsOptions<Row, Response, Model>,
  components: Components,
  model: TunerModelConfig,
): Promise<readonly JudgedRow[]> {
  const { workflowFunc, judgeFunc, evalDataset } = options;
  const systemPrompt = components['system'] ?? '';
  return runRows<Row, Response, Model>(model, {
    ...options,
    dataset: evalDataset,
    workflowFunc: (input) => workflowFunc({ ...input, systemPrompt, components }),
    judgeFunc: ({ response, ...input }) => judgeFunc({ ...input, response: response.response }),
  });
}

function costOf(rows: readonly JudgedRow[], prices: PromptAndWeightsOptions['prices']): Cost {
  const measured = rows.map(({ metrics }) => metrics).filter((metrics) => metrics !== undefined);
  const sum = (key: string): number | undefined =>
    measured.length > 0 && measured.every((metrics) => key in metrics)
      ? measured.reduce((total, metrics) => total + (metrics[key] ?? 0), 0)
      : undefined;
  const [inputTokens, outputTokens] = [sum('input_tokens'), sum('output_tokens')];
  const hasTokens = inputTokens !== undefined && outputTokens !== undefined;
  return {
    calls: sum('model_calls'),
    ...{ inputTokens, outputTokens },
    seconds: sum('execution_time') ?? 0,
    ...(prices &&
      hasTokens && {
        dollars: (inputTokens * prices.prefill + outputTokens * prices.sample) / 1e6,
      }),
  };
}
