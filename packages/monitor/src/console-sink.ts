/**
 * Shows the progress of a training run on the console. On a terminal, a single line is updated;
 * elsewhere, plain lines are written.
 */
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

/** Output of the console: standard output, or a replacement for it. */
export interface Terminal {
  write(text: string): void;
  readonly isTTY: boolean;
  /** Returns the width of the terminal in characters. */
  columns(): number;
}

export interface ConsoleSinkOptions {
  readonly terminal: Terminal;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** Name of the stage, shown at the start of each line. @default no name */
  readonly stageName?: string;
  /**
   * Name of the model of a benchmark, shown instead of the step and the policy version.
   * @default no name
   */
  readonly benched?: string | undefined;
  /** Environment variables. `NO_COLOR` and `TERM=dumb` are honoured. @default no variables */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface ConsoleSink extends MetricSink {
  /**
   * Sets the number of train steps in the whole stage, including those before a resume. Undefined
   * if the number is not known.
   */
  setTotalSteps(total: number | undefined): void;
  /**
   * Sets the work in progress, which is shown until the step ends. For example, `what` is `explore
   * step 3` and `detail` is `12/64 runs`.
   */
  setActivity(what: string, detail?: string): void;
  /** Writes a line of text. On a terminal, it appears above the line that is updated. */
  log(line: string): void;
}

/** Minimum time between two updates of the line on a terminal, in ms. */
const redrawEveryMs = 100;
/** Time between two checks for a step that takes long, in ms. */
const lookEveryMs = 1000;
/**
 * Time without output, in ms, after which a plain line shows the work in progress. The time doubles
 * after each of these lines.
 */
const plainSilenceMs = 5000;
const longestSilenceMs = 60_000;
const clearLine = '\r\u001B[2K';

/**
 * Creates a sink that shows stage, step, reward, loss, tokens per second and remaining time, each
 * as soon as it is known. The reward is the explorer's `rollout/reward/mean`, the loss is the
 * trainer's `actor/final_loss`, the speed is `perf/throughput`, and the remaining time is estimated
 * from the duration of train steps. Evaluation results get separate lines. Until a step ends, the
 * line shows the work in progress and its duration so far. `close` shows the last step and ends the
 * line.
 */
export function consoleSink(options: ConsoleSinkOptions): ConsoleSink {
  const { terminal, clock, stageName = '', benched, env = {} } = options;
  const isLive = terminal.isTTY && env['TERM'] !== 'dumb';
  const isColored = isLive && !env['NO_COLOR'];
  const screen: Screen = {
    terminal,
    clock,
    isLive,
    paint: (style, text) => (isColored ? styleText(style, text, { validateStream: false }) : text),
    benched,
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
  /**
   * True if the output is a single line that is updated. Otherwise, each state is written as a new
   * line.
   */
  readonly isLive: boolean;
  readonly paint: (style: 'bold' | 'dim', text: string) => string;
  readonly label: string;
  readonly benched: string | undefined;
  progress: Progress;
  /** The first train step that was recorded, and the time of its record. */
  firstStep?: { readonly step: number; readonly at: number };
  /** True if the last line of the terminal is the line that is updated. */
  isDrawn: boolean;
  /** True if `progress` contains something that has not been shown yet. */
  isStale: boolean;
  shownAt: number;
  /** Time of the last record or change of the work in progress, in ms. */
  heardAt: number;
  activity?: { readonly what: string; readonly detail: string | undefined } | undefined;
  stopLooking?: (() => void) | undefined;
  /** Current time without output before the next plain line, in ms; see {@link plainSilenceMs}. */
  silenceMs: number;
  /** Number of the last completed explore step. */
  explored?: number;
  closed: boolean;
}

function write(screen: Screen, record: MetricRecord): void {
  const { label, benched } = screen;
  const results = evaluationResults(record);
  if (results.length > 0) {
    const kind = record.role === 'bench' ? 'bench' : 'eval';
    const start = label === '' ? '' : `${label}  `;
    const version = record.metrics[`${kind}/model_version`];
    const scored = version === undefined ? '' : ` (policy version ${version})`;
    const step = evaluatedAfter(record, (explored) => screen.explored === explored);
    const what =
      kind === 'bench' && benched !== undefined ? benched : `${kind} after step ${step}${scored}`;
    log(screen, `${start}${what}: ${results.join(', ')}`);
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
 * Updates the mean duration of train steps, in seconds. The first step is not included, because it
 * contains the start-up.
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

/** Shows the work in progress if nothing was shown for some time, and schedules the next check. */
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

/**
 * Returns the line to show. It contains as many of the values, in order, as fit into `width`
 * characters.
 */
function renderLine(screen: Screen, width: number): string {
  const { label, isLive, paint, activity, clock, heardAt } = screen;
  // A plain line stays, so it says which explore step its reward is of.
  const progress = isLive ? { ...screen.progress, explored: undefined } : screen.progress;
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
