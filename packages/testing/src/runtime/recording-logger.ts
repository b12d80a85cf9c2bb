import type { Logger, LogLevel } from '@trinity-rft/core';

interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface RecordingLogger extends Logger {
  /** All lines that were logged so far. */
  readonly lines: readonly LogLine[];
  /** Returns the messages logged at one level, or at all levels. */
  messages(level?: LogLevel): readonly string[];
}

/** Creates a logger that stores its lines, so that tests can check them. */
export function recordingLogger(): RecordingLogger {
  const lines: LogLine[] = [];
  const at =
    (level: LogLevel): Logger['info'] =>
    (message, fields = {}) =>
      void lines.push({ level, message, fields });
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    lines,
    messages: (level) =>
      lines
        .filter((line) => level === undefined || line.level === level)
        .map((line) => line.message),
  };
}
