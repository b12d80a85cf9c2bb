/** The models of a server by name, each replaced by the newest checkpoint of its run. */
import { describeError, ModelError } from '@trinity-rft/core';
import { loadModel, type LoadModelOptions, type LocalModel } from '../model/load-model.js';
import { findModel } from '../place/find-model.js';
import { counted } from './call-record.js';

export interface ServedModels {
  readonly names: readonly string[];
  /** The weights that the next request gets. */
  current(name: string): LocalModel;
  /**
   * Calls `work` with the model of a name, whose weights stay until `work` has called `ended`.
   * @throws ModelError 404 when there is no such model
   */
  use<T>(name: string, work: (model: LocalModel, ended: () => void) => Promise<T>): Promise<T>;
  /** Looks for newer checkpoints once. A model that cannot be loaded is reported, and the old one stays. */
  reload(): Promise<void>;
  /** Requests in progress. */
  inFlight(name: string): number;
  /** Why the last reload of a model failed. */
  readonly failures: ReadonlyMap<string, string>;
  close(): Promise<void>;
}

interface Loaded {
  readonly model: LocalModel;
  users: number;
  isOld: boolean;
}

export interface ServedModelsOptions extends Pick<LoadModelOptions, 'threads' | 'gpu'> {
  /** Runs, checkpoints, model folders, GGUF files or exports, by name; `MODEL.gguf+LORA.gguf` for an adapter. */
  readonly models: Readonly<Record<string, string>>;
  readonly onEvent: (line: string) => void;
}

/** @throws what `loadModel` throws for the first model that cannot be loaded */
export async function openServedModels(options: ServedModelsOptions): Promise<ServedModels> {
  const { models, onEvent, threads, gpu } = options;
  const pathOf = (name: string): string => partsOf(models[name]).model;
  const adapterOf = (name: string): string | undefined => partsOf(models[name]).adapter;
  const load = async (name: string): Promise<Loaded> => ({
    model: await loadModel(pathOf(name), {
      name,
      threads,
      gpu,
      adapter: adapterOf(name),
      watch: counted,
    }),
    users: 0,
    isOld: false,
  });
  const served = new Map<string, Loaded>();
  const failures = new Map<string, string>();
  const all = new Set<Loaded>();
  for (const name of Object.keys(models)) {
    const loaded = await load(name);
    served.set(name, loaded);
    all.add(loaded);
    onEvent(`${name}: ${loaded.model.place.location}. ${loaded.model.place.choice ?? ''}`.trim());
  }
  const release = async (loaded: Loaded): Promise<void> => {
    if (!loaded.isOld || loaded.users > 0 || !all.delete(loaded)) return;
    await loaded.model.close();
  };
  const find = (name: string): Loaded => {
    const found = served.get(name);
    if (found) return found;
    throw new ModelError(
      `There is no model "${name.slice(0, 100)}" here. The models are ${[...served.keys()].join(', ')}.`,
      { status: 404, code: 'model_not_found' },
    );
  };
  const reloadOne = async (name: string): Promise<void> => {
    const old = find(name);
    const { location } = await findModel(pathOf(name));
    if (location === old.model.place.location) return;
    const next = await load(name);
    all.add(next);
    served.set(name, next);
    old.isOld = true;
    failures.delete(name);
    onEvent(`${name}: now ${location}. ${next.model.place.choice ?? ''}`.trim());
    await release(old);
  };
  return {
    names: [...served.keys()],
    current: (name) => find(name).model,
    use: async (name, work) => {
      const loaded = find(name);
      loaded.users++;
      let isEnded = false;
      const ended = (): void => {
        if (isEnded) return;
        isEnded = true;
        loaded.users--;
        void release(loaded);
      };
      try {
        return await work(loaded.model, ended);
      } catch (error) {
        ended();
        throw error;
      }
    },
    reload: async () => {
      for (const name of served.keys())
        await reloadOne(name).catch((error: unknown) => {
          const why = describeError(error);
          if (failures.get(name) !== why)
            onEvent(`${name}: newer weights cannot be loaded, the old ones stay: ${why}`);
          failures.set(name, why);
        });
    },
    inFlight: (name) => find(name).users,
    failures,
    close: async () => {
      for (const { model } of all) await model.close();
      all.clear();
    },
  };
}

function partsOf(place = ''): { readonly model: string; readonly adapter?: string } {
  const [, model, adapter] = /^(.+\.gguf)\+(.+\.gguf)$/i.exec(place) ?? [];
  return model === undefined ? { model: place } : { model, adapter };
}
