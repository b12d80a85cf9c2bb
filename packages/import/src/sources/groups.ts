/**
 * Groups the parts of conversations by an id. When too many groups are open, the least recently
 * extended group is returned as complete. The other groups are returned at the end.
 */
import { fault } from '../record/fault.js';
import type { Fragment } from '../record/item.js';
import type { Place } from '../report/report.js';
import { sourceNamed, type SourceName } from './table.js';

export interface Group {
  readonly source: SourceName;
  /** Parts in the order of their records, each with the place of its record. */
  readonly parts: Map<unknown, Place>;
}

interface SourceGroups {
  /** Open groups by id, in the order of their latest parts. */
  readonly open: Map<string, Group>;
  /** Ids of the groups that `add` has returned. */
  readonly closed: Set<string>;
}

export interface Groups {
  /**
   * Adds a part to its group. If more groups are then open than the source allows, returns the
   * least recently extended group and closes it.
   * @throws TaskError from `fault` if the part's group was already returned
   */
  add(source: SourceName, fragment: Fragment, place: Place): Group | undefined;
  /** Returns all open groups, and removes each group as it is read. */
  rest(): Iterable<Group>;
}

export function createGroups(): Groups {
  const bySource = new Map<SourceName, SourceGroups>();
  const groupsOf = (source: SourceName): SourceGroups => {
    const groups = bySource.get(source) ?? { open: new Map(), closed: new Set() };
    bySource.set(source, groups);
    return groups;
  };
  return {
    add(source, { group: name, part }, place) {
      const { open, closed } = groupsOf(source);
      if (closed.has(name)) throw fault('a part of a trace came long after the rest of it', name);
      const group = open.get(name) ?? { source, parts: new Map<unknown, Place>() };
      group.parts.set(part, place);
      open.delete(name);
      open.set(name, group);
      const { mostOpen = Infinity } = sourceNamed(source);
      const [oldest] = open;
      if (open.size <= mostOpen || oldest === undefined) return undefined;
      open.delete(oldest[0]);
      closed.add(oldest[0]);
      return oldest[1];
    },
    *rest() {
      for (const { open } of bySource.values()) {
        for (const [name, group] of open) {
          open.delete(name);
          yield group;
        }
      }
    },
  };
}
