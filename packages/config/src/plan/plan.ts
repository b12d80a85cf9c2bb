/**
 * Plan of a configuration as plain data: stages, steps, batch arithmetic, memory and files.
 */
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
import { planTinkerServer, runsElsewhere, type TinkerServerPlan } from './tinker-server.js';

export interface PlanOptions {
  /**
   * For each stage the rows of its task sets and supervised data, by their names, and of sets of
   * evaluations by `eval/NAME`; without it some totals are unknown.
   */
  readonly rows?: readonly Readonly<Record<string, number>>[];
  /** For each stage what its task pipeline does. @default unknown */
  readonly pipelines?: readonly (readonly PipelinePlan[])[];
  /** For each stage who grades. @default unknown */
  readonly graders?: readonly (readonly GraderPlan[])[];
  /** The configuration, for commands. @default "FILE" */
  readonly file?: string;
  /** Where TINKER_BASE_URL is looked up. @default nowhere */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Effect of a task pipeline on a task set. */
export interface PipelinePlan {
  readonly taskset: string;
  /** Tasks that go in. */
  readonly read: number;
  readonly kept: number;
  /** How many were left out by which operator, and why. */
  readonly dropped: string;
  /** A model has yet to be asked: `kept` at most. */
  readonly isBound: boolean;
}

/** Grader of a task set's answers, in words. */
export interface GraderPlan {
  readonly taskset: string;
  readonly grader: string;
}

export interface StagePlan {
  readonly stageName: string | undefined;
  readonly mode: Mode;
  /** The side of mode both that the process is. */
  readonly part: LoopPart | undefined;
  readonly algorithmType: string;
  readonly parts: readonly PlannedPart[];
  readonly lossAggMode: string;
  /** Unit of the rows of a train batch. */
  readonly rowWord: TrainBatchConfig['unit'] | 'answers' | 'texts' | 'pairs';
  readonly model: string;
  /** The server that trains; undefined: the process trains by itself, or does not train. */
  readonly tinker: TinkerServerPlan | undefined;
  /** The model that answers in place of this one, in words. */
  readonly external: string | undefined;
  /** The servers that sample. */
  readonly servers: readonly PlannedServer[];
  readonly processes: ProcessesPlan;
  readonly steps: StepPlan;
  /** One for each task set to learn from, if there is a task pipeline. */
  readonly pipelines: readonly PipelinePlan[];
  /** One for each task set whose answers a judge or words can grade. */
  readonly graders: readonly GraderPlan[];
  /** No weights are loaded here. */
  readonly isElsewhere: boolean;
  /** Undefined when the model is not on this disk. */
  readonly memory: MemoryPlan | undefined;
  /** Undefined where no TuFT and vLLM share one, or the model is not on this disk. */
  readonly gpu: GpuPlan | undefined;
  /** Undefined when the model is not on this disk, or the number of steps is not known. */
  readonly time: TimePlan | undefined;
  /** Undefined without prices, or where the number of steps is not known. */
  readonly cost: CostPlan | undefined;
  /** Relative to the stage's folder. */
  readonly files: readonly string[];
}

export interface RunPlan {
  readonly name: string;
  readonly jobDirectory: string;
  readonly resume: boolean;
  readonly seed: number;
  readonly stages: readonly StagePlan[];
}

/** Reads `config.json` of a local model; writes nothing. */
export function planConfig(config: ResolvedConfig, options: PlanOptions = {}): RunPlan {
  const { name, jobDirectory, resume, seed } = config;
  return {
    name,
    jobDirectory,
    resume,
    seed,
    stages: config.stages.map((stage) => planStage(stage, options)),
  };
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
    model: model.fromPreviousStage ? 'the last checkpoint of the stage before' : model.modelPath,
    tinker: planTinkerServer(stage, options.env?.['TINKER_BASE_URL']),
    external: externalText(stage),
    servers: planSamplers(stage, diskAt('.')),
    processes: planProcesses(stage, options.file ?? 'FILE'),
    steps,
    pipelines: options.pipelines?.[stage.stageIndex] ?? [],
    graders: options.graders?.[stage.stageIndex] ?? [],
    isElsewhere: runsElsewhere(stage),
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
