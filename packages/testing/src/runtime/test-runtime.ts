/** A runtime with a manual clock and a recording logger. */
import { createRuntime, type Runtime } from '@trinity-rft/core';
import { manualClock, type ManualClock } from './manual-clock.js';
import { recordingLogger, type RecordingLogger } from './recording-logger.js';

export interface TestRuntime extends Runtime {
  readonly clock: ManualClock;
  readonly logger: RecordingLogger;
}

/**
 * Creates a runtime for tests.
 * @param seed root seed. @default 42
 */
export function testRuntime(seed = 42): TestRuntime {
  const clock = manualClock();
  const logger = recordingLogger();
  return { ...createRuntime({ seed, clock, logger }), clock, logger };
}
