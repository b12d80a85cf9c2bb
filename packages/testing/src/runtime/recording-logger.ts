/** A logger that keeps its lines for a test to read. */
import type { Logger, LogLevel } from '@trinity-rft/core';

export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  /** Those of the call and of every parent logger. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface RecordingLogger extends Logger {
  /** Every line so far, children's lines included, in order. */
  readonly lines: readonly LogLine[];
  /** Messages of one level, or of all. */
  messages(level?: LogLevel): readonly string[];
}

export function recordingLogger(): RecordingLogger {
  const lines: LogLine[] = [];
  return {
    ...loggerInto(lines, {}),
    lines,
    messages: (level) =>
      lines
        .filter((line) => level === undefined || line.level === level)
        .map((line) => line.message),
  };
}

function loggerInto(lines: LogLine[], inherited: Readonly<Record<string, unknown>>): Logger {
  const at =
    (level: LogLevel) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
      lines.push({ level, message, fields: { ...inherited, ...fields } });
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => loggerInto(lines, { ...inherited, ...fields }),
  };
}
