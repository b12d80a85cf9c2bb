/**
 * The older variant of `tune`. It accepts a configuration file, and a workflow function that
 * returns the reward.
 */
import type { RawTask } from '@trinity-rft/core';
import { assertKnownArgs } from '@trinity-rft/core/support';
import type { RunSummary } from '@trinity-rft/launcher';
import type { AgentModel } from '@trinity-rft/workflow';
import {
  checkWorkflowFunction,
  nameOf,
  type ModelAdapter,
  type WorkflowInput,
} from '../functions/functions.js';
import { InvalidOutputError, type WorkflowOutput } from '../functions/outputs.js';
import { plan, readConfigFile, type ConfigFile, type PlanSettings } from '../config/plan.js';
import { train, type RunSettings } from './tune.js';

type Surroundings = Pick<PlanSettings, 'env' | 'cwd' | 'clock' | 'algorithms'>;

/** A loaded and validated configuration file. */
export interface LearnConfig {
  readonly file: ConfigFile;
  readonly surroundings: Surroundings;
}

/**
 * Provides the function that loads configuration files: `LearnConfig.loadConfig('config.yaml')`.
 */
export const LearnConfig = {
  /**
   * Loads a configuration file.
   * @throws ConfigError that lists every problem of the file with line, column, value and fix
   */
  loadConfig(path: string, surroundings: Surroundings = {}): LearnConfig {
    const file = readConfigFile({ ...surroundings, configPath: path }) as ConfigFile;
    plan('learn()', surroundings, file);
    return { file, surroundings };
  },
} as const;

/** Function that runs the agent on one task and returns the reward. */
export type LearnWorkflow<Row = RawTask, Model = AgentModel> = (
  input: WorkflowInput<Row, Model>,
) => number | Promise<number>;

/** Options of `learn`. Without `adapter`, the workflow function receives an {@link AgentModel}. */
export interface LearnOptions<Row = RawTask, Model = AgentModel> extends RunSettings {
  readonly workflowFunc: LearnWorkflow<Row, Model>;
  readonly config: LearnConfig;
  /** Function that creates your framework's model objects. @default undefined: no adapter */
  readonly adapter?: ModelAdapter<Model>;
}

/** Options with an adapter, which is required if `Model` is not {@link AgentModel}. */
export type AdaptedLearnOptions<Row, Model> = LearnOptions<Row, Model> & {
  readonly adapter: ModelAdapter<Model>;
};

/**
 * Trains the model like `tune`.
 * @throws InvalidOutputError if the function does not return a finite number
 */
export function learn<Row = RawTask>(options: LearnOptions<Row>): Promise<RunSummary>;
export function learn<Row, Model>(options: AdaptedLearnOptions<Row, Model>): Promise<RunSummary>;
export async function learn<Row, Model>({
  workflowFunc,
  config,
  adapter,
  ...settings
}: LearnOptions<Row, Model>): Promise<RunSummary> {
  assertKnownArgs('learn()', settings, ['signal', 'terminal', 'dryRun']);
  checkWorkflowFunction(workflowFunc);
  const scored = async (input: WorkflowInput<Row, Model>): Promise<WorkflowOutput> => ({
    reward: finite(nameOf(workflowFunc, 'workflowFunc'), await workflowFunc(input)),
  });
  return train(
    'learn()',
    { workflowFunc: scored, adapter },
    { ...config.surroundings, ...settings },
    config.file,
  );
}

function finite(name: string, reward: unknown): number {
  if (typeof reward === 'number' && Number.isFinite(reward)) return reward;
  const actual =
    typeof reward === 'number'
      ? String(reward)
      : reward === undefined
        ? 'nothing'
        : `a value of type ${typeof reward}`;
  throw new InvalidOutputError(
    `Workflow function "${name}" returned ${actual}; learn() expects the reward, a finite number.`,
    { code: 'OUTPUT_INVALID', details: { function: name, field: 'reward' } },
  );
}
