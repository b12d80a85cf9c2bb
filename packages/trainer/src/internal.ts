/** Shared by packages of this repository; not a stable interface. */
export { criticIn } from './checkpoint/models.js';
