import type { z } from 'zod';
import type { checked, foundFiles, openedFile, saved, started, template } from './builder.js';
import type {
  askProductBody,
  checkpoint,
  commitAnswer,
  message,
  productAnswer,
  sayBody,
  spoken,
} from './playground.js';
import type { processes } from './processes.js';
import type { scored } from './scoring.js';

/** Waits between the processes of a run. */
export type Processes = z.infer<typeof processes>;

/** Problems of a configuration, and what it would run. */
export type Checked = z.infer<typeof checked>;
/** Configurations that were found below the folder. */
export type FoundFiles = z.infer<typeof foundFiles>;
/** A configuration as text. */
export type OpenedFile = z.infer<typeof openedFile>;
/** A configuration after a save. */
export type SavedFile = z.infer<typeof saved>;
/** A process that the studio has started. */
export type StartedRun = z.infer<typeof started>;
/** A configuration to begin with. */
export type ConfigTemplate = z.infer<typeof template>;

/** A model of a run. */
export type Checkpoint = z.infer<typeof checkpoint>;
/** Request for an answer of a model. */
export type SayRequest = z.infer<typeof sayBody>;
/** A turn of a conversation. */
export type Message = z.infer<typeof message>;
/** A part of a streamed answer. */
export type Spoken = z.infer<typeof spoken>;
/** A question to a product. */
export type AskProduct = z.infer<typeof askProductBody>;
/** Answer of a product. */
export type ProductAnswer = z.infer<typeof productAnswer>;
/** Result of a commit to training data. */
export type CommitAnswer = z.infer<typeof commitAnswer>;

/** Part of a streamed response with a checkpoint's log-probabilities of a recorded attempt. */
export type Scored = z.infer<typeof scored>;
