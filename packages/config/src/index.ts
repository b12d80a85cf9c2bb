export { loadConfig, parseConfig, type LoadedConfig, type ParseConfigOptions } from './load.js';
export { problemsOf, renderProblem, type ConfigProblem, type SourcePosition } from './problem.js';
export type * from './resolved-algorithm.js';
export type * from './resolved.js';
