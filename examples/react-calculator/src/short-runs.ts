/** Short trainings with the agents of all frameworks from the same weights, and their records. */
import path from 'node:path';
import { readExperiences } from '@trinity-rft/buffer';
import { runKey, type Experience } from '@trinity-rft/core';
import { verifyRun } from '@trinity-rft/inspect';
import { type RunSummary, type Terminal } from '@trinity-rft/launcher';
import { runFramework } from './frameworks.ts';
import { prepare } from './prepare.ts';

const warmupSteps = 160;

/** The size of an explore step and of the run. */
export interface RunSize {
  readonly tasks: number;
  readonly runsPerTask: number;
  readonly steps: number;
}

/** Sizes of the runs, with fewer steps than in the example; `small` is for agents that start a program per run. */
export const sizes = {
  full: { tasks: 16, runsPerTask: 8, steps: 3 },
  small: { tasks: 4, runsPerTask: 4, steps: 2 },
} as const satisfies Readonly<Record<string, RunSize>>;

/** Results of comparing the records of a run with recomputed values. */
export interface Exactness {
  /** Number of recorded model calls. */
  readonly turns: number;
  /** Number of calls that are not the first of their run. */
  readonly later: number;
  /** Number of later calls whose prompt starts with all tokens of the previous turn. */
  readonly continued: number;
  /** Number of turns whose prompt was tokenized again, by reason. */
  readonly forks: Readonly<Record<string, number>>;
  /** Number of sampled tokens whose log-probability was recomputed with the weights that sampled them. */
  readonly tokens: number;
  /** Largest difference between recorded and recomputed log-probability. */
  readonly largest: number;
  /** True if all tokens were checked and differ by at most 1e-5. */
  readonly ok: boolean;
}

export interface ShortRuns {
  /** Trains the agent of a framework, or the example's own. */
  train(name: string, size: RunSize, framework?: string): Promise<RunSummary>;
  /** Checks the records of a run of {@link train} that has the name of its framework. */
  exactness(framework: string): Promise<Exactness>;
}

/** Creates data and a model in `directory`, and runs the supervised warm-up. */
export async function prepareShortRuns(directory: string, terminal: Terminal): Promise<ShortRuns> {
  await prepare(path.join(directory, 'runs', 'data'), 7);
  const warm = await runFramework({
    directory,
    name: 'warm',
    terminal,
    change: (config) => {
      config.deleteIn(['stages', 1]);
      config.deleteIn(['buffer', 'explorer_input', 'eval_tasksets']);
      config.setIn(['stages', 0, 'buffer', 'total_steps'], warmupSteps);
    },
  });
  return {
    train: (name, { tasks, runsPerTask, steps }, framework) =>
      runFramework({
        framework,
        directory,
        name,
        terminal,
        change: (config) => {
          config.setIn(['model', 'model_path'], warm.checkpoint!);
          config.deleteIn(['stages', 0]);
          config.deleteIn(['buffer', 'explorer_input', 'eval_tasksets']);
          config.setIn(['buffer', 'batch_size'], tasks);
          config.setIn(['stages', 0, 'algorithm', 'repeat_times'], runsPerTask);
          config.setIn(['stages', 0, 'trainer', 'total_steps'], steps);
          // Keeps the weights of every version, for recomputing.
          config.setIn(['stages', 0, 'trainer', 'save_interval'], 1);
        },
      }),
    exactness: (framework) => exactnessOf(directory, framework),
  };
}

/** Recomputes what the run of `FRAMEWORK.yaml` in `directory` recorded. */
export async function exactnessOf(directory: string, framework: string): Promise<Exactness> {
  const { stores, largest, ok, checkedTokens, uncheckedTokens } = await verifyRun({
    run: `${framework}.yaml`,
    cwd: directory,
  });
  return {
    ...countTurns(stores.map(({ database }) => database)),
    tokens: checkedTokens,
    largest,
    ok: ok && uncheckedTokens === 0,
  };
}

function countTurns(
  databases: readonly string[],
): Pick<Exactness, 'turns' | 'later' | 'continued' | 'forks'> {
  const all = databases.flatMap((database) => {
    const reader = readExperiences(database);
    try {
      return [...reader.experiences()];
    } finally {
      reader.close();
    }
  });
  const forks: Record<string, number> = {};
  for (const { info } of all) {
    if (typeof info['fork'] === 'string') forks[info['fork']] = (forks[info['fork']] ?? 0) + 1;
  }
  const runs = [...Map.groupBy(all, ({ eid }) => runKey(eid)).values()].map((turns) =>
    turns.toSorted((a, b) => a.eid.step - b.eid.step),
  );
  const continued = runs.flatMap((turns) =>
    turns.filter((turn, i) => i > 0 && continues(turn, turns[i - 1]!)),
  ).length;
  return { turns: all.length, later: all.length - runs.length, continued, forks };
}

const continues = (turn: Experience, previous: Experience): boolean =>
  turn.promptLength >= previous.tokens.length &&
  previous.tokens.every((id, i) => turn.tokens[i] === id);
