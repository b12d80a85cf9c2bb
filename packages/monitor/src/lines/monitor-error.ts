import { TrinityError } from '@trinity-rft/core';

/** Thrown if a metrics or log file cannot be read or written, or a sink fails. */
export class MonitorError extends TrinityError {}
