/** Copies of groups that teach something, in place of those that do not. */
import { createRandom, deriveSeed, uid, withFields, type Experience } from '@trinity-rft/core';

/**
 * `count` random groups, with replacement. The choice follows from the seed and the batch; copies
 * get ids of their own.
 */
export function duplicateGroups(
  groups: readonly (readonly Experience[])[],
  count: number,
  seed: number,
): readonly Experience[] {
  if (groups.length === 0) return [];
  const random = createRandom(deriveSeed(seed, 'duplicate_experiences', uid(groups[0]![0]!.eid)));
  return Array.from({ length: count }, (_, copy) =>
    groups[random.integer(groups.length)]!.map((experience) =>
      withFields(experience, {
        eid: { ...experience.eid, suffix: `${experience.eid.suffix}+${copy + 1}` },
      }),
    ),
  ).flat();
}
