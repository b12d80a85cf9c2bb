/** Where the time of an attempt went. */
import type { Span } from './report.js';
import type { Turn } from './turns.js';

export interface SpanInput {
  /** Name of the workflow. */
  readonly name: string;
  /** Milliseconds since the epoch, as all times here. */
  readonly begun: number;
  readonly ended: number;
  readonly turns: readonly Turn[];
  readonly rewards: readonly { readonly begun: number; readonly ended: number }[];
}

/**
 * The attempt, its calls of the model and of the reward function as measured. Between two calls of
 * the model runs the agent's own code; which tools it ran is known from the tool calls before the
 * gap, how long each took is not.
 */
export function toSpans({ name, begun, ended, turns, rewards }: SpanInput): readonly Span[] {
  const at = (time: number): number => time - begun;
  const calls = turns.map((turn, i): Span => ({
    kind: 'model',
    name: `model call ${i}`,
    begin: at(turn.begun),
    end: at(turn.ended),
    details: detailsOf(turn),
  }));
  const scores = rewards.map((reward): Span => ({
    kind: 'reward',
    name: 'reward',
    begin: at(reward.begun),
    end: at(reward.ended),
    details: {},
  }));
  const whole: Span = {
    kind: 'attempt',
    name,
    begin: 0,
    end: at(ended),
    details: { calls: turns.length },
  };
  return [
    whole,
    ...calls,
    ...gaps(turns).map((gap) => ({ ...gap, begin: at(gap.begin), end: at(gap.end) })),
    ...scores,
  ];
}

function detailsOf({
  begun,
  ended,
  promptTokens,
  answers,
  policyVersion,
  error,
}: Turn): Span['details'] {
  const responseTokens = answers.reduce((sum, answer) => sum + answer.tokens, 0);
  const seconds = (ended - begun) / 1000;
  return {
    prompt_tokens: promptTokens,
    response_tokens: responseTokens,
    ...(seconds > 0 && { tokens_per_second: Math.round(responseTokens / seconds) }),
    ...(answers.length > 0 && { stop: answers.map(({ stopReason }) => stopReason).join(', ') }),
    ...(policyVersion !== undefined && { policy_version: policyVersion }),
    ...(error !== undefined && { error }),
  };
}

/** From the end of all calls so far to the beginning of the next. */
function gaps(turns: readonly Turn[]): readonly Span[] {
  const found: Span[] = [];
  let busyUntil: number | undefined;
  let tools: readonly string[] = [];
  for (const turn of turns) {
    if (busyUntil !== undefined && turn.begun > busyUntil) {
      const name = tools.length > 0 ? `tools: ${tools.join(', ')}` : 'agent';
      found.push({ kind: 'tools', name, begin: busyUntil, end: turn.begun, details: {} });
    }
    if (busyUntil === undefined || turn.ended >= busyUntil) {
      busyUntil = turn.ended;
      tools = turn.answers.flatMap(({ toolCalls }) => toolCalls);
    }
  }
  return found;
}

const tracks: Readonly<Record<Span['kind'], number>> = {
  attempt: 0,
  model: 1,
  tools: 2,
  reward: 3,
};

/**
 * Complete events of the Trace Event Format, for chrome://tracing and Perfetto: times in
 * microseconds, a track per kind.
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
