/** Progress on the console: one live line on a terminal, plain lines elsewhere. */
import { stripVTControlCharacters, styleText } from 'node:util';
import type { Clock, MetricRecord, MetricSink } from '@trinity-rft/core';
import { evaluationResults, figures, follow, type Progress } from './status.js';

/** Standard output, or what stands in for it. */
export interface Terminal {
  write(text: string): void;
  readonly isTTY: boolean;
  /** Width in characters. */
  columns(): number;
}

export interface ConsoleSinkOptions {
  readonly terminal: Terminal;
  readonly clock: Pick<Clock, 'now'>;
  /** Begins the line, e.g. the name of the stage. @default nothing */
  readonly label?: string;
  /** `NO_COLOR` and `TERM=dumb` are obeyed. @default empty */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface ConsoleSink extends MetricSink {
  /** Train steps of the whole stage, those of earlier processes included; undefined = not known. */
  setTotalSteps(total: number | undefined): void;
  /** Writes a line of text; on a terminal above the live line. */
  log(line: string): void;
}

/** Milliseconds between two drawings of the live line. */
const redrawEvery = 100;
/** Train steps that all get a plain line; later ones one per `plainEvery` milliseconds. */
const plainAtFirst = 5;
const plainEvery = 1000;

/**
 * Shows label, step, reward, loss, tokens per second and time left, each as soon as it is known:
 * reward from the explorer's `rollout/reward/mean`, loss from the trainer's `actor/final_loss`,
 * speed from `perf/throughput`, time left from the train steps done per elapsed time. Results of
 * evaluations get lines of their own. `close` shows the last step and ends the line.
 */
export function consoleSink(options: ConsoleSinkOptions): ConsoleSink {
  const { terminal, clock, env = {} } = options;
  const live = terminal.isTTY && env['TERM'] !== 'dumb';
  const painter: Painter =
    live && !env['NO_COLOR']
      ? (style, text) => styleText(style, text, { validateStream: false })
      : (_style, text) => text;
  const label = stripVTControlCharacters(options.label ?? '').replaceAll(/\s+/g, ' ');
  const secondsPerStep = stopwatch(clock);
  let progress: Progress = {};
  /** The live line stands on the terminal's last line. */
  let drawn = false;
  /** Something of `progress` has not been shown. */
  let stale = false;
  let shownAt = -Infinity;
  let plainLines = 0;
  let closed = false;

  const statusText = (room: number): string => renderLine(label, figures(progress), room, painter);

  const show = (): void => {
    if (live) terminal.write(`\r\u001B[2K${statusText(roomOf(terminal))}`);
    else terminal.write(`${statusText(Infinity)}\n`);
    drawn = live;
    stale = false;
    shownAt = clock.now();
    plainLines++;
  };

  const isDue = (record: MetricRecord): boolean => {
    const since = clock.now() - shownAt;
    if (live) return since >= redrawEvery;
    return record.role === 'trainer' && (plainLines < plainAtFirst || since >= plainEvery);
  };

  const log = (line: string): void => {
    terminal.write(`${drawn ? '\r\u001B[2K' : ''}${line}\n`);
    if (drawn) show();
  };

  return {
    log,
    setTotalSteps: (total) => {
      const { totalSteps: _before, ...rest } = progress;
      progress = { ...rest, ...(total !== undefined && { totalSteps: total }) };
    },
    write: (record) => {
      if (closed) return;
      const results = evaluationResults(record);
      if (results.length > 0)
        log(
          `${label && `${label}  `}${record.role === 'bench' ? 'bench' : 'eval'} at step ${record.step}: ${results.join(', ')}`,
        );
      if (record.role === 'bench') return;
      const before = progress;
      progress = follow(progress, record);
      const seconds = record.role === 'trainer' ? secondsPerStep(record.step) : undefined;
      if (seconds !== undefined) progress = { ...progress, secondsPerStep: seconds };
      stale ||= record.role === 'trainer' || progress.reward !== before.reward;
      if (stale && isDue(record)) show();
    },
    close: async () => {
      if (closed) return;
      closed = true;
      if (stale && (live || progress.step !== undefined)) show();
      if (drawn) terminal.write('\n');
      drawn = false;
    },
  };
}

type Painter = (style: 'bold' | 'dim', text: string) => string;

/**
 * Characters that fit without the terminal wrapping the line; a width of 0 is what some pseudo
 * terminals say.
 */
function roomOf(terminal: Terminal): number {
  return (terminal.columns() || 80) - 1;
}

/** As many figures as fit, from the left: colours take no room. */
function renderLine(
  label: string,
  all: ReturnType<typeof figures>,
  room: number,
  painter: Painter,
): string {
  const parts = [
    ...(label === '' ? [] : [{ plain: label, painted: painter('bold', label) }]),
    ...all.map(([name, value]) => ({
      plain: `${name} ${value}`,
      painted: `${painter('dim', name)} ${value}`,
    })),
  ];
  const shown: string[] = [];
  let used = 0;
  for (const { plain, painted } of parts) {
    const needed = plain.length + (shown.length > 0 ? 2 : 0);
    if (used + needed > room) break;
    shown.push(painted);
    used += needed;
  }
  return shown.join('  ');
}

/**
 * Mean seconds of the train steps seen. The first one seen only starts the watch: it holds the
 * start-up.
 */
function stopwatch(clock: Pick<Clock, 'now'>): (step: number) => number | undefined {
  let first: { readonly step: number; readonly at: number } | undefined;
  return (step) => {
    first ??= { step, at: clock.now() };
    return step > first.step ? (clock.now() - first.at) / 1000 / (step - first.step) : undefined;
  };
}
