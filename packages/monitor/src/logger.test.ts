import type { LogLevel } from '@trinity-rft/core';
import { manualClock } from '@trinity-rft/testing';
import { describe, expect, it } from 'vitest';
import { createLogger, type LoggerOptions } from './logger.js';

const time = '2026-01-02T03:04:05.678Z';

function loggerWith(options: Partial<LoggerOptions> = {}) {
  const [file, console]: [string[], string[]] = [[], []];
  const logger = createLogger({
    level: 'debug',
    write: (line) => void file.push(line),
    console: (line) => void console.push(line),
    clock: manualClock(Date.parse(time)),
    ...options,
  });
  return { logger, file, console };
}

describe('createLogger', () => {
  it('writes level, time, message and fields', () => {
    const { logger, file } = loggerWith();
    logger.info('Step done.', { step: 2, reward: 0.5, skipped: undefined, nothing: null });
    expect(file).toEqual([`INFO  ${time} Step done. step=2 reward=0.5 nothing=null`]);
  });

  it.each<[LogLevel, LogLevel, string[], string[]]>([
    ['debug', 'warn', ['DEBUG', 'INFO', 'WARN', 'ERROR'], ['warning:', 'error:']],
    ['warn', 'error', ['WARN', 'ERROR'], ['error:']],
    ['error', 'info', ['ERROR'], ['info:', 'warning:', 'error:']],
  ])(
    'gives %s and above to the file, %s and above to the console',
    (level, minConsoleLevel, inFile, onConsole) => {
      const { logger, file, console } = loggerWith({ level, minConsoleLevel });
      for (const each of ['debug', 'info', 'warn', 'error'] as const) logger[each]('x');
      const firstWords = (lines: readonly string[]): string[] =>
        lines.map((line) => line.split(' ')[0]!);
      expect([firstWords(file), firstWords(console)]).toEqual([inFile, onConsole]);
    },
  );

  it('keeps values apart: words bare, everything else as JSON', () => {
    const { logger, file } = loggerWith();
    const circular: Record<string, unknown> = { a: 1 };
    circular['self'] = circular;
    logger.info('v', {
      path: '/a/b',
      text: 'a b\n"c"',
      empty: '',
      list: [1, 'x'],
      error: new TypeError('bad', { cause: new RangeError('worse') }),
      ids: new Int32Array(3),
      circular,
      big: 3n,
    });
    expect(file[0]).toBe(
      `INFO  ${time} v path=/a/b text="a b\\n\\"c\\"" empty="" list=[1,"x"] error="bad: worse" ids=[Int32Array of 12 bytes] circular={"a":1,"self":"[circular]"} big=3`,
    );
  });

  it('indents the further lines of a message, so that every event begins with its level', () => {
    const { logger, file, console } = loggerWith();
    logger.error('Two problems:\na\r\nb');
    expect(file).toEqual([`ERROR ${time} Two problems:\n    a\n    b`]);
    expect(console).toEqual(['error: Two problems:\n    a\n    b']);
  });

  it('shows no secret', () => {
    const { logger, file, console } = loggerWith();
    logger.warn('Failed at postgres://user:abc@host/db with Bearer abc and sk-abcabcabcabc', {
      apiKey: 'abc',
      HF_TOKEN: 'abc',
      wandb: { api_key: 'abc', project: 'p', nested: [{ password: 'abc' }] },
      tokens: 512,
      token: ['abc'],
      passwordFile: 'abc',
      tokenizer: 'qwen',
    });
    expect(file[0]).toContain(
      'postgres://user:[redacted]@host/db with Bearer [redacted] and [redacted] apiKey=[redacted]',
    );
    expect(file[0]).toContain('tokens=512');
    expect(file[0]).toContain('tokenizer=qwen');
    expect(file[0]).toContain('"project":"p"');
    expect([...file, ...console].join('')).not.toContain('abc');
  });

  it('does not throw when the file fails, and says so on the console once', () => {
    const { logger, console } = loggerWith({
      write: () => {
        throw new TypeError('disk full');
      },
    });
    logger.info('a');
    logger.info('b');
    expect(console).toEqual(['error: The log is incomplete from here on: disk full']);
    const mute = loggerWith({
      console: () => {
        throw new TypeError('gone');
      },
    });
    mute.logger.warn('a');
    expect(mute.file).toHaveLength(1);
  });
});
