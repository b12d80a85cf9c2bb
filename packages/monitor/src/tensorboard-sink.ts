/** Writes TensorBoard event files, in one folder per role. */
import { appendFileSync, closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { describeError, type Clock, type MetricSink, type MetricRole } from '@trinity-rft/core';
import { encodeEvent, frame, type TensorBoardEvent } from './event-file.js';
import { MonitorError } from './lines/monitor-error.js';
import type { ResumePoint } from './resume-point.js';

export interface TensorBoardSinkOptions {
  /**
   * Folder for the event files, which can be passed to `tensorboard --logdir`. For each role, a
   * subfolder is created with the first record.
   */
  readonly directory: string;
  /** Clock for the times of events and for file names. */
  readonly clock: Pick<Clock, 'now'>;
  /**
   * Last step of each role whose earlier data is kept. TensorBoard ignores data of earlier files
   * beyond these steps.
   * @default all data is kept
   */
  readonly resume?: ResumePoint;
}

/**
 * Creates a sink that writes TensorBoard event files. Every process writes new files, even if the
 * training run is resumed. TensorBoard reads all files of a folder in the order of their names.
 * Values are stored as float32. Values that are not finite are written as they are, and TensorBoard
 * marks them. `write` throws on a disk error, so wrap the sink in `teeSink`.
 */
export function tensorBoardSink({
  directory,
  clock,
  resume = {},
}: TensorBoardSinkOptions): MetricSink {
  const files = new Map<MetricRole, number>();
  let closed = false;
  const seconds = (): number => clock.now() / 1000;

  const append = (file: number, event: TensorBoardEvent): void =>
    appendFileSync(file, frame(encodeEvent(event)));

  const open = (role: MetricRole): number => {
    const file = createFile(path.join(directory, role), Math.floor(seconds()));
    files.set(role, file);
    append(file, { wallTime: seconds(), fileVersion: 'brain.Event:2' });
    const resumed = resume[role];
    // The records with which a training run ended have the number of the step after its last step.
    const kept = resume.hadEnded && role === 'explorer' ? 1 : 0;
    if (resumed !== undefined)
      append(file, { wallTime: seconds(), step: resumed + 1 + kept, sessionStart: true });
    return file;
  };

  return {
    write: ({ role, step, metrics }) => {
      if (closed)
        throw new MonitorError(
          `TensorBoard files in ${directory} were written after they were closed. Close the sink after its last record.`,
          { code: 'SINK_CLOSED' },
        );
      try {
        append(files.get(role) ?? open(role), { wallTime: seconds(), step, scalars: metrics });
      } catch (cause) {
        throw new MonitorError(
          `TensorBoard files could not be written to ${directory}: ${describeError(cause)}. Check that the folder is writable and the disk has room.`,
          { code: 'TENSORBOARD_FILE', cause },
        );
      }
    },
    close: async () => {
      closed = true;
      for (const file of files.values()) closeSync(file);
      files.clear();
    },
  };
}

/**
 * Creates an event file. TensorBoard reads files whose names contain `tfevents` in the order of
 * their names, so the time is the first part that differs between names.
 */
function createFile(folder: string, second: number): number {
  mkdirSync(folder, { recursive: true });
  for (let count = 0; ; count++) {
    const name = `events.out.tfevents.${String(second).padStart(10, '0')}.${String(count).padStart(4, '0')}`;
    try {
      return openSync(path.join(folder, name), 'ax');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
