/** Opens the log, console and metric files of a stage. */
import path from 'node:path';
import { openedFile } from '@trinity-rft/buffer/internal';
import type { StageConfig } from '@trinity-rft/config';
import { redact } from '@trinity-rft/config/internal';
import {
  describeError,
  type Clock,
  type Logger,
  type MetricSink,
  type MetricRole,
  type Monitor,
} from '@trinity-rft/core';
import type { ExploreProgress } from '@trinity-rft/explorer';
import {
  consoleSink,
  createLogger,
  fileWriter,
  jsonlSink,
  MonitorError,
  serviceSink,
  teeSink,
  tensorBoardSink,
  trimPreview,
  type ResumePoint,
  type RunOutcome,
  type ServiceSink,
  type Terminal,
} from '@trinity-rft/monitor';
import { telemetrySink } from '@trinity-rft/monitor/internal';

export interface StageMonitor {
  readonly logger: Logger;
  /**
   * Logger that writes to the log file only, for messages that other code already shows on the
   * console.
   */
  readonly fileLogger: Logger;
  /**
   * Starts the training run at each tracking service. @throws ServiceError when a service refuses
   * the request
   */
  openServices(stop: AbortSignal): Promise<void>;
  /**
   * Opens the metric files, and deletes records after the resume point, because their steps will be
   * repeated.
   */
  openSink(resume: ResumePoint): MetricSink;
  /** Shows progress during a step. */
  readonly onProgress: (progress: ExploreProgress) => void;
  /**
   * Sets the total number of train steps, from which the remaining time is estimated; undefined if
   * unknown.
   */
  expectSteps(total: number | undefined): void;
  close(outcome: RunOutcome): Promise<void>;
}

export interface MonitorOptions {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly monitors: readonly Monitor[];
  /** Name of the model of a benchmark that is no checkpoint of the run. */
  readonly benched?: string | undefined;
}

export function openMonitor(
  stage: StageConfig,
  { terminal, clock, env, monitors, benched }: MonitorOptions,
): StageMonitor {
  const screen = consoleSink({ terminal, clock, env, stageName: stage.stageName, benched });
  const file = fileWriter(path.join(stage.log.directory, 'trinity.log'), stage.log);
  const job = openedFile(stage.jobDirectory);
  const toFile = { level: stage.log.level, write: (line: string) => file.write(line), clock };
  const logger = createLogger({ ...toFile, console: (line) => screen.log(line) });
  const { project, name } = stage;
  const { directory, sinks } = stage.monitor;
  const services = closingOnError(file, () => servicesOf(stage, { clock, env, logger }));
  const teeOf = (own: readonly MetricSink[]): MetricSink =>
    teeSink([...own, ...services, telemetrySink(), screen], {
      clock,
      onError: (error) => logger.error(error.message),
    });
  let tee = teeOf([]);
  // The activity starts a timer, which keeps the process alive until `close`.
  screen.setActivity('opening the model and the data');
  return {
    logger,
    fileLogger: createLogger(toFile),
    openServices: async (stop) => {
      for (const service of services) await service.open(stop);
    },
    openSink: (resume) => {
      if (stage.mode === 'serve') screen.setActivity('serving');
      const own: MetricSink[] = [];
      try {
        own.push(jsonlSink({ path: path.join(directory, 'metrics.jsonl'), resume, logger }));
        trimPreviews(directory, resume, logger);
        const board = path.join(directory, 'tensorboard');
        if (sinks.includes('tensorboard'))
          own.push(tensorBoardSink({ directory: board, clock, resume }));
        for (const [index, monitor] of monitors.entries())
          own.push(opened(index, () => monitor.open({ project, name, directory })));
      } finally {
        // After an error, `close` closes the sinks that are open.
        tee = teeOf(own);
      }
      return {
        write: (record) => {
          job.assertThere();
          if (record.role === 'trainer' && stage.mode === 'train') screen.setActivity('training');
          tee.write(record);
        },
        close: () => tee.close(),
      };
    },
    onProgress: ({ what, done, total }) => {
      if (done === total) screen.setActivity(afterRuns(stage));
      else screen.setActivity(what, done === undefined ? undefined : `${done}/${total} runs`);
    },
    expectSteps: (total) => screen.setTotalSteps(total),
    close: async (outcome) => {
      for (const service of services) service.setOutcome(outcome);
      await tee.close();
      file.close();
    },
  };
}

/** Returns the result of `open`. If `open` throws, closes `opened`. */
function closingOnError<T>(opened: { close(): void }, open: () => T): T {
  try {
    return open();
  } catch (error) {
    opened.close();
    throw error;
  }
}

/** Opens the monitor at `index` of `run({ monitors })`. @throws MonitorError with this index */
function opened(index: number, open: () => MetricSink): MetricSink {
  try {
    return open();
  } catch (cause) {
    throw new MonitorError(
      `monitors[${index}] of run({ monitors }) threw when it was opened: ${describeError(cause)}. Correct its open, or leave it out.`,
      { code: 'SINK_FAILED', cause },
    );
  }
}

/** Text of the progress line after all rollouts of a step have ended. */
const afterRuns = ({ mode }: StageConfig): string =>
  mode === 'bench' ? 'loading the next weights' : 'training';

const rolesOf: Readonly<Record<StageConfig['mode'], readonly MetricRole[]>> = {
  both: ['explorer', 'trainer'],
  serve: ['explorer', 'trainer'],
  train: ['trainer'],
  bench: ['bench'],
};

/**
 * Creates the sinks of the tracking services that the stage names.
 * @throws ServiceError when a service requires an API key that is not set
 */
function servicesOf(
  stage: StageConfig,
  { clock, env, logger }: Pick<MonitorOptions, 'clock' | 'env'> & Pick<StageMonitor, 'logger'>,
): readonly ServiceSink[] {
  const { monitor, project, group, name, mode, part } = stage;
  // The trainer's process sends the metrics of all processes.
  if (part === 'explore') return [];
  const config = redact(stage) as Readonly<Record<string, unknown>>;
  return monitor.sinks.flatMap((service) =>
    service === 'tensorboard'
      ? []
      : [
          serviceSink({
            service,
            args: monitor.args[service] ?? {},
            env,
            project,
            name: name.replaceAll('/', '-'),
            group: group === '' ? project : group,
            config,
            directory: monitor.directory,
            clock,
            logger,
            ...(monitor.sharedRun ? {} : { ownRuns: rolesOf[mode] }),
          }),
        ],
  );
}

/** Deletes previews of steps that will be repeated. */
function trimPreviews(
  directory: string,
  { explorer, trainer, hadEnded }: ResumePoint,
  logger: Pick<Logger, 'warn'>,
): void {
  try {
    if (explorer !== undefined)
      trimPreview(path.join(directory, 'rollouts.jsonl'), explorer + (hadEnded ? 1 : 0));
    if (trainer !== undefined) trimPreview(path.join(directory, 'samples.jsonl'), trainer);
  } catch (error) {
    logger.warn('A preview could not be brought to the step at which the run resumes.', { error });
  }
}
