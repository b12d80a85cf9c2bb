/** Configuration of a simulated run, limited to the keys that its processes read. */
import type { StageConfig } from '../../packages/config/src/index.ts';
import { silentLogger } from '../../packages/core/src/index.ts';
import type { StageContext } from '../../packages/launcher/src/context/stage-context.ts';
import { diskRoot } from './disk.ts';
import { agentOf, type ProcessParts } from './parts.ts';
import type { Scenario } from './scenario.ts';

export const jobFolder = `${diskRoot}/job`;

function stageOf(scenario: Scenario, explorer: string): StageConfig {
  const { tasksPerStep, repeatTimes, style, syncInterval, syncOffset } = scenario;
  const stage = {
    mode: 'both',
    project: 'simulated',
    group: '',
    name: 'run',
    seed: scenario.seed,
    engine: 'simulated',
    jobDirectory: jobFolder,
    algorithm: {
      repeatTimes,
      optimizer: { lr: 0.1, lrSchedulerType: 'constant' },
      sampleStrategy: { name: 'default', args: {} },
    },
    model: { maxResponseTokens: 4 },
    buffer: {
      batchSize: tasksPerStep,
      trainBatch: {
        unit: 'tasks',
        size: tasksPerStep,
        own: tasksPerStep,
        perExploreStep: tasksPerStep,
      },
      trainerInput: {
        experienceBuffer: { storageType: 'queue', storage: 'sqlite', maxReadTimeoutMs: 3_600_000 },
      },
    },
    explorer: {
      name: explorer,
      concurrency: scenario.concurrency,
      maxTimeoutMs: 600_000,
      maxRetryTimes: 2,
      evalOnStartup: false,
      dynamicSampling: { enable: false },
      overRollout: scenario.overRollout,
      dynamicTimeout: { enable: false },
    },
    trainer: { saveInterval: scenario.saveInterval },
    synchronizer: {
      syncMethod: scenario.weightsInStore ? 'memory' : 'checkpoint',
      syncStyle: style,
      syncInterval,
      syncOffset,
      explorerSyncInterval: syncInterval,
      trainerSyncInterval: syncInterval,
      maxStaleness: scenario.maxStaleness,
      syncTimeoutMs: 7_200_000,
    },
    dataProcessor: { experiencePipeline: { operators: [] } },
    monitor: { detailedStats: false },
  };
  return stage as unknown as StageConfig;
}

/** Context that the launcher passes to every mode. */
export function contextOf(
  { scenario, runtime }: Pick<ProcessParts, 'scenario' | 'runtime'>,
  explorer: string,
  signal: AbortSignal,
): StageContext {
  const context = {
    stage: stageOf(scenario, explorer),
    startModel: '',
    endedBefore: false,
    runtime: { ...runtime, logger: silentLogger },
    openSink: () => ({ write: () => undefined, close: () => Promise.resolve() }),
    signal,
    expectSteps: () => undefined,
    extensions: { workflows: { get: () => agentOf(scenario) }, rewardFns: {}, algorithms: {} },
  };
  return context as unknown as StageContext;
}
