/** Plans a configuration as plain data: stages, steps, batch arithmetic, memory and files. */
import { diskAt } from '../resolve/base/disk.js';
import type {
  LoopPart,
  Mode,
  ResolvedConfig,
  StageConfig,
  TrainBatchConfig,
} from '../resolve/base/resolved.js';
import { planCost, type CostPlan } from './cost.js';
import { planFiles } from './files.js';
import { planGpu, type GpuPlan } from './gpu.js';
import { planParts, type PlannedPart } from './recipe.js';
import { planMemory, type MemoryPlan } from './memory.js';
import { planProcesses, type ProcessesPlan } from './processes.js';
import { planSamplers, type PlannedServer } from './samplers.js';
import { planSteps, type StepPlan } from './steps.js';
import { planTime, type TimePlan } from './time.js';
import { planTinkerServer, runsRemotely, type TinkerServerPlan } from './tinker-server.js';

export interface PlanOptions {
  /**
   * For each stage, the numbers of rows of its task sets and supervised data, by name. Evaluation
   * sets have the name `eval/NAME`. Without these numbers, some totals are unknown.
   */
  readonly rows?: readonly Readonly<Record<string, number>>[];
  /**
   * For each stage, the effects of its task pipeline. @default undefined: the plan has no pipelines
   */
  readonly pipelines?: readonly (readonly PipelinePlan[])[];
  /** For each stage, the graders of its task sets. @default undefined: the plan has no graders */
  readonly graders?: readonly (readonly GraderPlan[])[];
  /** Name of the configuration file in printed commands. @default "FILE" */
  readonly file?: string;
  /** Environment variables. Only TINKER_BASE_URL is read. @default no variables */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Effect of a task pipeline on a task set. */
export interface PipelinePlan {
  readonly taskset: string;
  /** Number of tasks before the pipeline. */
  readonly read: number;
  readonly kept: number;
  /** Description of how many tasks each operator removed, and why. */
  readonly dropped: string;
  /**
   * True if `kept` is an upper bound, because an operator that calls a model has not been applied
   * yet.
   */
  readonly isBound: boolean;
}

/** Name of a task set, and a description of its grader. */
export interface GraderPlan {
  readonly taskset: string;
  readonly grader: string;
}

export interface StagePlan {
  readonly stageName: string | undefined;
  readonly mode: Mode;
  /**
   * Part of mode `both` that this process executes; undefined if it executes the whole mode, or
   * another mode.
   */
  readonly part: LoopPart | undefined;
  readonly algorithmType: string;
  readonly parts: readonly PlannedPart[];
  readonly lossAggMode: string;
  /** Word for the rows of a train batch in the printed plan. */
  readonly rowWord: TrainBatchConfig['unit'] | 'answers' | 'texts' | 'pairs';
  readonly model: string;
  /** Tinker server that the process uses; undefined if the process uses no server. */
  readonly tinker: TinkerServerPlan | undefined;
  /**
   * Name, address and key variable of the external model that generates responses instead of the
   * trained model; undefined if there is none.
   */
  readonly external: string | undefined;
  /** Servers that sample instead of the engine; empty if the engine samples. */
  readonly servers: readonly PlannedServer[];
  readonly processes: ProcessesPlan;
  readonly steps: StepPlan;
  /** One plan for each task set of the training, if there is a task pipeline. */
  readonly pipelines: readonly PipelinePlan[];
  /** One plan for each task set whose workflow describes its grader. */
  readonly graders: readonly GraderPlan[];
  /**
   * True if servers run the trained model. This process may still load a critic or other models.
   */
  readonly runsRemotely: boolean;
  /** Memory of the embedded engine; undefined if the model is not on this disk. */
  readonly memory: MemoryPlan | undefined;
  /**
   * Memory of the GPU; undefined if TuFT and vLLM do not share a GPU, or if the model is not on
   * this disk.
   */
  readonly gpu: GpuPlan | undefined;
  /**
   * Estimated time on this machine; undefined if servers execute the model, if the model is not on
   * this disk, or if the number of steps is unknown.
   */
  readonly time: TimePlan | undefined;
  /**
   * Estimated price on a Tinker server; undefined if there are no prices, or if the number of steps
   * is unknown.
   */
  readonly cost: CostPlan | undefined;
  /** Paths of the files that the stage writes, relative to its folder. */
  readonly files: readonly string[];
}

export interface RunPlan {
  readonly name: string;
  readonly jobDirectory: string;
  readonly resume: boolean;
  readonly seed: number;
  readonly stages: readonly StagePlan[];
}

/**
 * Plans a training run from its resolved configuration: steps, memory, time, price and files. Reads
 * `config.json` of local models. Writes nothing.
 */
export function planConfig(config: ResolvedConfig, options: PlanOptions = {}): RunPlan {
  const { name, jobDirectory, resume, seed } = config;
  const stages = config.stages.map((stage) => planStage(stage, options));
  return { name, jobDirectory, resume, seed, stages };
}

const rowWords = { sft: 'answers', cpt: 'texts', dpo: 'pairs' } as const;

function planStage(stage: StageConfig, options: PlanOptions): StagePlan {
  const { stageName, mode, part, algorithm, model } = stage;
  const steps = planSteps(stage, options.rows?.[stage.stageIndex] ?? {});
  return {
    stageName,
    mode,
    part,
    algorithmType: algorithm.algorithmType,
    parts: planParts(stage),
    lossAggMode: algorithm.lossAggMode,
    rowWord: { experience: stage.buffer.trainBatch.unit, ...rowWords }[algorithm.schema],
    model: model.fromPreviousStage
      ? 'the last checkpoint of the stage before that trains'
      : model.modelPath,
    tinker: planTinkerServer(stage, options.env?.['TINKER_BASE_URL']),
    external: externalText(stage),
    servers: planSamplers(stage, diskAt('.')),
    processes: planProcesses(stage, options.file ?? 'FILE'),
    steps,
    pipelines: options.pipelines?.[stage.stageIndex] ?? [],
    graders: options.graders?.[stage.stageIndex] ?? [],
    runsRemotely: runsRemotely(stage),
    memory: planMemory(stage, diskAt('.')),
    gpu: planGpu(stage, diskAt('.')),
    time: planTime(stage, steps, diskAt('.')),
    cost: planCost(stage, steps),
    files: planFiles(stage, steps),
  };
}

function externalText({ external, part }: StageConfig): string | undefined {
  if (external === undefined || part === 'train') return undefined;
  const { name, baseUrl, baseUrlEnv, apiKeyEnv, apiKey } = external;
  const key = apiKey === undefined ? `; its key is in ${apiKeyEnv}` : '';
  return `${name} at ${baseUrl ?? `the address in ${baseUrlEnv}`}${key}`;
}
