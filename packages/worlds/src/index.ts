export { builtInEnvironments } from './table.js';
export { frozenLake } from './worlds/frozen-lake/definition.js';
