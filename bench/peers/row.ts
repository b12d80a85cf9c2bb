/** What `pnpm bench peers` compares: rows of sides, each a program that is run and measured. */
import type { FoundPython } from '../../tests/support/src/python/python.ts';

export interface Row {
  /** As `--rows` names it. */
  readonly name: string;
  readonly job: string;
  /** What a reader must know of the figures: what was not as in a real run. */
  readonly note?: string;
  /** @default the command's */
  readonly repeats?: number;
  /** Compares rewards: a repeat is another seed, and there are `--seeds` of them. */
  readonly learns?: boolean;
  /** Writes what the sides need into `place.folder` and names their programs. */
  readonly prepare: (place: Place) => Promise<Sides>;
}

export interface Place {
  /** Empty, and removed after the row. */
  readonly folder: string;
  /** Kept from run to run: models that take long to make. */
  readonly cache: string;
  readonly repeats: number;
  /** Repeats of a row that learns. */
  readonly seeds: number;
  readonly python: FoundPython;
}

export interface Sides {
  readonly ours: Side;
  /** Several where the peer's best setting is not known: the fastest in the first repeat stays. */
  readonly peers: readonly Side[];
}

export interface Side {
  readonly name: string;
  /** From 0, different in each repeat. */
  readonly command: (repeat: number) => readonly string[];
  readonly cwd?: string;
  /**
   * Figures of the run that has just ended, given what it printed.
   * @default the last line printed, as JSON
   */
  readonly read?: (printed: string, repeat: number) => Promise<Figures>;
}

/** What a side says about itself. */
export interface Figures {
  /** Seconds of the job. @default those of the whole process */
  readonly seconds?: number;
  /** @default those of the whole process */
  readonly cpuSeconds?: number;
  /** Anything else, by its name. */
  readonly parts?: Readonly<Record<string, number>>;
}

export interface Run extends Required<Figures> {
  readonly side: string;
  readonly repeat: number;
  /** Process seconds of the whole process. */
  readonly processSeconds: number;
  /** Largest sum over the process and its children at one time. */
  readonly memoryGib: number | undefined;
  /** Share of the processors that other programs had. */
  readonly otherLoadPercent: number;
}

export interface RowResult {
  readonly name: string;
  readonly job: string;
  readonly note: string | undefined;
  readonly runs: readonly Run[];
  /** Why there is no peer, or why a side ended without figures. */
  readonly missing: readonly string[];
}
