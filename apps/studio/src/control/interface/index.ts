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

/** Processes of a run, and what they wait for. */
export type Processes = z.infer<typeof processes>;

/** Result of a check of a configuration: problems, warnings and the plan. */
export type Checked = z.infer<typeof checked>;
/** Configurations below the working directory of the studio. */
export type FoundFiles = z.infer<typeof foundFiles>;
/** Text of a configuration, its digest, and the command that runs it. */
export type OpenedFile = z.infer<typeof openedFile>;
/** Digest of a saved configuration, and the command that runs it. */
export type SavedFile = z.infer<typeof saved>;
/** A run that the studio has started. */
export type StartedRun = z.infer<typeof started>;
/** A template of a configuration. */
export type ConfigTemplate = z.infer<typeof template>;

/** A checkpoint of a run, or the model that the run began with. */
export type Checkpoint = z.infer<typeof checkpoint>;
/** Request for a response from a checkpoint. */
export type SayRequest = z.infer<typeof sayBody>;
/** A message of a conversation. */
export type Message = z.infer<typeof message>;
/** A part of a streamed response. */
export type Spoken = z.infer<typeof spoken>;
/** Request for a response from a product. */
export type AskProduct = z.infer<typeof askProductBody>;
/** Response from a product. */
export type ProductAnswer = z.infer<typeof productAnswer>;
/** Result of turning responses with rewards into training data. */
export type CommitAnswer = z.infer<typeof commitAnswer>;

/**
 * Part of a streamed score response: log-probabilities that a checkpoint gives a recorded attempt.
 */
export type Scored = z.infer<typeof scored>;
