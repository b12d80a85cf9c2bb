/** Parts of conversations, kept until their group is complete. */
import { fault } from '../record/fault.js';
import type { Fragment } from '../record/item.js';
import type { Place } from '../report/report.js';
import { sourceNamed, type SourceName } from './table.js';

export interface Group {
  readonly source: SourceName;
  /** Place of the first part. */
  readonly place: Place;
  readonly parts: readonly unknown[];
}

interface OpenGroup extends Group {
  readonly parts: unknown[];
}

export interface Groups {
  /**
   * Returns the group that has waited longest, if the source limits how many may wait.
   * @throws TaskError of `fault` for a part whose group has been returned
   */
  add(source: SourceName, fragment: Fragment, place: Place): Group | undefined;
  /** All groups that wait, each removed as it is read. */
  rest(): Iterable<Group>;
}

export function createGroups(): Groups {
  /** Keys are source and name; the group that got a part last is at the end. */
  const open = new Map<string, OpenGroup>();
  const closed = new Set<string>();
  const take = (key: string): OpenGroup | undefined => {
    const group = open.get(key);
    open.delete(key);
    return group;
  };
  return {
    add(source, { group: name, part }, place) {
      const key = `${source} ${name}`;
      if (closed.has(key)) throw fault('a part of a trace came long after the rest of it', name);
      const group = take(key) ?? { source, place, parts: [] };
      group.parts.push(part);
      open.set(key, group);
      const { mostOpen = Infinity } = sourceNamed(source);
      const [oldest] = open.keys();
      if (open.size <= mostOpen || oldest === undefined) return undefined;
      closed.add(oldest);
      return take(oldest);
    },
    *rest() {
      for (const [key, group] of open) {
        open.delete(key);
        yield group;
      }
    },
  };
}
