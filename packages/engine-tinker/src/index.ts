export { createTinkerEngine, type TinkerEngineOptions } from './engine.js';
