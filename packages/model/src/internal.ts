/** Shared by packages of this repository; not a stable interface. */
export { createBodyThread } from './body-thread/thread.js';
export { createEncoderThread, type EncoderThread } from './encoder-thread/thread.js';
export { readBody, type RequestBody } from './protocols/shared/request/body.js';
