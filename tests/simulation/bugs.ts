/**
 * Deliberate errors that other systems have had. Each replaces a part of a process, and the
 * simulation must detect it.
 */
import type { Engine, Sampler } from '../../packages/core/src/engine-seam.ts';
import type { ExperienceStore } from '../../packages/core/src/store-seam.ts';
import type { Membership, RunStore, TaskResult } from '../../packages/core/src/run-store.ts';
import type { RunDatabase } from '../../packages/buffer/src/run-store/database/run-database.ts';
import { diskRoot } from './disk.ts';
import { openModel } from './engine.ts';
import type { ProcessParts } from './parts.ts';
import type { Bug } from './simulate.ts';

type Change = Pick<Bug, 'parts'>;

const open = 0;
const leased = 1;
const done = 2;

const ofStore = (
  change: (store: RunStore, parts: ProcessParts, database: RunDatabase) => Partial<RunStore>,
): Change => ({
  parts: (parts, database) => {
    const { store } = parts;
    const changed: object = change(store, parts, database);
    const get = (target: RunStore, name: string | symbol): unknown =>
      Reflect.get(name in changed ? changed : target, name);
    return { ...parts, store: new Proxy(store, { get }) };
  },
});

const ofExperiences = (change: (store: ExperienceStore) => Partial<ExperienceStore>): Change => ({
  parts: (parts) => ({
    ...parts,
    openExperiences: () => {
      const store = parts.openExperiences();
      return { ...store, ...change(store) };
    },
  }),
});

const ofEngine = (change: (engine: Engine) => Engine): Change => ({
  parts: (parts) => ({ ...parts, engine: change(parts.engine) }),
});

const ofSampler = (change: (sampler: Sampler) => Partial<Sampler>): Change =>
  ofEngine((engine) => {
    const { sampler } = engine;
    const changed: object = change(sampler);
    const get = (target: Sampler, name: string | symbol): unknown =>
      Reflect.get(name in changed ? changed : target, name);
    return { ...engine, sampler: new Proxy(sampler, { get }) };
  });

/** Sampler that uses the weights before the latest adopted ones, and reports the latest version. */
function staleSampler(sampler: Sampler): Partial<Sampler> {
  let serving = openModel().sampler;
  let next = serving;
  return {
    adopt: async (source, version) => {
      serving = next;
      next = openModel().sampler;
      await next.adopt(source, version);
      await sampler.adopt(source, version);
    },
    sample: async (...args) => {
      const sequences = await serving.sample(...args);
      return sequences.map((each) => ({ ...each, policyVersion: sampler.policyVersion }));
    },
  };
}

/** Sampler that ignores the first weights that a process adopts. */
function baseAtFirst(sampler: Sampler): Partial<Sampler> {
  const base = openModel().sampler;
  let adopted = 0;
  return {
    adopt: (source, version) => {
      adopted += 1;
      return sampler.adopt(source, version);
    },
    sample: async (...args) => {
      const sequences = await (adopted > 1 ? sampler : base).sample(...args);
      return sequences.map((each) => ({ ...each, policyVersion: sampler.policyVersion }));
    },
  };
}

async function loadWithoutMoments({ trainer }: Engine, directory: string): Promise<void> {
  await trainer.load(directory);
  const bare = `${diskRoot}/bare`;
  await trainer.save(bare, { optimizer: false });
  await trainer.load(bare);
}

const withoutReward = (result: TaskResult): TaskResult => ({
  ...result,
  experiences: result.experiences.map((experience) => ({ ...experience, reward: 0 })),
});

const hasFailed = ({ outcome }: TaskResult): boolean => JSON.stringify(outcome).includes('"failed');

export interface KnownBug extends Bug {
  /** Seed that detects the error; `pnpm bench simulate --bugs` searches for the first one. */
  readonly seed: number;
}

export const knownBugs: readonly KnownBug[] = [
  {
    name: 'two explorers get the same task',
    knownFrom: 'Agent Lightning 218: rollouts lost and repeated',
    seed: 1,
    ...ofStore((store, _parts, database) => ({
      leaseTasks: async (...args) => {
        await database.write('forget leases', (db) =>
          db
            .updateTable('task')
            .set({ state: open, owner: null })
            .where('state', '=', leased)
            .execute(),
        );
        return store.leaseTasks(...args);
      },
    })),
  },
  {
    name: 'leases never expire',
    knownFrom: 'verl 1314: one dead worker ends the run',
    seed: 20,
    leaseMs: 1e12,
  },
  {
    name: 'a late result is taken as well',
    knownFrom: 'prime-rl 2360: results of rollouts that were given up',
    seed: 133,
    ...ofStore((store, _parts, database) => ({
      storeResult: async (member, task, result) => {
        await database.write('give it back', (db) =>
          db
            .updateTable('task')
            .set({ state: leased, owner: member.epoch })
            .where('step', '=', task.step)
            .where('task', '=', task.task)
            .where('state', '<>', done)
            .execute(),
        );
        return store.storeResult(member, task, result);
      },
    })),
  },
  {
    name: 'a process that was replaced goes on',
    knownFrom: 'rLLM 568: zombies after a restart',
    seed: 133,
    ...ofStore((store, _parts, database) => {
      const inPlace = async (member: Membership): Promise<Membership> => {
        const [row] = await database.read('find who has the place', (db) =>
          db.selectFrom('member').select('epoch').where('name', '=', member.name).execute(),
        );
        return { ...member, epoch: Math.abs(row?.epoch ?? member.epoch) };
      };
      return {
        heartbeat: async (member, ...args) => store.heartbeat(await inPlace(member), ...args),
        leaseTasks: async (member, ...args) => store.leaseTasks(await inPlace(member), ...args),
        storeResult: async (member, ...args) => store.storeResult(await inPlace(member), ...args),
        recordTrainStep: async (member, record) =>
          store.recordTrainStep(await inPlace(member), record),
      };
    }),
  },
  {
    name: 'a resumed trainer repeats a batch',
    knownFrom: 'tinker-cookbook 935: an optimizer step made twice',
    seed: 6,
    ...ofExperiences((store) => ({ rollback: (step) => store.rollback(Math.max(0, step - 1)) })),
  },
  {
    name: 'a resumed trainer skips a batch',
    knownFrom: 'verl 5725, prime-rl 1036: data skipped after a resume',
    seed: 18,
    ...ofExperiences(() => ({ rollback: () => Promise.resolve() })),
  },
  {
    name: 'acknowledgements are sent and forgotten',
    knownFrom: 'open-instruct 1523: consumed data not recorded',
    seed: 14,
    ...ofStore((store) => ({
      recordTrainStep: async (...args) => {
        store.recordTrainStep(...args).catch(() => undefined);
      },
    })),
  },
  {
    name: 'the sampler is a version behind',
    knownFrom: 'TRL 5312: rollouts from stale weights',
    seed: 1,
    ...ofSampler(staleSampler),
  },
  {
    name: 'versions are counted one too far',
    knownFrom: 'verl 3821: wrong version beside the samples',
    seed: 1,
    ...ofSampler((sampler) => ({
      sample: async (...args) => {
        const sequences = await sampler.sample(...args);
        return sequences.map((each) => ({ ...each, policyVersion: each.policyVersion + 1 }));
      },
    })),
  },
  {
    name: 'a restarted explorer samples with the base model',
    knownFrom: 'Unsloth 8701: base model served, exit 0',
    seed: 18,
    ...ofSampler(baseAtFirst),
  },
  {
    name: 'the files of a version hold the weights of another',
    knownFrom: 'verl 7495: an adapter that was never delivered',
    seed: 18,
    ...ofEngine((engine) => ({
      ...engine,
      trainer: {
        ...engine.trainer,
        save: (directory, options) =>
          options.optimizer
            ? engine.trainer.save(directory, options)
            : openModel().trainer.save(directory, options),
      },
    })),
  },
  {
    name: 'results come in the order of arrival',
    knownFrom: 'Search-R1 88: groups mixed up',
    seed: 31,
    ...ofStore((store) => ({
      readBatch: async (batch) => {
        const contents = await store.readBatch(batch);
        return { ...contents, results: contents.results.toReversed() };
      },
    })),
  },
  {
    name: 'an incomplete explore step waits for ever',
    knownFrom: 'SkyRL 1173: the buffer stuck at 127 of 128',
    seed: 10,
    ...ofStore((store) => ({
      batchesCompletedAfter: async (order) => {
        const whole = [];
        for (const batch of await store.batchesCompletedAfter(order)) {
          const { results } = await store.readBatch(batch.batch);
          if (!results.some(hasFailed)) whole.push(batch);
        }
        return whole;
      },
    })),
  },
  {
    name: 'the slowest task is dropped',
    knownFrom: 'marin 8955: groups discarded unnoticed',
    seed: 1,
    ...ofStore((store, { scenario }, database) => ({
      batchesCompletedAfter: async (order) => {
        const complete = await store.batchesCompletedAfter(order);
        if (scenario.tasksPerStep === 1) return complete;
        const early = await database.read('find batches with one open task', (db) =>
          db.selectFrom('batch').selectAll().where('open', '=', 1).execute(),
        );
        const names = early.map(({ name, step }) => ({ batch: name, step }));
        const more = names.map((batch) => ({ ...batch, order: 0, isEval: false, isPruned: false }));
        return [...complete, ...more];
      },
      readBatch: async (batch) => {
        const contents = await store.readBatch(batch);
        const nothing = { runs: [], retries: 0, timeouts: 0, seconds: 0 };
        const results = contents.results.map((result) => ({
          ...result,
          outcome: 'runs' in result.outcome ? result.outcome : nothing,
        }));
        return { ...contents, results };
      },
    })),
  },
  {
    name: 'who is not notified does not look',
    knownFrom: 'NeMo-RL 3488: 64 nodes idle after a lost message',
    seed: 2,
    ...ofStore((store) => ({
      waitForChange: (_timeoutMs, signal) => store.waitForChange(1e12, signal),
    })),
  },
  {
    name: 'the staleness bound is one too wide',
    knownFrom: 'SkyRL, own documentation: the bound is not strict; verl 6780',
    seed: 13,
    parts: (parts) => {
      const { scenario } = parts;
      return { ...parts, scenario: { ...scenario, maxStaleness: scenario.maxStaleness + 1 } };
    },
  },
  {
    name: 'a failed run counts as reward 0',
    knownFrom: 'rLLM 710, NeMo Gym 2015: outages trained as zeros',
    seed: 18,
    ...ofStore((store) => ({
      storeResult: (member, task, result) =>
        store.storeResult(member, task, hasFailed(result) ? withoutReward(result) : result),
    })),
  },
  {
    name: 'a resumed trainer has lost the moments of its optimizer',
    knownFrom: 'OpenRLHF 1103: resume without optimizer state',
    seed: 6,
    ...ofEngine((engine) => ({
      ...engine,
      trainer: {
        ...engine.trainer,
        load: (directory) => loadWithoutMoments(engine, directory),
      },
    })),
  },
  {
    name: 'who resumes plans the first tasks again',
    knownFrom: 'EasyR1 57, prime-rl 3299: data repeated after a resume',
    seed: 8,
    ...ofStore((store, { process, scenario }) => ({
      plan: (member, plan) => {
        if (process.name.endsWith('#1')) return store.plan(member, plan);
        const batches = plan.batches.map((batch) => ({
          ...batch,
          tasks: batch.tasks.map((task) => ({ ...task, row: task.row % scenario.tasksPerStep })),
        }));
        return store.plan(member, { ...plan, batches });
      },
    })),
  },
  {
    name: 'a resumed trainer takes the run for ended',
    knownFrom: 'verl 7401: exit 0 without steps',
    seed: 2,
    parts: (parts) => {
      const { process, scenario } = parts;
      return process.name.endsWith('#1')
        ? parts
        : { ...parts, scenario: { ...scenario, exploreSteps: 1 } };
    },
  },
  {
    name: 'nobody says what it waits for',
    knownFrom: 'Trinity 182 and 236, verl 3873: runs that hang without a message',
    seed: 4007,
    ...ofStore((store) => ({
      heartbeat: (member, state) => store.heartbeat(member, { ...state, waits: [] }),
    })),
  },
];
