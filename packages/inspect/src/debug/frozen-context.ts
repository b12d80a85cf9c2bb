/**
 * Context of a stage whose model is not trained. Creating the context changes nothing in the run's
 * folder.
 */
import type { ResolvedConfig, StageConfig } from '@trinity-rft/config';
import {
  ConfigError,
  createRuntime,
  type Clock,
  type Logger,
  systemClock,
} from '@trinity-rft/core';
import { variablesOf, type FrozenStage, type loadExtensions } from '@trinity-rft/launcher/parts';

export interface FrozenContext extends FrozenStage {
  readonly extensions: Awaited<ReturnType<typeof loadExtensions>>;
}

interface FrozenContextOptions extends Pick<FrozenContext, 'stage' | 'startModel' | 'extensions'> {
  readonly logger: Logger;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  /** Environment variables. @default the environment of the process */
  readonly env?: FrozenContext['env'];
}

export function frozenContext({
  stage,
  startModel,
  extensions,
  logger,
  clock = systemClock,
  signal = new AbortController().signal,
  env = process.env,
}: FrozenContextOptions): FrozenContext {
  const runtime = createRuntime({ seed: stage.seed, clock, logger });
  return { stage, startModel, extensions, runtime, signal, env: variablesOf(stage, env) };
}

/**
 * Returns the first stage of mode `both`.
 * @throws ConfigError if there is no such stage
 */
export function exploringStage({ stages }: ResolvedConfig): StageConfig {
  const stage = stages.find(({ mode }) => mode === 'both');
  if (stage) return stage;
  throw new ConfigError(
    'No stage of the run explores, so there is no workflow to run. Give one stage mode: both.',
    { code: 'NOTHING_EXPLORES' },
  );
}
