/** Interfaces that a custom engine implements, and functions for the manifests of checkpoints. */
export * from './engine.js';
export * from './manifest.js';
