/** Model calls of an attempt, one after the other. */
import type { Conversation } from '@trinity-rft/inspect/studio/interface';
import { Fragment } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Help } from '../design/help.js';
import { numberText } from '../numbers.js';
import { words } from '../words/rollouts.js';
import { ChanceScale } from './heat.js';
import {
  chanceColours,
  colours,
  heatOf,
  numbersAt,
  possibleColours,
  scaleOf,
  scoredColours,
  type Colour,
  type Scale,
} from './rollout-view-colours.js';
import { FactList } from './rollout-view-facts.js';
import { piecesOf, tokenText, type Piece, type Stretch } from './rollout-view-pieces.js';
import {
  Scoring,
  withScores,
  type CallScore,
  type ScoredCall,
  type ScoredSegment,
} from './rollout-view-scores.js';

interface ConversationViewProps {
  /** Id of the run. */
  readonly of: string;
  readonly row: number;
  readonly conversation: Conversation;
  /** Row of the call to scroll to. @default no scrolling */
  readonly turn: number | undefined;
}

export function ConversationView({ of, row, conversation, turn }: ConversationViewProps) {
  const { calls: recorded, advantagesOf, failure } = conversation;
  const [scores, setScores] = useState<ReadonlyMap<number, CallScore>>(new Map());
  const calls = useMemo(() => withScores(recorded, scores), [recorded, scores]);
  const [colour, setColour] = useState<Colour>('logprob');
  const tokens = useMemo(() => sampledTokens(calls), [calls]);
  const { region, inspected, onKeyDown, onClick } = useInspector(tokens);
  useLayoutEffect(() => {
    if (turn !== undefined) document.querySelector(`#call-${turn}`)?.scrollIntoView();
  }, [turn]);
  const possible = useMemo(() => possibleColours(calls), [calls]);
  const shown = useMemo(() => {
    const numbered = new Map(tokens.map(({ segment, i }, place) => [keyOf(segment, i), place]));
    const scale = scaleOf(calls);
    return calls.map((call, i) => (
      <CallView
        key={call.id}
        call={call}
        earlier={calls.slice(0, i)}
        paint={{ colour, scale, numbered, changed: changesIn(call) }}
      />
    ));
  }, [calls, colour, tokens]);
  return (
    <>
      {failure !== undefined && (
        <p class="failure">
          {words.failed} {failure}
        </p>
      )}
      <div class="controls">
        <label>
          {words.colour}{' '}
          <select
            value={colour}
            onChange={({ currentTarget }) => setColour(currentTarget.value as Colour)}
          >
            {colours.map((name) => (
              <option key={name} value={name} disabled={!possible.has(name)}>
                {possible.has(name) ? words.colours[name] : absent(name)}
              </option>
            ))}
          </select>
        </label>
        <small>{words.legend[colour]}</small>
        {chanceColours.has(colour) && <ChanceScale />}
        <Help of={words.missing}>
          <p>{words.whyNot}</p>
          <p>{words.restored}</p>
        </Help>
      </div>
      <Scoring run={of} row={row} onScores={setScores} />
      <p class="faint">
        {advantagesOf === undefined ? words.noAdvantage : words.advantagesOf[advantagesOf]}
      </p>
      <div
        ref={region}
        class="conversation"
        role="group"
        tabIndex={0}
        aria-label={`${words.tabs.conversation}. ${words.inspect}`}
        onKeyDown={onKeyDown}
        onClick={onClick}
      >
        {shown}
      </div>
      <output class={inspected ? 'inspected chosen' : 'inspected'} aria-live="polite">
        {inspected ?? words.inspect}
      </output>
    </>
  );
}

const absent = (name: Colour): string =>
  (scoredColours.has(name) ? words.notScored : words.notRecorded)(words.colours[name]);

function changesIn({ segments }: ScoredCall): Paint['changed'] {
  const written = segments.filter(({ sampled }) => sampled);
  return new Map(
    written.flatMap((segment, i) => {
      const { policyVersion } = segment;
      const before = written[i - 1]?.policyVersion;
      const isChange = i > 0 && policyVersion !== undefined && policyVersion !== before;
      return isChange ? [[segment, policyVersion]] : [];
    }),
  );
}

interface SampledToken {
  readonly segment: ScoredSegment;
  readonly i: number;
}

const sampledTokens = (calls: readonly ScoredCall[]): readonly SampledToken[] =>
  calls.flatMap((call) =>
    call.segments
      .filter(({ sampled }) => sampled)
      .flatMap((segment) => segment.ids.map((_, i) => ({ segment, i }))),
  );

const segmentKeys = new WeakMap<ScoredSegment, number>();
let lastKey = 0;
function keyOf(segment: ScoredSegment, i: number): string {
  const key = segmentKeys.get(segment) ?? ++lastKey;
  segmentKeys.set(segment, key);
  return `${key} ${i}`;
}

/**
 * Lets the user select tokens by keys or clicks, and shows the recorded numbers of the selected
 * token.
 */
function useInspector(tokens: readonly SampledToken[]) {
  const region = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState<number>();
  useLayoutEffect(() => {
    const { current } = region;
    current?.querySelector('.token.current')?.classList.remove('current');
    if (place === undefined) return;
    const token = current?.querySelector(`[data-token="${place}"]`);
    const fold = token?.closest('details');
    if (fold) fold.open = true;
    token?.classList.add('current');
    token?.scrollIntoView({ block: 'nearest' });
  }, [place, tokens]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== event.currentTarget) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined || tokens.length === 0) return;
    const next = place === undefined ? 0 : place + step;
    setPlace(Math.min(tokens.length - 1, Math.max(0, next)));
    event.preventDefault();
  };
  const onClick = ({ target }: MouseEvent): void => {
    const token = (target as Element).closest<HTMLElement>('[data-token]');
    if (token) setPlace(Number(token.dataset['token']));
  };
  const token = place === undefined ? undefined : tokens[place];
  return { region, inspected: token && describe(token), onKeyDown, onClick };
}

function describe({ segment, i }: SampledToken): string {
  const { logprob, advantage, tokenReward, teacherLogprob, ...scored } = numbersAt(segment, i);
  const { token: names } = words;
  const parts = [`${JSON.stringify(tokenText(segment, i))}: ${names.id} ${segment.ids[i]}`];
  const add = (name: string, value: number | null | undefined): void => {
    if (value !== undefined && value !== null) parts.push(`${name} ${numberText(value)}`);
  };
  add(names.logprob, logprob);
  if (logprob !== undefined && logprob !== null) add(names.probability, Math.exp(logprob));
  add(names.advantage, advantage);
  add(names.tokenReward, tokenReward);
  add(names.teacherLogprob, teacherLogprob);
  add(names.version, segment.policyVersion);
  add(names.scoredLogprob, scored.scoredLogprob);
  add(names.entropy, scored.entropy);
  add(names.ratio, scored.ratio);
  return parts.join(', ');
}

interface Paint {
  readonly colour: Colour;
  readonly scale: Scale;
  /** Index of each sampled token among all sampled tokens, by {@link keyOf}. */
  readonly numbered: ReadonlyMap<string, number>;
  /**
   * Segments in which the policy version differs from that of the segment before in the same call,
   * with their version.
   */
  readonly changed: ReadonlyMap<ScoredSegment, number>;
}

interface CallViewProps {
  readonly call: ScoredCall;
  readonly earlier: readonly ScoredCall[];
  readonly paint: Paint;
}

function CallView({ call, earlier, paint }: CallViewProps) {
  const { step, policyVersion, reward, finishReason, problem, toolCalls } = call;
  const pieces = piecesOf(call);
  return (
    <article class="call-view" id={`call-${call.id}`}>
      <h3>
        {words.call(step)} <small class="faint">{words.version(policyVersion)}</small>
      </h3>
      <Beginning call={call} earlier={earlier} />
      {pieces.map((piece, i) => (
        <Fragment key={i}>
          {speakerOf(piece) !== speakerOf(pieces[i - 1]) && (
            <div class="speaker">{speakerOf(piece)}</div>
          )}
          <PieceView piece={piece} paint={paint} />
        </Fragment>
      ))}
      <FactList
        facts={{
          [words.facts.reward]: numberText(reward),
          [words.facts.advantage]: numberText(meanAdvantage(call)),
          [words.facts.leastLikely]: leastLikely(call),
          [words.facts.finishReason]: finishReason,
          [words.facts.toolCalls]: toolCalls === 0 ? undefined : toolCalls,
          [words.facts.problem]: problem,
        }}
      />
    </article>
  );
}

function meanAdvantage({ segments }: ScoredCall): number | undefined {
  const known = segments.flatMap(({ advantages = [] }) =>
    advantages.filter((value) => value !== null),
  );
  return known.length === 0
    ? undefined
    : known.reduce((sum, value) => sum + value, 0) / known.length;
}

/**
 * Describes the least likely token. Returns undefined if no tokens were sampled, or every token had
 * probability 1.
 */
function leastLikely({ segments }: ScoredCall): string | undefined {
  let least = { text: '', logprob: 0 };
  for (const segment of segments)
    for (const [i, logprob] of (segment.logprobs ?? []).entries())
      if (logprob !== null && logprob < least.logprob)
        least = { text: tokenText(segment, i), logprob };
  if (least.logprob === 0) return undefined;
  return words.leastLikely(JSON.stringify(least.text), numberText(Math.exp(least.logprob)));
}

/** Describes how the prompt of a call continues earlier calls. */
function Beginning({ call, earlier }: Omit<CallViewProps, 'paint'>) {
  const { beginning, after, same, fork } = call;
  const from = earlier.find(({ id }) => id === after);
  const why: Readonly<Record<string, string>> = words.forks;
  const reason = fork !== undefined && (
    <>
      <strong>{fork}</strong> {why[fork] ?? ''}
    </>
  );
  if (!from && reason !== false)
    return (
      <p class="forked">
        {words.beginnings.left} {reason}
      </p>
    );
  if (!from) return earlier.length === 0 ? null : <p class="faint">{words.beginnings.new}</p>;
  if (beginning === 'spliced')
    return <p class="spliced">{words.beginnings.spliced(from.step, same)}</p>;
  return (
    <p class="forked">
      {words.beginnings.forked(from.step, same)} {reason}
    </p>
  );
}

/**
 * Returns the speaker of a piece: the role that the template names; if it names none, whether the
 * model sampled the piece or it is context.
 */
function speakerOf(piece: Piece | undefined): string | undefined {
  if (!piece) return undefined;
  const known: Readonly<Record<string, string>> = words.roles;
  if (piece.role !== undefined) return known[piece.role] ?? piece.role;
  return piece.sampled ? words.roles.sampled : words.roles.context;
}

/** Number of characters above which context is folded. */
const long = 1500;

function PieceView({ piece, paint }: { readonly piece: Piece; readonly paint: Paint }) {
  const { kind, sampled, characters, stretches } = piece;
  const content = (
    <div class={kind === 'mark' ? 'said mark' : 'said'}>
      {stretches.map((stretch, i) => (
        <StretchView key={i} stretch={stretch} paint={paint} />
      ))}
    </div>
  );
  const isLong = !sampled && characters > long;
  if ((kind === 'text' || kind === 'mark') && !isLong) return content;
  const title = kind === 'text' || kind === 'mark' ? words.kinds.long : words.kinds[kind];
  const isOpen = (kind === 'toolCall' || kind === 'toolResult') && !isLong;
  return (
    <details class="fold" open={isOpen}>
      <summary>
        {title} <small>{words.characters(characters)}</small>
      </summary>
      {content}
    </details>
  );
}

function StretchView({ stretch, paint }: { readonly stretch: Stretch; readonly paint: Paint }) {
  const { segment, from, to } = stretch;
  const version = from === 0 ? paint.changed.get(segment) : undefined;
  const indices = Array.from({ length: to - from }, (_, k) => from + k);
  if (!segment.sampled)
    return <span class="token context">{indices.map((i) => tokenText(segment, i)).join('')}</span>;
  return (
    <>
      {version !== undefined && <small class="badge">{words.weightsChanged(version)}</small>}
      {indices.map((i) => {
        const numbers = numbersAt(segment, i);
        const heat = heatOf(numbers, paint.colour, paint.scale);
        return (
          <span
            key={i}
            class={heat === undefined ? 'token sampled plain' : 'token sampled'}
            data-token={paint.numbered.get(keyOf(segment, i))}
            title={describe({ segment, i })}
            ref={(element) => {
              element?.style.setProperty('--heat', heat ?? null);
            }}
          >
            {tokenText(segment, i)}
          </span>
        );
      })}
    </>
  );
}
