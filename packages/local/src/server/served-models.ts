/**
 * Models of a server, keyed by name. A reload replaces a checkpoint of a run by a better or newer
 * one.
 */
import { describeError, ModelError } from '@trinity-rft/core';
import { openTogether, untilAborted } from '@trinity-rft/core/support';
import { loadModel, type LoadModelOptions, type LocalModel } from '../model/load-model.js';
import { findModel } from '../place/find-model.js';
import { counted } from './call-record.js';

export interface ServedModels {
  readonly names: readonly string[];
  /**
   * Returns the model if it is in memory, or undefined if a request would first have to load it.
   * @throws ModelError 404 if there is no such model
   */
  current(name: string): LocalModel | undefined;
  /**
   * Adds a model, or replaces the model with this name. The model is loaded by the first request to
   * it.
   */
  add(name: string, place: string): void;
  /** Removes a model. Requests in progress are completed. */
  remove(name: string): void;
  /**
   * Calls `work` with the model of this name. The model stays in memory until `work` calls `ended`
   * or rejects.
   * @throws ModelError 404 if there is no such model, or 503 if all models in memory are in use and
   * none can be evicted; the errors of `loadModel`
   */
  use<T>(name: string, work: (model: LocalModel, ended: () => void) => Promise<T>): Promise<T>;
  /**
   * Calls `work` with the model of this name and keeps it in memory in the meantime. Resolves with
   * undefined if the model is not in memory.
   */
  useLoaded<T>(name: string, work: (model: LocalModel) => Promise<T>): Promise<T | undefined>;
  /**
   * Looks once for better or newer checkpoints of the loaded models, after any earlier check has
   * ended. If a checkpoint cannot be loaded, the failure is recorded and the old weights remain in
   * use.
   */
  reload(): Promise<void>;
  /**
   * Returns the number of requests in progress, including those to replaced weights and removed
   * models.
   * @param name model whose requests are counted. @default all models
   */
  inFlight(name?: string): number;
  /** Errors of reloads, keyed by model name. Contains only the models whose last reload failed. */
  readonly failures: ReadonlyMap<string, string>;
  close(): Promise<void>;
}

export interface ServedModelsOptions extends Pick<LoadModelOptions, 'threads' | 'gpu'> {
  /**
   * Paths of runs, checkpoints, model folders, GGUF files or exports, keyed by model name.
   * `MODEL.gguf+LORA.gguf` loads a model with an adapter.
   */
  readonly models: Readonly<Record<string, string>>;
  /**
   * Maximum number of models in memory. If set, the first request to a model loads it.
   * @default no limit; all models are loaded at start-up
   */
  readonly keep?: number;
  readonly onEvent: (line: string) => void;
}

interface Entry {
  readonly place: string;
  /** Time of the last use, in ms since the start of the process (`performance.now()`). */
  usedAt: number;
  /** Loaded weights; undefined if the model is not in memory. */
  weights?: Weights | undefined;
  /** Error of the last reload; undefined if it succeeded or there was none. */
  failure?: string | undefined;
  /** Reason for the choice of the checkpoint, as the last reload found it. */
  choice?: string | undefined;
  loading?: Promise<Weights> | undefined;
}

/** Maximum time in ms that a request waits until a model can be evicted, or is closed. */
const roomTimeoutMs = 30_000;

/**
 * Opens the models of a server.
 * @throws what `loadModel` throws for the first model that cannot be loaded
 */
export const openServedModels = (options: ServedModelsOptions): Promise<ServedModels> =>
  openTogether((stack) => openModels(stack.use(weightsLoader(options)), options));

async function openModels(
  load: WeightsLoader,
  { models, keep = Infinity, onEvent }: ServedModelsOptions,
): Promise<ServedModels> {
  const served = new Map<string, Entry>();
  const find = (name: string): Entry => served.get(name) ?? throwMissing(name, served.keys());
  const add = (name: string, place: string): void => {
    served.get(name)?.weights?.retire();
    served.set(name, { place, usedAt: 0 });
  };
  const makeRoom = async (): Promise<void> => {
    const deadline = performance.now() + roomTimeoutMs;
    for (;;) {
      const inMemory = [...served.values()].filter(({ weights }) => weights);
      if (inMemory.length < keep) return;
      const [idle] = inMemory
        .filter(({ weights }) => weights?.users === 0)
        .toSorted((a, b) => a.usedAt - b.usedAt);
      idle?.weights?.retire();
      if (idle) idle.weights = undefined;
      else if (performance.now() > deadline) throw noRoom(keep);
      else await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const loadOne = async (name: string, entry: Entry): Promise<Weights> => {
    await makeRoom();
    return adopt(name, entry, await load(name, entry.place));
  };
  /**
   * Promise of the last load in the queue. Models are loaded one at a time, because two concurrent
   * loads could take the same free place in memory.
   */
  let turn: Promise<unknown> = Promise.resolve();
  const loadInTurn = (name: string, entry: Entry): Promise<Weights> => {
    const loaded = turn.then(() => loadOne(name, entry));
    // Resolves after the requests that wait for this model have started, so that the next load does
    // not evict the model before these requests use it.
    const used = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    turn = loaded.then(used, used);
    return loaded;
  };
  const open = async (name: string): Promise<Weights> => {
    const entry = find(name);
    entry.usedAt = performance.now();
    if (entry.weights) return entry.weights;
    entry.loading ??= loadInTurn(name, entry).finally(() => (entry.loading = undefined));
    return entry.loading;
  };
  /**
   * Uses `weights` for the model instead of `old`. If the model was removed, replaced or evicted in
   * the meantime, `weights` are retired instead.
   */
  const adopt = (name: string, entry: Entry, weights: Weights, old?: Weights): Weights => {
    if (served.get(name) !== entry || entry.weights !== old) weights.retire();
    else {
      entry.weights = weights;
      entry.failure = undefined;
      entry.choice = undefined;
      old?.retire();
      const { location, choice = '' } = weights.model.place;
      onEvent(`${name}: ${old ? 'now ' : ''}${location}. ${choice}`.trim());
    }
    return weights;
  };
  const reloadOne = async (name: string, entry: Entry): Promise<void> => {
    const old = entry.weights;
    if (!old) return;
    const { location, choice } = await findModel(partsOf(entry.place).model);
    if (location === old.model.place.location) {
      entry.failure = undefined;
      const known = entry.choice ?? old.model.place.choice;
      entry.choice = choice;
      if (choice !== known) onEvent(`${name}: stays ${location}. ${choice ?? ''}`.trim());
    } else adopt(name, entry, await load(name, entry.place), old);
  };
  for (const [name, place] of Object.entries(models)) add(name, place);
  if (keep === Infinity) for (const name of served.keys()) await open(name);
  return {
    get names() {
      return [...served.keys()];
    },
    current: (name) => find(name).weights?.model,
    add,
    remove: (name) => {
      served.get(name)?.weights?.retire();
      served.delete(name);
    },
    use: async (name, work) => {
      const { model, ended } = await holdNow(() => open(name));
      try {
        return await work(model, ended);
      } catch (error) {
        ended();
        throw error;
      }
    },
    useLoaded: async (name, work) => {
      const weights = served.get(name)?.weights;
      const ended = weights?.hold();
      if (!weights || !ended) return undefined;
      try {
        return await work(weights.model);
      } finally {
        ended();
      }
    },
    reload: oneAtATime(async () => {
      for (const [name, entry] of [...served])
        await reloadOne(name, entry).catch((error: unknown) => {
          const why = describeError(error);
          if (entry.failure !== why)
            onEvent(`${name}: newer weights cannot be loaded, the old ones stay: ${why}`);
          entry.failure = why;
        });
    }),
    inFlight: load.inFlight,
    get failures() {
      return new Map(
        [...served].flatMap(([name, { failure }]) => (failure ? [[name, failure]] : [])),
      );
    },
    close: () => {
      served.clear();
      return load.close();
    },
  };
}

/**
 * Wraps `work` so that only one execution is in progress at a time. All calls during an execution
 * share the next one, because the current one may miss a change that a caller has just made.
 */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let last: Promise<unknown> = Promise.resolve();
  let waiting: Promise<void> | undefined;
  const run = (): Promise<void> => {
    waiting = undefined;
    return work();
  };
  return () => {
    waiting ??= last.then(run, run);
    last = waiting;
    return waiting;
  };
}

/** A model in memory. It is closed when it has been retired and no request uses it. */
interface Weights {
  readonly name: string;
  readonly model: LocalModel;
  readonly users: number;
  /**
   * Adds a user, so the model is not closed. Returns a function that removes the user, or undefined
   * if the model is already closed.
   */
  hold(): (() => void) | undefined;
  retire(): void;
}

interface WeightsLoader {
  (name: string, place: string): Promise<Weights>;
  readonly inFlight: ServedModels['inFlight'];
  /** Closes all models in memory. */
  close(): Promise<void>;
}

function weightsLoader({ threads, gpu, onEvent }: ServedModelsOptions): WeightsLoader {
  const all = new Set<Weights>();
  /** Promises of models that are being closed, which still use memory. */
  const closing = new Set<Promise<void>>();
  const closeModel = ({ name, model }: Weights): void => {
    const deadline = new AbortController();
    const timer = setTimeout(
      () => deadline.abort(new Error(`it did not end within ${roomTimeoutMs / 1000} s`)),
      roomTimeoutMs,
    );
    const slow = setTimeout(() => onEvent(`Waiting until ${name} is closed.`), 5000);
    const closed = untilAborted(model.close(), deadline.signal)
      .catch((error: unknown) => onEvent(`${name} was not closed: ${describeError(error)}`))
      .finally(() => {
        clearTimeout(slow);
        clearTimeout(timer);
        closing.delete(closed);
      });
    closing.add(closed);
  };
  const load = async (name: string, place: string): Promise<Weights> => {
    const { model: path, adapter } = partsOf(place);
    const onFault = (error: unknown): void =>
      onEvent(`${name}: a request failed: ${describeError(error)}`);
    await Promise.all(closing);
    const model = await loadModel(path, { name, threads, gpu, adapter, watch: counted, onFault });
    let users = 0;
    let isOld = false;
    const closeUnused = (): void => {
      if (isOld && users === 0 && all.delete(weights)) closeModel(weights);
    };
    const weights: Weights = {
      name,
      model,
      get users() {
        return users;
      },
      hold: () => {
        if (!all.has(weights)) return undefined;
        users++;
        let isHeld = true;
        return () => {
          if (isHeld) users--;
          isHeld = false;
          closeUnused();
        };
      },
      retire: () => {
        isOld = true;
        closeUnused();
      },
    };
    all.add(weights);
    return weights;
  };
  const inFlight = (named?: string): number =>
    [...all]
      .filter(({ name }) => named === undefined || name === named)
      .reduce((sum, { users }) => sum + users, 0);
  const close = async (): Promise<void> => {
    for (const weights of all) closeModel(weights);
    all.clear();
    await Promise.all(closing);
  };
  return Object.assign(load, { inFlight, close });
}

/**
 * Gets the model in memory for one request, and keeps it there until the request calls `ended`.
 * Loads the model again if it was evicted in the meantime.
 */
async function holdNow(
  open: () => Promise<Weights>,
): Promise<{ readonly model: LocalModel; readonly ended: () => void }> {
  for (;;) {
    const weights = await open();
    const ended = weights.hold();
    if (ended) return { model: weights.model, ended };
  }
}

const noRoom = (keep: number): ModelError =>
  new ModelError(
    `The ${keep} models in memory are all in use, and there is no room for another one. Repeat the request later.`,
    { status: 503, code: 'models_busy', retryable: true, details: { retryAfter: 5 } },
  );

function throwMissing(name: string, names: Iterable<string>): never {
  throw new ModelError(
    `There is no model "${name.slice(0, 100)}" here. The models are ${[...names].slice(0, 50).join(', ')}.`,
    { status: 404, code: 'model_not_found', details: { param: 'model' } },
  );
}

function partsOf(place = ''): { readonly model: string; readonly adapter?: string } {
  const [, model, adapter] = /^(.+\.gguf)\+(.+\.gguf)$/i.exec(place) ?? [];
  return model === undefined ? { model: place } : { model, adapter };
}
