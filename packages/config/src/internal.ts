export { unmetNeeds, type UnmetNeed } from './resolve/algorithm/unmet-needs.js';
export type { Vocabulary } from './schema/root.js';
