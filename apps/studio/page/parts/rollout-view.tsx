/** One rollout: its tokens, and what was recorded with them. */
import type { RolloutDetail, TokenDetail } from '@trinity-rft/studio-api/interface';
import { useState } from 'preact/hooks';
import { numberText } from '../numbers.js';
import { texts } from '../texts.js';

const { rollouts: words } = texts;
const colourNames = ['logprob', 'advantage', 'mask'] as const;
type Colour = (typeof colourNames)[number];

export interface RelativesFilter {
  readonly batch: string;
  readonly task: string;
  readonly run: string;
  readonly sort: string;
}

interface RolloutViewProps {
  readonly detail: RolloutDetail;
  readonly onRelatives: (filter: RelativesFilter) => void;
}

export function RolloutView({ detail, onRelatives }: RolloutViewProps) {
  const { batch, task, run, reward, policyVersion, temperature, truncated } = detail;
  const facts = {
    reward: numberText(reward),
    'policy version': policyVersion,
    temperature,
    truncated,
  };
  return (
    <>
      <h2>{detail.uid}</h2>
      <FactList facts={facts} />
      <p class="controls">
        <button type="button" onClick={() => onRelatives({ batch, task, run: '', sort: 'reward' })}>
          {words.group}
        </button>
        <button
          type="button"
          onClick={() => onRelatives({ batch, task, run: String(run), sort: 'id' })}
        >
          {words.sameRun}
        </button>
      </p>
      <Tokens detail={detail} />
      <Texts detail={detail} />
      <h3>{words.metrics}</h3>
      <FactList facts={detail.metrics} />
      <h3>{words.info}</h3>
      <FactList facts={detail.info} />
      {detail.spans && (
        <>
          <h3>{words.calls}</h3>
          <FactList facts={Object.fromEntries(detail.spans.map((span) => [span.step, span]))} />
        </>
      )}
    </>
  );
}

function FactList({ facts }: { readonly facts: Readonly<Record<string, unknown>> }) {
  return (
    <dl class="facts">
      {Object.entries(facts)
        .filter(([, value]) => value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
    </dl>
  );
}

/** Without a tokenizer there are only ids: then the recorded texts help. */
function Texts({
  detail: { tokens, promptText, responseText },
}: {
  readonly detail: RolloutDetail;
}) {
  if (tokens[0]?.text !== null) return null;
  return (
    <>
      {promptText !== undefined && <pre class="tokens">{promptText}</pre>}
      {responseText !== undefined && <pre class="tokens">{responseText}</pre>}
    </>
  );
}

function Tokens({ detail }: { readonly detail: RolloutDetail }) {
  const { tokens, spans, promptLength } = detail;
  const [colour, setColour] = useState<Colour>('logprob');
  const possible = colourNames.filter(
    (name) => name !== 'advantage' || tokens.some(({ advantage }) => advantage !== undefined),
  );
  const calls = new Set(spans?.map(({ start }) => promptLength + start) ?? [promptLength]);
  const largest = tokens.reduce(
    (most, { advantage = 0 }) => Math.max(most, Math.abs(advantage)),
    1e-9,
  );
  return (
    <>
      <h3>{words.tokens}</h3>
      <label>
        {words.colour}{' '}
        <select
          value={colour}
          onChange={({ currentTarget }) => setColour(currentTarget.value as Colour)}
        >
          {possible.map((name) => (
            <option key={name} value={name}>
              {words.colours[name]}
            </option>
          ))}
        </select>
      </label>{' '}
      <small>{words.legend[colour]}</small>
      <div class="tokens" tabIndex={0} role="region" aria-label={words.tokens}>
        {tokens.map((token, i) => (
          <span
            key={i}
            class={`token ${token.mask === 1 ? 'sampled' : 'context'}${calls.has(i) ? ' call' : ''}`}
            title={tooltip(token, i)}
            ref={(element) => {
              if (element && token.mask === 1)
                element.style.setProperty('--heat', heat(token, colour, largest));
            }}
          >
            {token.text ?? `${token.id} `}
          </span>
        ))}
      </div>
    </>
  );
}

/** From red (unlikely, worse than the group) to green (certain, better). */
function heat(
  { logprob = 0, advantage = 0 }: TokenDetail,
  colour: Colour,
  largest: number,
): string {
  if (colour === 'mask') return 'hsl(210 80% 50%)';
  const share = colour === 'advantage' ? (advantage / largest + 1) / 2 : Math.exp(logprob);
  return `hsl(${Math.round(120 * share)} 80% 45%)`;
}

function tooltip(
  { id, mask, logprob, advantage, tokenReward }: TokenDetail,
  index: number,
): string {
  const lines = [`token ${index}, id ${id}`, mask === 1 ? 'sampled' : 'context'];
  if (logprob !== undefined)
    lines.push(`logprob ${numberText(logprob)}, probability ${numberText(Math.exp(logprob))}`);
  if (advantage !== undefined) lines.push(`advantage ${numberText(advantage)}`);
  if (tokenReward !== undefined) lines.push(`reward ${numberText(tokenReward)}`);
  return lines.join('\n');
}
