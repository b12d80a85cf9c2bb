/** The engine seam: everything that a custom engine implements, and the manifest of its checkpoints. */
export * from './engine.js';
export * from './manifest.js';
