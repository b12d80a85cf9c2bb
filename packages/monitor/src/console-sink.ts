/** Progress on the console: one live line on a terminal, plain lines elsewhere. */
import { stripVTControlCharacters, styleText } from 'node:util';
import type { Clock, MetricRecord, MetricSink } from '@trinity-rft/core';
import { evaluationResults, figures, follow, type Progress } from './status.js';

/** Standard output, or a replacement for it. */
export interface Terminal {
  write(text: string): void;
  readonly isTTY: boolean;
  /** Width in characters. */
  columns(): number;
}

export interface ConsoleSinkOptions {
  readonly terminal: Terminal;
  readonly clock: Pick<Clock, 'now'>;
  /** Starts the line. @default none */
  readonly stageName?: string;
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
const redrawEveryMs = 100;
/** Each of the first train steps gets a plain line, later ones one per `plainEveryMs`. */
const plainAtFirst = 5;
const plainEveryMs = 1000;
const clearLine = '\r\u001B[2K';

/**
 * Shows stage, step, reward, loss, tokens per second and time left, each as soon as it is known:
 * reward from the explorer's `rollout/reward/mean`, loss from the trainer's `actor/final_loss`,
 * speed from `perf/throughput`, time left from the train steps done per elapsed time. Results of
 * evaluations get lines of their own. `close` shows the last step and ends the line.
 */
export function consoleSink(options: ConsoleSinkOptions): ConsoleSink {
  const { terminal, clock, stageName = '', env = {} } = options;
  const isLive = terminal.isTTY && env['TERM'] !== 'dumb';
  const isColored = isLive && !env['NO_COLOR'];
  const screen: Screen = {
    terminal,
    clock,
    isLive,
    paint: (style, text) => (isColored ? styleText(style, text, { validateStream: false }) : text),
    label: stripVTControlCharacters(stageName).replaceAll(/\s+/g, ' '),
    progress: {},
    isDrawn: false,
    isStale: false,
    shownAt: -Infinity,
    plainLines: 0,
    closed: false,
  };
  return {
    log: (line) => log(screen, line),
    setTotalSteps: (totalSteps) => {
      screen.progress = { ...screen.progress, totalSteps };
    },
    write: (record) => {
      if (!screen.closed) write(screen, record);
    },
    close: async () => close(screen),
  };
}

interface Screen {
  readonly terminal: Terminal;
  readonly clock: Pick<Clock, 'now'>;
  /** One line is redrawn; else each state gets a line. */
  readonly isLive: boolean;
  readonly paint: (style: 'bold' | 'dim', text: string) => string;
  readonly label: string;
  progress: Progress;
  /** The first train step that was seen, and when. */
  firstStep?: { readonly step: number; readonly at: number };
  /** The live line is on the terminal's last line. */
  isDrawn: boolean;
  /** `progress` has something that has not been shown. */
  isStale: boolean;
  shownAt: number;
  plainLines: number;
  closed: boolean;
}

function write(screen: Screen, record: MetricRecord): void {
  const { label } = screen;
  const results = evaluationResults(record);
  if (results.length > 0) {
    const kind = record.role === 'bench' ? 'bench' : 'eval';
    const start = label === '' ? '' : `${label}  `;
    const version = record.metrics[`${kind}/model_version`];
    const scored = version === undefined ? '' : ` of policy version ${version}`;
    log(screen, `${start}${kind}${scored} at step ${record.step}: ${results.join(', ')}`);
  }
  if (record.role === 'bench') return;
  const { reward } = screen.progress;
  screen.progress = follow(screen.progress, record);
  if (record.role === 'trainer') measureSpeed(screen, record.step);
  screen.isStale ||= record.role === 'trainer' || screen.progress.reward !== reward;
  if (screen.isStale && isDue(screen, record)) show(screen);
}

/**
 * Mean seconds of the train steps seen. The first one only starts the clock: it includes the
 * start-up.
 */
function measureSpeed(screen: Screen, step: number): void {
  const now = screen.clock.now();
  screen.firstStep ??= { step, at: now };
  const { firstStep } = screen;
  if (step <= firstStep.step) return;
  const secondsPerStep = (now - firstStep.at) / 1000 / (step - firstStep.step);
  screen.progress = { ...screen.progress, secondsPerStep };
}

function isDue({ clock, isLive, shownAt, plainLines }: Screen, { role }: MetricRecord): boolean {
  const sinceMs = clock.now() - shownAt;
  if (isLive) return sinceMs >= redrawEveryMs;
  return role === 'trainer' && (plainLines < plainAtFirst || sinceMs >= plainEveryMs);
}

function show(screen: Screen): void {
  const { terminal, isLive } = screen;
  if (isLive) terminal.write(`${clearLine}${renderLine(screen, widthOf(terminal))}`);
  else terminal.write(`${renderLine(screen, Infinity)}\n`);
  screen.isDrawn = isLive;
  screen.isStale = false;
  screen.shownAt = screen.clock.now();
  screen.plainLines++;
}

function log(screen: Screen, line: string): void {
  screen.terminal.write(`${screen.isDrawn ? clearLine : ''}${line}\n`);
  if (screen.isDrawn) show(screen);
}

function close(screen: Screen): void {
  if (screen.closed) return;
  screen.closed = true;
  if (screen.isStale && (screen.isLive || screen.progress.step !== undefined)) show(screen);
  if (screen.isDrawn) screen.terminal.write('\n');
  screen.isDrawn = false;
}

/** Characters that fit without the terminal wrapping the line; some pseudo terminals report 0. */
function widthOf(terminal: Terminal): number {
  return (terminal.columns() || 80) - 1;
}

/** As many figures as fit in `width` characters, from the left. */
function renderLine({ label, progress, paint }: Screen, width: number): string {
  const parts = [
    ...(label === '' ? [] : [{ plain: label, painted: paint('bold', label) }]),
    ...figures(progress).map(([name, value]) => ({
      plain: `${name} ${value}`,
      painted: `${paint('dim', name)} ${value}`,
    })),
  ];
  const shown: string[] = [];
  let used = 0;
  for (const { plain, painted } of parts) {
    const needed = plain.length + (shown.length > 0 ? 2 : 0);
    if (used + needed > width) break;
    shown.push(painted);
    used += needed;
  }
  return shown.join('  ');
}
