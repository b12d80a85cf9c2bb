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
 * Function that declares a command with its options. The action of the command imports packages
 * that take long to load, so that other commands start without them.
 */
export type AddCommand = (program: Command, context: CommandContext) => void;
