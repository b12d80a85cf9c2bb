export { startTelemetry, type Telemetry } from './start.js';
