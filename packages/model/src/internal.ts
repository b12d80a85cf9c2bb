/** Exports for packages of this repository only. This interface is not stable. */
export { createBodyThread } from './body-thread/thread.js';
export { createEncoderThread, type EncoderThread } from './encoder-thread/thread.js';
export { readBody, type RequestBody } from './protocols/shared/request/body.js';
