/** Brings weights to a server: an adapter under a name of its own, or all weights anew. */
import path from 'node:path';
import type { DeliveryProbe } from '@trinity-rft/core/store';
import { ServerFault } from '../wire/fault.js';
import type { SamplingServer } from './calls.js';

/** Weights to sample with. */
export interface Weights {
  readonly version: number;
  /** Names them on every server: no other weights have this label, of whichever run. */
  readonly label: string;
  /** A checkpoint that the servers can read; undefined: what they were started with. */
  readonly folder: string | undefined;
  /** How the trainer scores a text with them. */
  readonly probe?: DeliveryProbe;
}

/** Ends the use that {@link WeightsOnServer.begin} began; to be called when it has ended. */
export interface InUse {
  /** Name of the weights in requests. */
  readonly model: string;
  readonly weights: Weights;
  readonly end: () => void;
}

/** Weights that one server has. */
export interface WeightsOnServer {
  readonly current: Weights;
  /** @throws ServerFault when the server does not take them */
  deliver(weights: Weights, signal: AbortSignal): Promise<void>;
  begin(): InUse;
}

export interface DeliveryOptions {
  readonly server: SamplingServer;
  readonly modelName: string;
  readonly lora: boolean;
  readonly inFlight: 'finish' | 'continue';
  readonly started: Weights;
  /** An adapter that no longer serves a purpose could not be unloaded. */
  readonly onLeftover: (error: unknown) => void;
}

/** Where checkpoints keep the adapter. */
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
      // A call may not have reached the server yet, which waits for those only that have.
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

/** Texts in progress finish with their adapter, which then goes. */
function adaptersOn({ server, modelName, started, onLeftover }: DeliveryOptions): WeightsOnServer {
  const users = new Map<string, number>();
  let current = started;
  const nameOf = ({ label, folder }: Weights): string => (folder === undefined ? modelName : label);
  const dropUnused = (): void => {
    for (const [name, count] of users) {
      if (count > 0 || name === nameOf(current)) continue;
      users.delete(name);
      const patience = AbortSignal.timeout(unloadPatienceMs);
      server.unloadAdapter(name, patience).catch(onLeftover);
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

const unloadPatienceMs = 60_000;

async function load(
  server: SamplingServer,
  name: string,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await server.loadAdapter(name, folder, signal);
  } catch (error) {
    // A load whose answer was lost: the name is unique.
    const isThere = error instanceof ServerFault && /\balready\b/.test(error.message);
    if (!isThere) throw error;
  }
}
