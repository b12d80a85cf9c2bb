/**
 * Delivers weights to a server, either by loading an adapter under a new name or by replacing all
 * weights.
 */
import path from 'node:path';
import type { DeliveryProbe } from '@trinity-rft/core/store';
import { ServerFault } from '../wire/fault.js';
import { cleanUpSignal } from '../wire/http.js';
import type { SamplingServer } from './calls.js';

/** A version of the weights, which servers use for sampling. */
export interface Weights {
  readonly version: number;
  /** Label that identifies these weights on every server. It is unique across training runs. */
  readonly label: string;
  /** Checkpoint folder that the servers can read; undefined for the servers' initial weights. */
  readonly folder: string | undefined;
  /** Log-probabilities that the trainer computed for a fixed token sequence with these weights. */
  readonly probe?: DeliveryProbe;
}

/** Weights that one call uses. The caller must call `end` after the call. */
export interface InUse {
  /** Model name with which a request selects the weights. */
  readonly model: string;
  readonly weights: Weights;
  readonly end: () => void;
}

/** Weights of one server. */
export interface WeightsOnServer {
  readonly current: Weights;
  /**
   * Makes the server use `weights` for later calls.
   * @throws ServerFault if the server does not accept the weights
   */
  deliver(weights: Weights, signal: AbortSignal): Promise<void>;
  begin(): InUse;
}

export interface DeliveryOptions {
  readonly server: SamplingServer;
  readonly modelName: string;
  readonly lora: boolean;
  readonly inFlight: 'finish' | 'continue';
  readonly started: Weights;
  /** Called with the error if unloading an adapter that is no longer used fails. */
  readonly onLeftover: (error: unknown) => void;
}

/** Folder of the adapter, relative to the checkpoint folder. */
const adapterFolder = 'lora_adapter';

export const weightsOnServer = (options: DeliveryOptions): WeightsOnServer =>
  options.lora ? adaptersOn(options) : allWeightsOn(options);

function allWeightsOn({ server, modelName, inFlight, started }: DeliveryOptions): WeightsOnServer {
  const running = new Set<Promise<void>>();
  let current = started;
  return {
    get current() {
      return current;
    },
    deliver: async (weights, signal) => {
      const { folder, label } = weights;
      // The sampler also waits for its own calls, because the server waits only for calls that it
      // has already received.
      if (inFlight === 'finish') await Promise.all(running);
      if (folder !== undefined) await server.reload({ folder, label, inFlight }, signal);
      current = weights;
    },
    begin: () => {
      const call = Promise.withResolvers<void>();
      running.add(call.promise);
      const end = (): void => {
        running.delete(call.promise);
        call.resolve();
      };
      return { model: modelName, weights: current, end };
    },
  };
}

/**
 * Creates the {@link WeightsOnServer} that delivers weights as adapters. Sequences in progress
 * finish with the adapter with which they began; the adapter is then unloaded.
 */
function adaptersOn({ server, modelName, started, onLeftover }: DeliveryOptions): WeightsOnServer {
  const users = new Map<string, number>();
  let current = started;
  const nameOf = ({ label, folder }: Weights): string => (folder === undefined ? modelName : label);
  const dropUnused = (): void => {
    for (const [name, count] of users) {
      if (count > 0 || name === nameOf(current)) continue;
      users.delete(name);
      server.unloadAdapter(name, cleanUpSignal()).catch(onLeftover);
    }
  };
  return {
    get current() {
      return current;
    },
    deliver: async (weights, signal) => {
      const { folder, label } = weights;
      if (folder !== undefined) {
        await load(server, label, path.join(folder, adapterFolder), signal);
        users.set(label, users.get(label) ?? 0);
      }
      current = weights;
      dropUnused();
    },
    begin: () => {
      const model = nameOf(current);
      const change = (by: number): void => {
        const count = users.get(model);
        if (count !== undefined) users.set(model, count + by);
      };
      change(1);
      const end = (): void => {
        change(-1);
        dropUnused();
      };
      return { model, weights: current, end };
    },
  };
}

async function load(
  server: SamplingServer,
  name: string,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await server.loadAdapter(name, folder, signal);
  } catch (error) {
    // If the name already exists, an earlier load whose answer was lost has succeeded, because
    // names are unique.
    const isThere = error instanceof ServerFault && /\balready\b/.test(error.message);
    if (!isThere) throw error;
  }
}
