/** What our own packages share; no promise of stability. */
export { splitOf } from './native/splits.js';
export { isEnvironmentDefinition } from './seam/define.js';
export { drivers } from './drivers/table.js';
