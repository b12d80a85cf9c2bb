import { TrinityError } from '@trinity-rft/core';

/** Thrown if a metrics or log file could not be opened or written, or a sink failed. */
export class MonitorError extends TrinityError {}
