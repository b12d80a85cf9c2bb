import { describe, expect, it } from 'vitest';
import { createTranscript } from '../src/transcript.js';

describe('createTranscript', () => {
  it('keeps the newest characters of both streams, in order of arrival', () => {
    const transcript = createTranscript(6);
    transcript.add('stdout', 'abc\n');
    transcript.add('stderr', 'de\n');
    transcript.add('stdout', 'f');
    expect([transcript.text('stdout'), transcript.text('stderr')]).toEqual(['c\nf', 'de\n']);
    expect(transcript.lines().map(({ text }) => text)).toEqual([
      '[2 characters before this were dropped]',
      'c',
      'de',
      'f',
    ]);
  });

  it('drops a piece that is longer than everything it keeps', () => {
    const transcript = createTranscript(3);
    transcript.add('stderr', 'old');
    transcript.add('stdout', 'abcdef');
    expect(transcript.text('stdout')).toBe('def');
    expect(transcript.lines()[0]!.text).toBe('[6 characters before this were dropped]');
  });

  it('takes time by what is written, not by what is kept', () => {
    const written = 200_000;
    const millisecondsFor = (kept: number): number => {
      const transcript = createTranscript(kept);
      const begun = performance.now();
      for (let i = 0; i < written; i++) transcript.add(i % 2 === 0 ? 'stdout' : 'stderr', 'x');
      expect(transcript.text('stdout')).toHaveLength(kept / 2);
      return performance.now() - begun;
    };
    // A thousand times the output must not take hundreds of times as long, as it would if each addition
    // touched everything that is kept.
    const few = Math.max(1, millisecondsFor(100));
    expect(millisecondsFor(100_000) / few).toBeLessThan(100);
  });
});
