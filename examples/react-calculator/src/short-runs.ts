/** Short trainings with agents of all frameworks, from the same weights, and what they recorded. */
import path from 'node:path';
import { readExperiences } from '@trinity-rft/buffer';
import { runKey, type Experience } from '@trinity-rft/core';
import { verifyRun, type RunSummary, type Terminal } from '@trinity-rft/launcher';
import { runFramework } from './frameworks.ts';
import { prepare } from './prepare.ts';

const warmupSteps = 160;

/** How much one explore step and the whole run are. */
export interface RunSize {
  readonly tasks: number;
  readonly runsPerTask: number;
  readonly trainBatch: number;
  readonly steps: number;
}

/** As in the example, but for the steps; and for agents that start a program for every run. */
export const sizes = {
  full: { tasks: 16, runsPerTask: 8, trainBatch: 256, steps: 3 },
  small: { tasks: 4, runsPerTask: 4, trainBatch: 16, steps: 2 },
} as const satisfies Readonly<Record<string, RunSize>>;

/** What a run recorded, and how exact it is. */
export interface Exactness {
  /** Recorded calls of the model. */
  readonly turns: number;
  /** Those after the first of their run. */
  readonly later: number;
  /** Those among them whose prompt begins with all tokens, read and written, of the turn before. */
  readonly continued: number;
  /** Turns whose prompt was rendered anew, by reason. */
  readonly forks: Readonly<Record<string, number>>;
  /**
   * Sampled tokens whose log-probability was recomputed under the weights that sampled them; all of
   * them, or `ok` is false.
   */
  readonly tokens: number;
  /** Largest difference of a log-probability. */
  readonly largest: number;
  /** Everything was checked, and within 1e-5. */
  readonly ok: boolean;
}

export interface ShortRuns {
  /** Trains with the agent of a framework, or with the example's own, under a name of the run. */
  train(name: string, size: RunSize, framework?: string): Promise<RunSummary>;
  /** Looks at what a run of {@link train} recorded. */
  exactness(name: string): Promise<Exactness>;
}

/** Makes data and a model in `directory`, and warms the model up. */
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
    train: (name, { tasks, runsPerTask, trainBatch, steps }, framework) => {
      return runFramework({
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
          config.setIn(['stages', 0, 'buffer', 'train_batch_size'], trainBatch);
          config.setIn(['stages', 0, 'trainer', 'total_steps'], steps);
          // Every version's weights stay, so that everything can be recomputed.
          config.setIn(['stages', 0, 'trainer', 'save_interval'], 1);
        },
      });
    },
    exactness: async (name) => {
      const { stores, largest, ok, checkedTokens, uncheckedTokens } = await verifyRun({
        run: `${name}.yaml`,
        cwd: directory,
      });
      return {
        ...countTurns(stores.map(({ database }) => database)),
        tokens: checkedTokens,
        largest,
        ok: ok && uncheckedTokens === 0,
      };
    },
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

const continues = (turn: Experience, before: Experience): boolean =>
  turn.promptLength >= before.tokens.length &&
  before.tokens.every((id, i) => turn.tokens[i] === id);
