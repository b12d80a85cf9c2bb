/** A logger that keeps its lines for a test. */
import type { Logger, LogLevel } from '@trinity-rft/core';

interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  /** Fields of the call and of all parent loggers. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface RecordingLogger extends Logger {
  /** Every line so far, including those of child loggers. */
  readonly lines: readonly LogLine[];
  /** The messages of one level, or of all levels. */
  messages(level?: LogLevel): readonly string[];
}

/** A logger that keeps its lines, so that tests can check them. */
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
