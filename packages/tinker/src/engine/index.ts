export { createTinkerEngine, type TinkerEngineOptions } from './engine.js';
export { tinkerEngine, type TinkerSettings } from './factory.js';
