import type { z } from 'zod';
import type { processes } from './processes.js';

/** Who waits for whom in a run. */
export type Processes = z.infer<typeof processes>;
