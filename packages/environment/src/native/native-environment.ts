/**
 * Environments that run in the process that opens them. An episode is an object with state and a
 * step function.
 */
import type { ToolDefinition } from '@trinity-rft/core';
import { endsOnce } from '../seam/ends-once.js';
import type { Action, Environment, Episode, EpisodeStart, StepResult } from '../seam/types.js';

/** One episode of a native environment. */
export interface World {
  readonly observation: string;
  readonly instructions?: string;
  readonly tools?: readonly ToolDefinition[];
  /**
   * Takes a step. For an impossible action, the result is `refused`. The result is a promise only
   * if the world asks a judge.
   */
  step(action: Action): StepResult | Promise<StepResult>;
  /** See `Episode.grade`. */
  grade?(): number | undefined;
  /** See `Episode.stateKey`. */
  stateKey?(): string;
  /** Frees resources such as a database. */
  close?(): void;
}

/**
 * Creates an environment whose episodes are plain objects.
 * @param start must be pure, so that equal starts give equal worlds
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

function episodeOf(world: World): Episode {
  const { observation, instructions, tools } = world;
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
