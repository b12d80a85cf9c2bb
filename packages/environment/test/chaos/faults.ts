/** Faults of messages, and a connection that injects them. */

export const faultKinds = [
  'kill',
  'hang',
  'delay',
  'late',
  'duplicate',
  'corrupt',
  'truncate',
] as const;
/**
 * Kind of fault. `delay` is shorter than the deadline of the waiting side, `late` is longer. `hang`: neither this
 * message nor any later one arrives.
 */
export type FaultKind = (typeof faultKinds)[number];

/** Called for every message with its possible faults; undefined to pass it unchanged. */
export type Injector = (possible: readonly FaultKind[]) => FaultKind | undefined;

export interface ChaosOptions {
  readonly inject: Injector;
  readonly delayMs: number;
  /** Delay of a `late` message in ms, longer than the deadline. */
  readonly lateMs: number;
}

export interface LaneOptions extends ChaosOptions {
  /**
   * Kinds of faults to inject.
   * @default all
   */
  readonly kinds?: readonly FaultKind[];
  /** Sends a message. `isCut`: the rest of the message never arrives. */
  readonly send: (message: string, isCut?: boolean) => void;
  /** Kills the other side without notice. */
  readonly kill: () => void;
}

/** One direction of a connection: messages arrive in order, with the faults of the injector. */
export function createLane({
  inject,
  kinds = faultKinds,
  delayMs,
  lateMs,
  send,
  kill,
}: LaneOptions) {
  let isHung = false;
  let turn: Promise<void> = Promise.resolve();
  const after = (ms: number): Promise<void> =>
    new Promise((resolve) => setTimeout(resolve, ms).unref());

  async function pass(message: string): Promise<void> {
    if (isHung) return;
    const fault = inject(kinds);
    if (fault === 'kill') return kill();
    if (fault === 'hang') isHung = true;
    if (isHung) return;
    if (fault === 'delay') await after(delayMs);
    if (fault === 'late') await after(lateMs);
    if (fault === 'truncate') return send(message.slice(0, message.length / 2), true);
    send(fault === 'corrupt' ? corrupted(message) : message);
    if (fault === 'duplicate') send(message);
  }

  return (message: string): void => {
    turn = turn.then(() => pass(message));
  };
}

/**
 * Inserts a control character, which is not allowed in JSON; a change to other valid JSON could not
 * be detected.
 */
function corrupted(message: string): string {
  const middle = Math.floor(message.length / 2);
  return `${message.slice(0, middle)}\u0001${message.slice(middle + 1)}`;
}
