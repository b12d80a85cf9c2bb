/** Measures the prompt of the first generated task of an environment, in tokens of the model. */
import type { StageConfig, TasksetConfig } from '@trinity-rft/config';
import {
  ConfigError,
  describeError,
  type RawTask,
  deriveSeed,
  silentLogger,
  systemClock,
  taskSystemPrompt,
} from '@trinity-rft/core';
import { beginEpisode } from '../outer/outer.js';
import { readChatFormat } from '../assembly/models/chat-format.js';
import type { Extensions } from '../context/stage-context.js';

/** Timeout of the environment, in ms. It is short because a user waits at the terminal. */
const patienceMs = 30_000;

interface Measured {
  readonly stage: StageConfig;
  readonly taskset: TasksetConfig;
  readonly row: RawTask;
  readonly extensions: Extensions;
  readonly signal: AbortSignal;
}

interface PromptWarning {
  readonly about: 'max_prompt_tokens' | 'environment_args';
  readonly message: string;
}

/**
 * Begins the first task of a generated task set, and closes it. Returns a warning if its prompt is
 * too long or cannot be measured, with the key that it is about. Otherwise returns undefined, also
 * for task sets that no environment generates. The model must be on this disk.
 * @throws ConfigError if the environment cannot be opened with its arguments
 */
export async function promptWarning(measured: Measured): Promise<PromptWarning | undefined> {
  const { storageType, workflow, workflowArgs } = measured.taskset;
  const { environment } = workflowArgs;
  if (storageType !== 'generated' || workflow !== 'environment_workflow') return undefined;
  if (typeof environment !== 'string') return undefined;
  const { maxPromptTokens } = measured.stage.model;
  try {
    const length = await lengthOf(environment, measured);
    return length <= maxPromptTokens
      ? undefined
      : {
          about: 'max_prompt_tokens',
          message: `got ${maxPromptTokens}, but the first task of environment "${environment}" begins with a prompt of ${length} tokens, before a turn is played. Raise it, or make the task smaller.`,
        };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    return {
      about: 'environment_args',
      message: `the first task of environment "${environment}" could not be begun and compared with max_prompt_tokens: ${describeError(error)}`,
    };
  }
}

async function lengthOf(
  name: string,
  { stage, taskset, row, extensions, signal }: Measured,
): Promise<number> {
  const args = (taskset.workflowArgs['environment_args'] ?? {}) as Readonly<
    Record<string, unknown>
  >;
  const environment = extensions.environments.open(name, args, silentLogger);
  const limits = { timeoutMs: patienceMs, limitName: 'the limit of this check' };
  const guard = { name, ...limits, clock: systemClock, logger: silentLogger, signal };
  const seed = deriveSeed(0, 'episode', JSON.stringify(row));
  const episode = await beginEpisode(environment, { row, seed }, guard);
  try {
    const { instructions, observation, tools } = episode;
    const system = taskSystemPrompt({ rawTask: row, formatArgs: taskset.format }) ?? instructions;
    const first = system === undefined ? [] : [{ role: 'system' as const, content: system }];
    const { rolloutModel } = stage.explorer;
    const format = await readChatFormat(stage.model.modelPath, rolloutModel);
    const messages = [...first, { role: 'user' as const, content: observation }];
    const { enableThinking } = rolloutModel;
    return format.encode(format.render({ messages, tools, enableThinking })).length;
  } finally {
    await episode.close();
  }
}
