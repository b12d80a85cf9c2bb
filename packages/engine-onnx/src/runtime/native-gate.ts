/**
 * Keeps a thread from being terminated inside ONNX Runtime. If a call of ONNX Runtime's Node
 * binding returns into a thread that is terminating, the binding aborts the whole process.
 */

/**
 * State that the computing thread shares with the thread that started it: the number of calls
 * inside the gate, and the stop flag.
 */
export type GateState = Int32Array<SharedArrayBuffer>;

const inside = 0;
const stop = 1;

export const createGateState = (): GateState => new Int32Array(new SharedArrayBuffer(8));

let own: GateState | undefined;

/** Makes the runtime calls of this thread pass through the gate. */
export function useGate(state: GateState): void {
  own = state;
}

/**
 * Calls the runtime. If the gate is closed and no other call of this thread is inside, the thread
 * blocks until it is terminated. If another call is inside, the new call may be part of it. It is
 * then executed, because blocking the thread would keep the other call inside forever, and closing
 * the gate would never succeed.
 */
export async function throughGate<T>(call: () => Promise<T>): Promise<T> {
  const gate = own;
  if (!gate) return call();
  const isAlone = Atomics.add(gate, inside, 1) === 0;
  try {
    if (isAlone && Atomics.load(gate, stop) === 1) {
      leave(gate);
      Atomics.wait(gate, stop, 1);
    }
    return await call();
  } finally {
    leave(gate);
  }
}

/**
 * Executes work that consists of several runtime calls, and also keeps the thread from being
 * terminated between them. Once the gate is closed, no work starts, even if other work is inside.
 * Otherwise overlapping work could keep calls inside the gate forever.
 */
export function workThroughGate<T>(work: () => Promise<T>): Promise<T> {
  const isClosed = own !== undefined && Atomics.load(own, stop) === 1;
  return isClosed ? new Promise(() => undefined) : throughGate(work);
}

function leave(gate: GateState): void {
  Atomics.sub(gate, inside, 1);
  Atomics.notify(gate, inside);
}

/** Closes the gate and waits until no call is inside. */
export async function closeGate(gate: GateState): Promise<void> {
  Atomics.store(gate, stop, 1);
  for (let calls = Atomics.load(gate, inside); calls > 0; calls = Atomics.load(gate, inside))
    await Atomics.waitAsync(gate, inside, calls, recheckMs).value;
}

const recheckMs = 1000;

/**
 * Resets the number of calls inside the gate for a thread that has ended, perhaps during a call.
 */
export function leaveGate(gate: GateState): void {
  Atomics.store(gate, inside, 0);
  Atomics.notify(gate, inside);
}

/**
 * Closes the gate as {@link closeGate} does, but blocks the thread. Returns false if calls are
 * still inside after `deadlineMs` milliseconds.
 */
export function closeGateNow(gate: GateState, deadlineMs: number): boolean {
  Atomics.store(gate, stop, 1);
  const deadline = performance.now() + deadlineMs;
  for (let calls = Atomics.load(gate, inside); calls > 0; calls = Atomics.load(gate, inside))
    if (Atomics.wait(gate, inside, calls, deadline - performance.now()) === 'timed-out')
      return false;
  return true;
}
