/** What our own packages share; no promise of stability. */
export { numberOfHalf } from './quantization/half.js';
