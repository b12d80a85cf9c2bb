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
    const transcript = createTranscript(100_000);
    const begun = performance.now();
    for (let i = 0; i < 200_000; i++) transcript.add(i % 2 === 0 ? 'stdout' : 'stderr', 'x');
    expect(transcript.text('stdout')).toHaveLength(50_000);
    expect(performance.now() - begun).toBeLessThan(3000);
  });
});
