/** Exports for other packages of this repository; not a stable interface. */
export { criticIn } from './checkpoint/models.js';
