/**
 * The algorithms by the names of YAML's `algorithm_type`, as the parts they are made of. A new one
 * is a row.
 */
import type { PresetTable } from './preset/base.js';
import { groupRelative } from './preset/group-relative.js';
import { imitation } from './preset/imitation.js';
import { policyGradient } from './preset/policy-gradient.js';

export const algorithmPresets = {
  ...groupRelative,
  ...policyGradient,
  ...imitation,
} satisfies PresetTable;
