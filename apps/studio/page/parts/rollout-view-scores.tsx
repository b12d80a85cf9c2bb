/** Scores the tokens of a conversation with a checkpoint, on request. */
import type { RecordedCall, Segment } from '@trinity-rft/inspect/studio/interface';
import type { Checkpoint, Scored } from '../../src/control/interface/index.js';
import { useEffect, useRef, useState } from 'preact/hooks';
import { actionPath, ask, lines, messageOf, runPath } from '../api.js';
import { words as rollouts } from '../words/rollouts.js';

const { scores: words } = rollouts;

export type CallScore = Extract<Scored, { kind: 'call' }>;
type Numbers = CallScore['logprobs'];

export interface ScoredSegment extends Segment {
  readonly scoredLogprobs?: Numbers;
  readonly entropy?: Numbers;
  readonly ratios?: Numbers;
}

export interface ScoredCall extends Omit<RecordedCall, 'segments'> {
  readonly segments: readonly ScoredSegment[];
}

export const withScores = (
  calls: readonly RecordedCall[],
  scores: ReadonlyMap<number, CallScore>,
): readonly ScoredCall[] =>
  calls.map((call) => {
    const score = scores.get(call.id);
    return score === undefined ? call : { ...call, segments: scoredSegments(call, score) };
  });

function scoredSegments(
  { segments }: RecordedCall,
  { logprobs, entropy, ratios }: CallScore,
): readonly ScoredSegment[] {
  const last = segments.at(-1);
  const promptLength = last === undefined ? 0 : last.start + last.ids.length - logprobs.length;
  return segments.map((segment) => {
    if (!segment.sampled) return segment;
    const from = segment.start - promptLength;
    const cut = (values: Numbers): Numbers => values.slice(from, from + segment.ids.length);
    return {
      ...segment,
      scoredLogprobs: cut(logprobs),
      entropy: cut(entropy),
      ratios: cut(ratios),
    };
  });
}

const answerMs = 8000;

interface ScoringProps {
  readonly run: string;
  readonly row: number;
  readonly onScores: (scores: ReadonlyMap<number, CallScore>) => void;
}

/** Selects a checkpoint and requests its scores. */
export function Scoring({ run, row, onScores }: ScoringProps) {
  const [checkpoints, setCheckpoints] = useState<readonly Checkpoint[]>();
  const [chosen, setChosen] = useState('');
  const [said, setSaid] = useState('');
  const [isBusy, setBusy] = useState(false);
  const work = useRef<AbortController>(undefined);
  useEffect(() => {
    void ask<readonly Checkpoint[]>(runPath(run, 'checkpoints'), AbortSignal.timeout(answerMs))
      // A studio without actions does not serve the list of checkpoints.
      .catch(() => undefined)
      .then(setCheckpoints);
    return () => work.current?.abort();
  }, [run]);
  if (checkpoints === undefined) return null;
  if (checkpoints.length === 0) return <p class="faint">{words.none}</p>;
  const checkpoint = chosen === '' ? (checkpoints[0]?.name ?? '') : chosen;
  const score = async (): Promise<void> => {
    work.current = new AbortController();
    const { signal } = work.current;
    const body = { checkpoint, rollout: row };
    setBusy(true);
    try {
      setSaid(await readScores(lines<Scored>(actionPath(run, 'score'), body, signal)));
    } catch (error) {
      if (!signal.aborted) setSaid(messageOf(error));
    }
    setBusy(false);
  };
  const readScores = async (parts: AsyncIterable<Scored>): Promise<string> => {
    const scores = new Map<number, CallScore>();
    for await (const part of parts) {
      if (part.kind === 'problem') return part.problem;
      if (part.kind === 'wait') setSaid(words.waits(part.what));
      if (part.kind !== 'call') continue;
      scores.set(part.id, part);
      setSaid(words.counted(scores.size));
      onScores(new Map(scores));
    }
    return words.done(checkpoint);
  };
  return (
    <p class="controls scoring">
      <label>
        {words.checkpoint}{' '}
        <select
          value={checkpoint}
          disabled={isBusy}
          onChange={({ currentTarget }) => setChosen(currentTarget.value)}
        >
          {checkpoints.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <button type="button" disabled={isBusy} onClick={() => void score()}>
        {words.ask}
      </button>
      <small role="status">{said}</small>
    </p>
  );
}
