import type { z } from 'zod';
import type { checked, foundFiles, openedFile, saved, started, template } from './builder.js';
import type { processes } from './processes.js';

/** Who waits for whom in a run. */
export type Processes = z.infer<typeof processes>;

/** What is wrong with a configuration, and what it would run. */
export type Checked = z.infer<typeof checked>;
/** Configurations that are there. */
export type FoundFiles = z.infer<typeof foundFiles>;
/** A configuration as text. */
export type OpenedFile = z.infer<typeof openedFile>;
/** A configuration after a save. */
export type SavedFile = z.infer<typeof saved>;
/** A process that the studio has started. */
export type StartedRun = z.infer<typeof started>;
/** A configuration to begin with. */
export type ConfigTemplate = z.infer<typeof template>;
