/** Interfaces that a custom engine implements, and the manifest of checkpoints. */
export * from './engine.js';
export * from './manifest.js';
