/**
 * Groups model calls by rollout, in one linked list per rollout. The calls of a list are ordered by
 * their steps.
 */
import { integers, type Column } from './columns.js';

interface CallNames {
  readonly batch: { readonly codes: Column };
  readonly task: { readonly codes: Column };
  readonly run: Column;
  readonly step: Column;
  /** 1 if the row was deleted from the store, otherwise 0. */
  readonly gone: Column;
}

/**
 * Model calls, grouped by rollout. Except for {@link RolloutChains.isThere}, functions that take a
 * rollout require one for which `isThere` returns true.
 */
export interface RolloutChains {
  /** Number of rollouts; they are numbered in the order in which their first rows were stored. */
  count(): number;
  /** Returns false if all calls of the rollout were removed. */
  isThere(rollout: number): boolean;
  /** Number of rollouts that have calls. */
  present(): number;
  /** Adds the call at this position to its rollout. The name of the call must already be set. */
  add(position: number): void;
  /** Removes a call whose row was deleted, and marks it as gone. */
  remove(position: number): void;
  /** Position of the first call. */
  first(rollout: number): number;
  /**
   * Returns the position of the call if the rollout has exactly one; undefined if it has several.
   */
  only(rollout: number): number | undefined;
  /** Positions of the calls, in order. */
  calls(rollout: number): readonly number[];
}

/** Value that marks the end of a list. All positions are stored plus one, so 0 is free for this. */
const end = 0;

export function createRolloutChains(names: CallNames): RolloutChains {
  const [firsts, next] = [integers(), integers()];
  let [count, present] = [0, 0];
  /**
   * Hash table with open addressing: rollout numbers plus one; 0 is a free slot. At most half of
   * the slots are used.
   */
  let slots = new Int32Array(1024);

  const isSame = (a: number, b: number): boolean =>
    names.run.at(a) === names.run.at(b) &&
    names.task.codes.at(a) === names.task.codes.at(b) &&
    names.batch.codes.at(a) === names.batch.codes.at(b);

  const hashOf = (position: number): number => {
    let hash = Math.imul(names.batch.codes.at(position), 0x9e_37_79_b1);
    hash = Math.imul(hash ^ names.task.codes.at(position), 0x85_eb_ca_6b);
    hash = Math.imul((hash ^ (hash >>> 15)) + names.run.at(position), 0xc2_b2_ae_35);
    return hash ^ (hash >>> 13);
  };

  /** Returns the slot of the rollout that a call belongs to, or the free slot for a new rollout. */
  const slotOf = (position: number): number => {
    const mask = slots.length - 1;
    let slot = hashOf(position) & mask;
    for (;;) {
      const rollout = (slots[slot] ?? 0) - 1;
      if (rollout < 0 || isSame(firsts.at(rollout), position)) return slot;
      slot = (slot + 1) & mask;
    }
  };

  const grow = (): void => {
    slots = new Int32Array(slots.length * 2);
    for (let rollout = 0; rollout < count; rollout++)
      slots[slotOf(firsts.at(rollout))] = rollout + 1;
  };

  /** Inserts a call after the calls with smaller or equal steps. */
  const link = (rollout: number, position: number): void => {
    const step = names.step.at(position);
    let before = end;
    let after = firsts.at(rollout) + 1;
    while (after !== end && names.step.at(after - 1) <= step) {
      before = after;
      after = next.at(after - 1);
    }
    next.set(position, after);
    if (before === end) firsts.set(rollout, position);
    else next.set(before - 1, position + 1);
  };

  /**
   * Returns true if the rollout has calls. After all calls of a rollout were removed, one of them
   * stays in the list, because it holds the name of the rollout.
   */
  const isThere = (rollout: number): boolean => names.gone.at(firsts.at(rollout)) === 0;

  const before = (rollout: number, position: number): number => {
    let at = firsts.at(rollout);
    while (next.at(at) !== position + 1) at = next.at(at) - 1;
    return at;
  };

  return {
    count: () => count,
    isThere,
    present: () => present,
    add: (position) => {
      if (2 * (count + 1) > slots.length) grow();
      const slot = slotOf(position);
      const rollout = (slots[slot] ?? 0) - 1;
      if (rollout >= 0 && isThere(rollout)) return link(rollout, position);
      next.set(position, end);
      present++;
      if (rollout >= 0) return firsts.set(rollout, position);
      firsts.set(count, position);
      slots[slot] = ++count;
    },
    remove: (position) => {
      names.gone.set(position, 1);
      const rollout = (slots[slotOf(position)] ?? 0) - 1;
      const after = next.at(position);
      if (firsts.at(rollout) !== position) next.set(before(rollout, position), after);
      else if (after === end) present--;
      else firsts.set(rollout, after - 1);
    },
    first: (rollout) => firsts.at(rollout),
    only: (rollout) => {
      const first = firsts.at(rollout);
      return next.at(first) === end ? first : undefined;
    },
    calls: (rollout) => {
      const calls: number[] = [];
      for (let at = firsts.at(rollout) + 1; at !== end; at = next.at(at - 1)) calls.push(at - 1);
      return calls;
    },
  };
}
