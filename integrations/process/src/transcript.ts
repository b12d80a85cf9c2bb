/** What a program said, line by line. */

export interface TranscriptLine {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

export interface Transcript {
  add(stream: TranscriptLine['stream'], text: string): void;
  /** All text of one stream that was kept. */
  text(stream: TranscriptLine['stream']): string;
  /** A first line says how many characters were dropped, if any were. */
  lines(): readonly TranscriptLine[];
}

const defaultLimit = 1_000_000;

/** Keeps the newest `limit` characters. */
export function createTranscript(limit = defaultLimit): Transcript {
  let pieces: TranscriptLine[] = [];
  let kept = 0;
  let dropped = 0;
  return {
    add: (stream, text) => {
      pieces.push({ stream, text });
      kept += text.length;
      while (kept > limit) {
        const { stream: oldest, text: old } = pieces[0]!;
        const excess = Math.min(old.length, kept - limit);
        pieces = excess === old.length ? pieces.slice(1) : pieces.with(0, { stream: oldest, text: old.slice(excess) });
        kept -= excess;
        dropped += excess;
      }
    },
    text: (stream) => joined(pieces.filter((piece) => piece.stream === stream)),
    lines: () => [
      ...(dropped > 0 ? [{ stream: 'stderr' as const, text: `[${dropped} characters before this were dropped]` }] : []),
      ...runsOf(pieces).flatMap(({ stream, text }) =>
        text
          .replace(/\r?\n$/, '')
          .split(/\r?\n/)
          .map((each) => ({ stream, text: each })),
      ),
    ],
  };
}

const joined = (pieces: readonly TranscriptLine[]): string => pieces.map(({ text }) => text).join('');

/** Pieces of one stream in a row as one. */
function runsOf(pieces: readonly TranscriptLine[]): readonly TranscriptLine[] {
  const runs: TranscriptLine[] = [];
  for (const piece of pieces) {
    const last = runs.at(-1);
    if (last?.stream === piece.stream) runs[runs.length - 1] = { stream: last.stream, text: last.text + piece.text };
    else runs.push(piece);
  }
  return runs;
}
