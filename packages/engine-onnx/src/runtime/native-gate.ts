/**
 * Keeps a thread from being ended inside ONNX Runtime: its binding aborts the whole process when it
 * returns into a thread that is ending.
 */

/** Shared by the thread that computes and the one that started it: calls inside, and stop. */
export type GateState = Int32Array<SharedArrayBuffer>;

const inside = 0;
const stop = 1;

export const createGateState = (): GateState => new Int32Array(new SharedArrayBuffer(8));

let own: GateState | undefined;

/** In the thread that computes: calls go through this gate from now on. */
export function useGate(state: GateState): void {
  own = state;
}

/** Makes a call of the runtime, unless the gate is closed: then the thread waits for its end. */
export async function throughGate<T>(call: () => Promise<T>): Promise<T> {
  const gate = own;
  if (!gate) return call();
  Atomics.add(gate, inside, 1);
  try {
    if (Atomics.load(gate, stop) === 1) {
      leave(gate);
      Atomics.wait(gate, stop, 1);
    }
    return await call();
  } finally {
    leave(gate);
  }
}

function leave(gate: GateState): void {
  Atomics.sub(gate, inside, 1);
  Atomics.notify(gate, inside);
}

/** Closes the gate and resolves once no call is inside. */
export async function closeGate(gate: GateState): Promise<void> {
  Atomics.store(gate, stop, 1);
  for (let calls = Atomics.load(gate, inside); calls > 0; calls = Atomics.load(gate, inside))
    await Atomics.waitAsync(gate, inside, calls, recheckMs).value;
}

const recheckMs = 1000;

/** For a thread that has ended, perhaps inside. */
export function leaveGate(gate: GateState): void {
  Atomics.store(gate, inside, 0);
  Atomics.notify(gate, inside);
}

/** Like {@link closeGate} without an event loop. Returns false when the time is over. */
export function closeGateNow(gate: GateState, deadlineMs: number): boolean {
  Atomics.store(gate, stop, 1);
  for (let calls = Atomics.load(gate, inside); calls > 0; calls = Atomics.load(gate, inside))
    if (Atomics.wait(gate, inside, calls, deadlineMs) === 'timed-out') return false;
  return true;
}
