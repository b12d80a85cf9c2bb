/** The context of a stage whose model does not learn: nothing of the run's folder is changed. */
import type { ResolvedConfig, StageConfig } from '@trinity-rft/config';
import {
  ConfigError,
  createRuntime,
  type Clock,
  type Logger,
  systemClock,
} from '@trinity-rft/core';
import type { Extensions } from '@trinity-rft/launcher/parts';
import type { StageContext } from '@trinity-rft/launcher/parts';

interface FrozenContextOptions {
  readonly stage: StageConfig;
  readonly startModel: string;
  readonly extensions: Extensions;
  readonly logger: Logger;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

export function frozenContext({
  stage,
  startModel,
  extensions,
  logger,
  clock = systemClock,
  signal = new AbortController().signal,
}: FrozenContextOptions): StageContext {
  return {
    ...extensions,
    stage,
    startModel,
    endedBefore: false,
    runtime: createRuntime({ seed: stage.seed, clock, logger }),
    openSink: () => ({ write: () => undefined, close: () => Promise.resolve() }),
    expectSteps: () => undefined,
    signal,
  };
}

/** The first stage that explores. @throws ConfigError when there is none */
export function exploringStage({ stages }: ResolvedConfig): StageConfig {
  const stage = stages.find(({ mode }) => mode === 'both');
  if (stage) return stage;
  throw new ConfigError(
    'No stage of the run explores, so there is no workflow to run. Give one stage mode: both.',
    { code: 'NOTHING_EXPLORES' },
  );
}
