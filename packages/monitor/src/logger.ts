/** Writes the log as readable text. Each event starts a new line. */
import { describeError, type Clock, type Logger, type LogLevel } from '@trinity-rft/core';
import { boundedText, redactText } from '@trinity-rft/core/support';
import { redactField } from './redact.js';

type Fields = Readonly<Record<string, unknown>>;

const severity: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/** Maximum number of characters of an event, because agents may log whole pages. */
const longestLine = 100_000;

export interface LoggerOptions {
  /** Minimum level for `write`. */
  readonly level: LogLevel;
  /**
   * Receives a full line without its newline, e.g. `fileWriter(path).write`. If it throws, the
   * error is reported once, on `console`.
   */
  readonly write: (line: string) => void;
  readonly clock: Pick<Clock, 'now'>;
  /** Receives a short line for people, such as the `log` of a console sink. @default no console */
  readonly console?: (line: string) => void;
  /** Minimum level for `console`. @default 'warn' */
  readonly minConsoleLevel?: LogLevel;
}

/**
 * Creates a logger with lines such as `WARN 2026-01-02T03:04:05.678Z message key=value`, in UTC.
 * The second and later lines of a message are indented. Values of fields with names such as key,
 * token, password or secret are redacted, except for numbers and booleans. Never throws.
 */
export function createLogger(options: LoggerOptions): Logger {
  const { minConsoleLevel = 'warn' } = options;
  let fileFailed = false;

  const toConsole = (line: string): void => {
    try {
      options.console?.(line);
    } catch {
      // There is no other place to report the error.
    }
  };

  const toFile = (line: string): void => {
    try {
      options.write(line);
    } catch (error) {
      if (!fileFailed)
        toConsole(`error: The log is incomplete from here on: ${describeError(error)}`);
      fileFailed = true;
    }
  };

  const emit = (level: LogLevel, message: string, fields: Fields): void => {
    const isFor = (lowest: LogLevel): boolean => severity[level] >= severity[lowest];
    if (!isFor(options.level) && !isFor(minConsoleLevel)) return;
    const text = redactText(
      boundedText(`${message}${formatFields(fields)}`, longestLine),
    ).replaceAll(/\r?\n/g, '\n    ');
    if (isFor(options.level))
      toFile(
        `${level.toUpperCase().padEnd(5)} ${new Date(options.clock.now()).toISOString()} ${text}`,
      );
    if (isFor(minConsoleLevel)) toConsole(`${level === 'warn' ? 'warning' : level}: ${text}`);
  };

  const at =
    (level: LogLevel): Logger['info'] =>
    (message, fields = {}) =>
      emit(level, message, fields);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function formatFields(fields: Fields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}=${formatValue(redactField(key, value))}`)
    .join('');
}

/**
 * Formats a value. A single word is written without quotes. Strings with spaces, quotes or `=` are
 * written as JSON, so that a line can be parsed.
 */
function formatValue(value: unknown): string {
  const plain = value instanceof Error ? describeError(value) : value;
  if (typeof plain === 'string') return /^[^\s"=]+$/.test(plain) ? plain : JSON.stringify(plain);
  if (typeof plain !== 'object' || plain === null) return String(plain);
  if (ArrayBuffer.isView(plain)) return `[${plain.constructor.name} of ${plain.byteLength} bytes]`;
  try {
    return JSON.stringify(plain);
  } catch {
    return Object.prototype.toString.call(plain);
  }
}
