/** Writes log events as readable text. Each event starts on a new line. */
import { describeError, type Clock, type Logger, type LogLevel } from '@trinity-rft/core';
import { boundedText, redactText } from '@trinity-rft/core/support';
import { redactField } from './redact.js';

type Fields = Readonly<Record<string, unknown>>;

const severity: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/** Maximum length of an event in characters. Agents may log whole pages. */
const longestLine = 100_000;

export interface LoggerOptions {
  /** Minimum level of the events that are passed to `write`. */
  readonly level: LogLevel;
  /**
   * Called with each line, without its newline, such as `fileWriter(path).write`. If it throws, the
   * error is reported once, on `console`.
   */
  readonly write: (line: string) => void;
  readonly clock: Pick<Clock, 'now'>;
  /**
   * Called with a shorter line for the console, such as the `log` of a console sink. @default no
   * console
   */
  readonly console?: (line: string) => void;
  /** Minimum level of the events that are passed to `console`. @default 'warn' */
  readonly minConsoleLevel?: LogLevel;
}

/**
 * Creates a logger that writes lines such as `WARN 2026-01-02T03:04:05.678Z message key=value`.
 * Times are in UTC. If a message has several lines, all but the first are indented. Values of
 * fields with names such as key, token, password or secret are redacted, unless they are numbers or
 * booleans. Never throws.
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
 * Formats the value of a field. A single word is written without quotes. A string with spaces,
 * quotes or `=` is written as JSON, so that the line can be parsed.
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
