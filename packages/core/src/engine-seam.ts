/** The engine seam: everything that an engine of your own implements, and the manifest of its checkpoints. */
export * from './engine.js';
export * from './manifest.js';
