/**
 * Rows of `pnpm bench peers`. A row compares sides, each of which is a program that is run and
 * measured.
 */
import type { FoundPython } from '../../tests/support/src/python/python.ts';

export interface Row {
  /** Name for `--rows`. */
  readonly name: string;
  readonly job: string;
  /** Note for the reader: differences from a real run. */
  readonly note?: string;
  /** Number of repeats. @default the number given to the command */
  readonly repeats?: number;
  /** True to compare rewards: each repeat uses another seed, and there are `--seeds` repeats. */
  readonly learns?: boolean;
  /** Writes the files that the sides need into `place.folder` and returns their programs. */
  readonly prepare: (place: Place) => Promise<Sides>;
}

export interface Place {
  /** Empty folder, which is removed after the row. */
  readonly folder: string;
  /** Folder that is kept between runs, for models that take long to create. */
  readonly cache: string;
  readonly repeats: number;
  /** Number of repeats of a row that learns. */
  readonly seeds: number;
  readonly python: FoundPython;
}

export interface Sides {
  readonly ours: Side;
  /**
   * Peers with different settings, if the best setting is unknown. Only the peer that is fastest in the first repeat
   * continues.
   */
  readonly peers: readonly Side[];
}

export interface Side {
  readonly name: string;
  /** Command of a repeat. `repeat` counts from 0 and differs in each repeat. */
  readonly command: (repeat: number) => readonly string[];
  readonly cwd?: string;
  /**
   * Reads the figures of a finished run from its output.
   * @default the last line printed, as JSON
   */
  readonly read?: (printed: string, repeat: number) => Promise<Figures>;
}

/** Figures that a side reports about itself. */
export interface Figures {
  /**
   * Seconds of the job.
   * @default seconds of the whole process
   */
  readonly seconds?: number;
  /**
   * Processor seconds of the job.
   * @default processor seconds of the whole process
   */
  readonly cpuSeconds?: number;
  /** Further figures by name. */
  readonly parts?: Readonly<Record<string, number>>;
}

export interface Run extends Required<Figures> {
  readonly side: string;
  readonly repeat: number;
  /** Processor seconds of the whole process. */
  readonly processSeconds: number;
  /** Peak memory in GiB, summed over the process and its children. */
  readonly memoryGib: number | undefined;
  /** Percentage of the processors that other programs used. */
  readonly otherLoadPercent: number;
}

export interface RowResult {
  readonly name: string;
  readonly job: string;
  readonly note: string | undefined;
  /** Name of our side. */
  readonly ours: string;
  readonly runs: readonly Run[];
  /** Reasons why there is no peer, or why a side ended without figures. */
  readonly missing: readonly string[];
}
