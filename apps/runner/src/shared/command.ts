/** Types of commands, and their output. */
import type { Command } from 'commander';

export type Write = (text: string) => void;

/** A value as indented JSON, with a newline at the end. */
export const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

export interface CommandContext {
  /** Writes to standard output. */
  readonly write: Write;
  /** Converts a function that resolves with the exit code to a Commander action. */
  readonly exitWith: <Given extends readonly unknown[]>(
    action: (...given: Given) => Promise<number>,
  ) => (...given: Given) => Promise<void>;
}

/**
 * Declares a command with its options. Packages that take long to load are imported only in the
 * action of the command that needs them, so that other commands start quickly.
 */
export type AddCommand = (program: Command, context: CommandContext) => void;
