/** Splits the time of an attempt into spans. */
import type { Span } from './report.js';
import type { Turn } from './turns.js';

/** Times in milliseconds since the epoch. */
export interface TimeRange {
  readonly start: number;
  readonly end: number;
}

export interface SpanInput extends TimeRange {
  /** Name of the workflow. */
  readonly name: string;
  readonly turns: readonly Turn[];
  /** Times of the calls of the reward function. */
  readonly rewards: readonly TimeRange[];
}

/**
 * Returns spans for the attempt, its model calls and its reward calls, and for the gaps between
 * model calls, in which the agent's own code runs. A gap has the names of the tools that the
 * response before it calls; the time of each tool is not known.
 */
export function toSpans({ name, start, end, turns, rewards }: SpanInput): readonly Span[] {
  const relative = (range: TimeRange) => ({ begin: range.start - start, end: range.end - start });
  return [
    { kind: 'attempt', name, begin: 0, end: end - start, details: { calls: turns.length } },
    ...turns.map((turn, i): Span => ({
      kind: 'model',
      name: `model call ${i}`,
      ...relative(turn),
      details: detailsOf(turn),
    })),
    ...gapsBetween(turns).map((gap): Span => ({
      kind: 'tools',
      name: gap.name,
      ...relative(gap),
      details: {},
    })),
    ...rewards.map((reward): Span => ({
      kind: 'reward',
      name: 'reward',
      ...relative(reward),
      details: {},
    })),
  ];
}

function detailsOf({
  start,
  end,
  promptTokens,
  answers,
  policyVersion,
  error,
}: Turn): Span['details'] {
  const responseTokens = answers.reduce((sum, answer) => sum + answer.tokens, 0);
  const seconds = (end - start) / 1000;
  return {
    prompt_tokens: promptTokens,
    response_tokens: responseTokens,
    ...(seconds > 0 && { tokens_per_second: Math.round(responseTokens / seconds) }),
    ...(answers.length > 0 && { stop: answers.map(({ stopReason }) => stopReason).join(', ') }),
    ...(policyVersion !== undefined && { policy_version: policyVersion }),
    ...(error !== undefined && { error }),
  };
}

interface Gap extends TimeRange {
  readonly name: string;
}

/**
 * Returns the gaps between model calls: times after the first call and before the last one in which
 * no call is in progress.
 */
function gapsBetween(turns: readonly Turn[]): readonly Gap[] {
  const gaps: Gap[] = [];
  let busyUntil: number | undefined;
  let tools: readonly string[] = [];
  for (const turn of turns) {
    if (busyUntil !== undefined && turn.start > busyUntil) {
      const name = tools.length > 0 ? `tools: ${tools.join(', ')}` : 'agent';
      gaps.push({ name, start: busyUntil, end: turn.start });
    }
    if (busyUntil === undefined || turn.end >= busyUntil) {
      busyUntil = turn.end;
      tools = turn.answers.flatMap(({ toolCalls }) => toolCalls);
    }
  }
  return gaps;
}

const tracks: Readonly<Record<Span['kind'], number>> = {
  attempt: 0,
  model: 1,
  tools: 2,
  reward: 3,
};

/**
 * Converts the spans to the Trace Event Format for chrome://tracing and Perfetto: complete events,
 * times in microseconds, one track per kind.
 */
export function chromeTrace(spans: readonly Span[]): object {
  const names = Object.entries(tracks).map(([name, tid]) => ({
    ph: 'M',
    pid: 1,
    tid,
    name: 'thread_name',
    args: { name },
  }));
  const events = spans.map(({ kind, name, begin, end, details }) => ({
    ph: 'X',
    pid: 1,
    tid: tracks[kind],
    name,
    cat: kind,
    ts: begin * 1000,
    dur: (end - begin) * 1000,
    args: details,
  }));
  return { displayTimeUnit: 'ms', traceEvents: [...names, ...events] };
}
