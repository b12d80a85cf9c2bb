/**
 * The algorithms by the names of YAML's `algorithm_type`, as the parts they are made of. To add
 * one, write a row.
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
