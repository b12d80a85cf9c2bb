/** The output of a program, line by line. */

export interface TranscriptLine {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

export interface Transcript {
  add(stream: TranscriptLine['stream'], text: string): void;
  /** Kept text of one stream. */
  text(stream: TranscriptLine['stream']): string;
  /** Kept lines. If characters were dropped, the first line states this. */
  lines(): readonly TranscriptLine[];
}

const defaultLimit = 1_000_000;

/** Length from which a piece is not extended, so that dropping a part of a piece stays cheap. */
const pieceLength = 16_384;

/** Creates a transcript that keeps the newest `limit` characters. */
export function createTranscript(limit = defaultLimit): Transcript {
  let pieces: TranscriptLine[] = [];
  /** Index of the oldest kept piece; earlier pieces are removed in batches. */
  let first = 0;
  let kept = 0;
  let dropped = 0;
  const drop = (excess: number): void => {
    const { stream, text } = pieces[first]!;
    if (excess < text.length) pieces[first] = { stream, text: text.slice(excess) };
    else first++;
    const removed = Math.min(excess, text.length);
    kept -= removed;
    dropped += removed;
    if (first * 2 < pieces.length) return;
    pieces = pieces.slice(first);
    first = 0;
  };
  const all = (): readonly TranscriptLine[] => pieces.slice(first);
  return {
    add: (stream, text) => {
      const last = pieces.at(-1);
      if (last?.stream === stream && last.text.length < pieceLength)
        pieces[pieces.length - 1] = { stream, text: last.text + text };
      else pieces.push({ stream, text });
      kept += text.length;
      while (kept > limit) drop(kept - limit);
    },
    text: (stream) => joined(all().filter((piece) => piece.stream === stream)),
    lines: () => [
      ...(dropped > 0
        ? [{ stream: 'stderr' as const, text: `[${dropped} characters before this were dropped]` }]
        : []),
      ...runsOf(all()).flatMap(({ stream, text }) =>
        text
          .replace(/\r?\n$/, '')
          .split(/\r?\n/)
          .map((each) => ({ stream, text: each })),
      ),
    ],
  };
}

const joined = (pieces: readonly TranscriptLine[]): string =>
  pieces.map(({ text }) => text).join('');

/** Joins consecutive pieces of the same stream. */
function runsOf(pieces: readonly TranscriptLine[]): readonly TranscriptLine[] {
  const runs: TranscriptLine[] = [];
  for (const piece of pieces) {
    const last = runs.at(-1);
    if (last?.stream === piece.stream)
      runs[runs.length - 1] = { stream: last.stream, text: last.text + piece.text };
    else runs.push(piece);
  }
  return runs;
}
