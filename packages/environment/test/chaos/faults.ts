/** What can happen to a message on its way, and a way that it happens on. */

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
 * `delay` is shorter than the deadline of the side that waits, `late` is longer. `hang`: neither this
 * message nor one after it arrives.
 */
export type FaultKind = (typeof faultKinds)[number];

/** Asked for every message, with what can happen to it; undefined: it passes as it is. */
export type Injector = (possible: readonly FaultKind[]) => FaultKind | undefined;

export interface ChaosOptions {
  readonly inject: Injector;
  readonly delayMs: number;
  /** Longer than the deadline. */
  readonly lateMs: number;
}

export interface LaneOptions extends ChaosOptions {
  /** @default all */
  readonly kinds?: readonly FaultKind[];
  /** `isCut`: what follows of the message never comes. */
  readonly send: (message: string, isCut?: boolean) => void;
  /** Ends the other side without a word. */
  readonly kill: () => void;
}

/** One direction of a connection: messages arrive in order, each as the injector says. */
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

/** A control character, which is nowhere allowed in JSON; a change that stays valid would go unnoticed. */
function corrupted(message: string): string {
  const middle = Math.floor(message.length / 2);
  return `${message.slice(0, middle)}\u0001${message.slice(middle + 1)}`;
}
