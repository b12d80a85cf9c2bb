/** The call of `tune` in the tutorial. */
import type { RunSummary, Terminal } from '@trinity-rft/launcher';
import { AlgorithmConfig, DatasetConfig, tune, TunerModelConfig } from '@trinity-rft/tuner';
import { agentscope, judgeFunction, runReactAgent } from './agent.ts';

export interface TrainOptions {
  readonly modelPath: string;
  /** Explore steps. @default three passes over the problems */
  readonly totalSteps?: number;
  /** The folder of `my_dataset/` and `checkpoints/`. @default the working directory */
  readonly cwd?: string;
  readonly terminal?: Terminal;
  readonly signal?: AbortSignal;
}

export function trainAgent({
  modelPath,
  totalSteps,
  ...settings
}: TrainOptions): Promise<RunSummary> {
  return tune({
    workflowFunc: runReactAgent,
    judgeFunc: judgeFunction,
    trainDataset: DatasetConfig({ path: 'my_dataset', split: 'train', totalEpochs: 3, totalSteps }),
    evalDataset: DatasetConfig({ path: 'my_dataset', split: 'test' }),
    model: TunerModelConfig({ modelPath, maxModelLen: 22, maxTokens: 6 }),
    algorithm: AlgorithmConfig({
      algorithmType: 'multi_step_grpo', // a GRPO algorithm for agents
      groupSize: 8,
      batchSize: 32,
      learningRate: 1.5e-3,
    }),
    adapter: agentscope,
    ...settings,
  });
}
