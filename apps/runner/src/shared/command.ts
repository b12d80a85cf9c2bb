/** How a command joins the program. */
import type { Command } from 'commander';

export type Write = (text: string) => void;

export interface CommandContext {
  /** Standard output. */
  readonly write: Write;
  /** Makes a Commander action of a function that resolves with the exit code. */
  readonly exitWith: <Given extends readonly unknown[]>(
    action: (...given: Given) => Promise<number>,
  ) => (...given: Given) => Promise<void>;
}

/**
 * Declares a command with its options. Packages that take long to load are imported by its action,
 * so that other commands start without them.
 */
export type AddCommand = (program: Command, context: CommandContext) => void;
