/**
 * Algorithms by their names in YAML's `algorithm_type`. Each one is a selection of parts. To add an
 * algorithm, write an entry in one of the tables.
 */
import type { PresetTable } from './base.js';
import { groupRelative } from './group-relative.js';
import { imitation } from './imitation.js';
import { policyGradient } from './policy-gradient.js';

export const algorithmPresets = {
  ...groupRelative,
  ...policyGradient,
  ...imitation,
} satisfies PresetTable;
