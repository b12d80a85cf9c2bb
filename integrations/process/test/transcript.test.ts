import { describe, expect, it } from 'vitest';
import { createTranscript } from '../src/transcript.js';

describe('createTranscript', () => {
  it('keeps the newest characters of each stream, in order of arrival', () => {
    const transcript = createTranscript(4);
    transcript.add('stdout', 'abc\n');
    transcript.add('stderr', 'de\n');
    transcript.add('stdout', 'fg');
    expect([transcript.text('stdout'), transcript.text('stderr')]).toEqual(['c\nfg', 'de\n']);
    expect(transcript.lines().map(({ stream, text }) => `${stream} ${text}`)).toEqual([
      'stdout [2 characters before this were dropped]',
      'stdout c',
      'stderr de',
      'stdout fg',
    ]);
  });

  it('keeps an answer that is followed by any number of warnings', () => {
    const transcript = createTranscript(100);
    transcript.add('stdout', '42\n');
    for (let i = 0; i < 1000; i++) transcript.add('stderr', `warning ${i}\n`);
    expect(transcript.text('stdout')).toBe('42\n');
    expect(transcript.text('stderr')).toHaveLength(100);
    const [answer, notice, ...warnings] = transcript.lines();
    expect(answer).toEqual({ stream: 'stdout', text: '42' });
    expect(notice?.text).toMatch(/^\[\d+ characters before this were dropped\]$/);
    expect(warnings.at(-1)).toEqual({ stream: 'stderr', text: 'warning 999' });
  });

  it('drops a piece that is longer than everything it keeps', () => {
    const transcript = createTranscript(3);
    transcript.add('stderr', 'old');
    transcript.add('stdout', 'abcdef');
    expect(transcript.text('stdout')).toBe('def');
    expect(transcript.lines().map(({ text }) => text)).toEqual([
      'old',
      '[3 characters before this were dropped]',
      'def',
    ]);
  });

  it('takes time by what is written, not by what is kept', () => {
    const written = 200_000;
    const timeOf = (kept: number): number => {
      const transcript = createTranscript(kept);
      const begun = performance.now();
      for (let i = 0; i < written; i++) transcript.add(i % 2 === 0 ? 'stdout' : 'stderr', 'x');
      expect(transcript.text('stdout')).toHaveLength(kept);
      return performance.now() - begun;
    };
    // A pause of the machine makes one of three runs long.
    const millisecondsFor = (kept: number): number =>
      Math.min(...[1, 2, 3].map(() => timeOf(kept)));
    // A thousand times the output must not take hundreds of times as long, as it would if each addition
    // touched everything that is kept.
    const few = Math.max(1, millisecondsFor(100));
    expect(millisecondsFor(100_000) / few).toBeLessThan(100);
  });
});
