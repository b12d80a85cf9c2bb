/** Shows progress on the console, as one live line on a terminal and as plain lines elsewhere. */
import { stripVTControlCharacters, styleText } from 'node:util';
import type { Clock, MetricRecord, MetricSink } from '@trinity-rft/core';
import {
  duration,
  evaluatedAfter,
  evaluationResults,
  figures,
  follow,
  isExploreStep,
  type Progress,
} from './status.js';

/** Standard output, or a replacement for it. */
export interface Terminal {
  write(text: string): void;
  readonly isTTY: boolean;
  /** Returns the width in characters. */
  columns(): number;
}

export interface ConsoleSinkOptions {
  readonly terminal: Terminal;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** Name of the stage, which is shown at the start of the line. @default no name */
  readonly stageName?: string;
  /** Environment variables. `NO_COLOR` and `TERM=dumb` are honoured. @default no variables */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface ConsoleSink extends MetricSink {
  /**
   * Sets the number of train steps in the whole stage, including the steps before the stage was
   * resumed. Undefined if the number is not known.
   */
  setTotalSteps(total: number | undefined): void;
  /**
   * Sets the work in progress, which is shown before the step has ended, such as `explore step 3`
   * and `12/64 runs`.
   */
  setActivity(what: string, detail?: string): void;
  /** Writes a line of text. On a terminal, the line appears above the live line. */
  log(line: string): void;
}

/** Time in ms between two updates of the live line. */
const redrawEveryMs = 100;
/** Time in ms between two checks for a long step. */
const lookEveryMs = 1000;
/**
 * Time in ms without output after which a plain line shows what is in progress. The time doubles
 * with each of these lines.
 */
const plainSilenceMs = 5000;
const longestSilenceMs = 60_000;
const clearLine = '\r\u001B[2K';

/**
 * Shows stage, step, reward, loss, tokens per second and remaining time, each as soon as it is
 * known. Sources: reward from the explorer's `rollout/reward/mean`, loss from the trainer's
 * `actor/final_loss`, speed from `perf/throughput`, remaining time from the speed of the train
 * steps. Evaluation results get separate lines. Before a step has ended, the line shows what is in
 * progress and for how long. `close` shows the last step and ends the line.
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
    heardAt: clock.now(),
    silenceMs: plainSilenceMs,
    closed: false,
  };
  return {
    log: (line) => log(screen, line),
    setTotalSteps: (totalSteps) => {
      screen.progress = { ...screen.progress, totalSteps };
    },
    setActivity: (what, detail) => {
      if (what !== screen.activity?.what) screen.heardAt = clock.now();
      screen.activity = { what, detail };
      if (!screen.closed) screen.stopLooking ??= clock.after(lookEveryMs, () => look(screen));
    },
    write: (record) => {
      if (!screen.closed) write(screen, record);
    },
    close: async () => close(screen),
  };
}

interface Screen {
  readonly terminal: Terminal;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** True if a single line is updated. Otherwise each state gets a new line. */
  readonly isLive: boolean;
  readonly paint: (style: 'bold' | 'dim', text: string) => string;
  readonly label: string;
  progress: Progress;
  /** The first train step that was seen, with its time. */
  firstStep?: { readonly step: number; readonly at: number };
  /** True if the live line is on the terminal's last line. */
  isDrawn: boolean;
  /** True if `progress` contains something that has not been shown yet. */
  isStale: boolean;
  shownAt: number;
  /** Time of the last record or change of the activity, in ms of the clock. */
  heardAt: number;
  activity?: { readonly what: string; readonly detail: string | undefined } | undefined;
  stopLooking?: (() => void) | undefined;
  /** Time in ms without output before the next plain line, see {@link plainSilenceMs}. */
  silenceMs: number;
  /** The last completed explore step. */
  explored?: number;
  closed: boolean;
}

function write(screen: Screen, record: MetricRecord): void {
  const { label } = screen;
  const results = evaluationResults(record);
  if (results.length > 0) {
    const kind = record.role === 'bench' ? 'bench' : 'eval';
    const start = label === '' ? '' : `${label}  `;
    const version = record.metrics[`${kind}/model_version`];
    const scored = version === undefined ? '' : ` (policy version ${version})`;
    const step = evaluatedAfter(record, (explored) => screen.explored === explored);
    log(screen, `${start}${kind} after step ${step}${scored}: ${results.join(', ')}`);
  }
  if (record.role === 'bench') return;
  screen.heardAt = screen.clock.now();
  if (isExploreStep(record)) screen.explored = record.step;
  const { reward } = screen.progress;
  screen.progress = follow(screen.progress, record);
  if (record.role === 'trainer') measureSpeed(screen, record.step);
  screen.isStale ||= record.role === 'trainer' || screen.progress.reward !== reward;
  if (screen.isStale && isDue(screen, record)) show(screen);
}

/**
 * Measures the mean duration of train steps, in seconds. The first step only starts the clock,
 * because it includes the start-up.
 */
function measureSpeed(screen: Screen, step: number): void {
  const now = screen.clock.now();
  screen.firstStep ??= { step, at: now };
  const { firstStep } = screen;
  if (step <= firstStep.step) return;
  const secondsPerStep = (now - firstStep.at) / 1000 / (step - firstStep.step);
  screen.progress = { ...screen.progress, secondsPerStep };
}

const isDue = ({ clock, isLive, shownAt }: Screen, { role }: MetricRecord): boolean =>
  isLive ? clock.now() - shownAt >= redrawEveryMs : role === 'trainer';

/** Shows what is in progress if nothing was shown for some time. */
function look(screen: Screen): void {
  const { clock, isLive, shownAt, heardAt, silenceMs } = screen;
  screen.stopLooking = clock.after(lookEveryMs, () => look(screen));
  const silentMs = clock.now() - Math.max(heardAt, isLive ? -Infinity : shownAt);
  if (silentMs < (isLive ? lookEveryMs : silenceMs)) return;
  if (!isLive) screen.silenceMs = Math.min(2 * silenceMs, longestSilenceMs);
  show(screen);
}

function show(screen: Screen): void {
  const { terminal, isLive } = screen;
  if (isLive) terminal.write(`${clearLine}${renderLine(screen, widthOf(terminal))}`);
  else terminal.write(`${renderLine(screen, Infinity)}\n`);
  screen.isDrawn = isLive;
  screen.isStale = false;
  screen.shownAt = screen.clock.now();
}

function log(screen: Screen, line: string): void {
  screen.terminal.write(`${screen.isDrawn ? clearLine : ''}${line}\n`);
  if (screen.isDrawn) show(screen);
}

function close(screen: Screen): void {
  if (screen.closed) return;
  screen.closed = true;
  screen.stopLooking?.();
  screen.activity = undefined;
  if (screen.isStale && (screen.isLive || screen.progress.step !== undefined)) show(screen);
  if (screen.isDrawn) screen.terminal.write(hasFigures(screen) ? '\n' : clearLine);
  screen.isDrawn = false;
}

const hasFigures = ({ progress: { step, reward } }: Screen): boolean =>
  step !== undefined || reward !== undefined;

/**
 * Returns the number of characters that fit on a line without wrapping. Assumes 80 columns if the
 * terminal reports 0, as some pseudo terminals do.
 */
function widthOf(terminal: Terminal): number {
  return (terminal.columns() || 80) - 1;
}

/** Returns a line with as many values, from the first on, as fit into `width` characters. */
function renderLine(screen: Screen, width: number): string {
  const { label, progress, paint, activity, clock, heardAt } = screen;
  const seconds = (clock.now() - heardAt) / 1000;
  const isSlow = activity !== undefined && seconds * 1000 >= lookEveryMs;
  const [step, ...others] = (hasFigures(screen) ? figures(progress) : []).map(([name, value]) => ({
    plain: `${name} ${value}`,
    painted: `${paint('dim', name)} ${value}`,
  }));
  const doing = [activity?.what, activity?.detail].filter((text) => text !== undefined).join(': ');
  const busy = `${doing} ${paint('dim', `(${duration(seconds)})`)}`;
  const parts = [
    ...(label === '' ? [] : [{ plain: label, painted: paint('bold', label) }]),
    ...(step ? [step] : []),
    ...(isSlow ? [{ plain: stripVTControlCharacters(busy), painted: busy }] : []),
    ...others,
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
