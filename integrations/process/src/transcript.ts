/** Records a program's output, line by line. */

export interface TranscriptLine {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

export interface Transcript {
  add(stream: TranscriptLine['stream'], text: string): void;
  /** Returns the characters of one stream that were kept. */
  text(stream: TranscriptLine['stream']): string;
  /** Returns the number of characters of one stream that were dropped. */
  dropped(stream: TranscriptLine['stream']): number;
  /**
   * Returns the kept lines of both streams. If characters of a stream were dropped, the stream's
   * first line is preceded by a line that states their number.
   */
  lines(): readonly TranscriptLine[];
}

const defaultLimit = 1_000_000;

/**
 * Length in characters from which on a piece is not extended. It limits the cost of dropping a part
 * of a piece.
 */
const pieceLength = 16_384;

/** Creates a transcript that keeps the newest `limit` characters of each stream. */
export function createTranscript(limit = defaultLimit): Transcript {
  const tails = { stdout: createTail(limit), stderr: createTail(limit) };
  let turn = 0;
  let latest: TranscriptLine['stream'] | undefined;
  /**
   * Returns the kept pieces of a stream. If characters were dropped, the first piece is a notice of
   * their number.
   */
  const noticed = (stream: TranscriptLine['stream']) => {
    const { dropped, pieces } = tails[stream].kept();
    const text = `[${dropped} characters before this were dropped]\n`;
    const notice = dropped > 0 ? [{ turn: pieces[0]?.turn ?? turn, text }] : [];
    return [...notice, ...pieces].map((piece) => ({ ...piece, stream }));
  };
  return {
    add: (stream, text) => {
      if (stream !== latest) turn++;
      latest = stream;
      tails[stream].add({ turn, text });
    },
    text: (stream) =>
      tails[stream]
        .kept()
        .pieces.map(({ text }) => text)
        .join(''),
    dropped: (stream) => tails[stream].kept().dropped,
    lines: () =>
      runsOf(
        [...noticed('stdout'), ...noticed('stderr')].toSorted((a, b) => a.turn - b.turn),
      ).flatMap(({ stream, text }) =>
        text
          .replace(/\r?\n$/, '')
          .split(/\r?\n/)
          .map((each) => ({ stream, text: each })),
      ),
  };
}

/**
 * Text that a stream wrote without the other stream writing in between. The turn number increases
 * whenever the other stream writes.
 */
interface Piece {
  readonly turn: number;
  readonly text: string;
}

/** Creates a buffer that keeps the newest `limit` characters of a stream. */
function createTail(limit: number) {
  let pieces: Piece[] = [];
  /** Index of the oldest piece that is kept. Earlier pieces are removed in batches. */
  let first = 0;
  let length = 0;
  let dropped = 0;
  const drop = (excess: number): void => {
    const { turn, text } = pieces[first]!;
    if (excess < text.length) pieces[first] = { turn, text: text.slice(excess) };
    else first++;
    const removed = Math.min(excess, text.length);
    length -= removed;
    dropped += removed;
    if (first * 2 < pieces.length) return;
    pieces = pieces.slice(first);
    first = 0;
  };
  return {
    add: ({ turn, text }: Piece): void => {
      const last = pieces.at(-1);
      if (last?.turn === turn && last.text.length < pieceLength)
        pieces[pieces.length - 1] = { turn, text: last.text + text };
      else pieces.push({ turn, text });
      length += text.length;
      while (length > limit) drop(length - limit);
    },
    kept: () => ({ pieces: pieces.slice(first), dropped }),
  };
}

/** Joins consecutive pieces of the same stream, so that lines are not split between pieces. */
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
