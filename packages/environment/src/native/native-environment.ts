/**
 * Environments that run in the process that opens them. An episode is an object with its state and
 * a step function.
 */
import { ConfigError, type ToolDefinition } from '@trinity-rft/core';
import { returnedBy } from '@trinity-rft/core/support';
import { endsOnce } from '../seam/ends-once.js';
import type { Action, Environment, Episode, EpisodeStart, StepResult } from '../seam/types.js';

/** One episode of a native environment, with its state. */
export interface World {
  readonly observation: string;
  readonly instructions?: string;
  readonly tools?: readonly ToolDefinition[];
  /**
   * Takes a step. Returns a result with `refused` if the action is impossible. Returns a promise
   * only if the reward needs a judge.
   */
  step(action: Action): StepResult | Promise<StepResult>;
  /** Returns the grade of the final state; see `Episode.grade`. @default no grade */
  grade?(): number | undefined;
  /** Returns a key of the current state; see `Episode.stateKey`. @default no state keys */
  stateKey?(): string;
  /** Frees resources of the episode, such as a database. */
  close?(): void;
}

/**
 * Creates an environment whose episodes are plain objects.
 * @param start creates an episode; must be a pure function, so that equal starts give equal
 * episodes
 */
export function nativeEnvironment(
  start: (start: EpisodeStart) => World,
  close?: () => void,
): Environment {
  return {
    reset: async (from, signal) => {
      signal.throwIfAborted();
      return episodeOf(start(from));
    },
    close: async () => close?.(),
  };
}

const by = returnedBy(
  'The function given to nativeEnvironment',
  (message) => new ConfigError(message, { code: 'WORLD_INVALID' }),
);

/** @throws ConfigError for a world without an observation or a step function */
function episodeOf(world: World): Episode {
  const { observation, step } = by.fields(world, ['observation', 'step'], 'a world');
  if (typeof observation !== 'string') throw by.refuse(observation, 'a text', ' as observation');
  if (typeof step !== 'function') throw by.refuse(step, 'a function', ' as step');
  const { instructions, tools } = world;
  let isOpen = true;
  return endsOnce('A world', {
    observation,
    instructions,
    tools,
    step: async (action, signal) => {
      signal.throwIfAborted();
      return world.step(action);
    },
    grade: world.grade && (async () => world.grade?.()),
    stateKey: world.stateKey && (() => world.stateKey?.() ?? ''),
    close: async () => {
      if (isOpen) world.close?.();
      isOpen = false;
    },
  });
}
