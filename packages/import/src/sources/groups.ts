/**
 * Groups the parts of conversations. When too many groups are open, returns the group that has had
 * no new part for the longest time. Returns the other groups at the end.
 */
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
   * Adds a part. Returns the group that has had no new part for the longest time if more groups are
   * open than the source allows.
   * @throws TaskError of `fault` if the part's group was already returned
   */
  add(source: SourceName, fragment: Fragment, place: Place): Group | undefined;
  /** All open groups; each is removed when it is read. */
  rest(): Iterable<Group>;
}

export function createGroups(): Groups {
  /** Open groups, keyed by source and group, in the order of their latest parts. */
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
