/**
 * View of a response: its text, its tokens with alternatives, and the prompt as the template
 * renders it.
 */
import { useState } from 'preact/hooks';
import { Problem } from '../../design/states.js';
import { heatOfChance } from '../../parts/heat.js';
import { words } from '../../words/playground.js';
import type { Answer, Token } from './sources.js';

export function AnswerView({ answer }: { readonly answer: Answer }) {
  const { text, tokens, waits, problem, prompt, wasCut, isOver } = answer;
  return (
    <>
      {waits !== undefined && <p class="faint">{words.waits(waits)}</p>}
      {!isOver && waits === undefined && text === '' && <p class="faint">{words.thinking}</p>}
      {problem !== undefined && <Problem text={problem} />}
      {tokens.length > 0 ? <Tokens tokens={tokens} /> : text !== '' && <p class="answer">{text}</p>}
      {wasCut === true && <p class="faint">{words.cut}</p>}
      {prompt && (
        <details>
          <summary>{words.prompt(prompt.tokens)}</summary>
          <pre class="output" tabIndex={0} aria-label={words.prompt(prompt.tokens)}>
            {prompt.text}
          </pre>
          <p>{words.template}</p>
          <pre class="output" tabIndex={0} aria-label={words.template}>
            {prompt.template}
          </pre>
        </details>
      )}
    </>
  );
}

const percent = (logprob: number): string => `${(100 * Math.exp(logprob)).toFixed(1)} %`;
/** Replaces white space with visible symbols. */
const visible = (text: string): string =>
  text.replaceAll('\n', '⏎').replaceAll('\t', '⇥').replace(/^ | $/g, '␣') || '∅';

function Tokens({ tokens }: { readonly tokens: readonly Token[] }) {
  const [picked, setPicked] = useState(-1);
  const token = tokens[picked];
  return (
    <>
      <p class="tokens" aria-label={words.tokens}>
        {tokens.map(({ text, logprob }, i) => (
          <button
            key={i}
            type="button"
            class="token sampled"
            style={{ '--heat': heatOfChance(Math.exp(logprob)) }}
            title={percent(logprob)}
            aria-pressed={i === picked}
            onClick={() => setPicked(i === picked ? -1 : i)}
          >
            {text === '' ? '∅' : text}
          </button>
        ))}
      </p>
      {token && (
        <table>
          <caption>
            {words.alternatives(picked + 1, visible(token.text), percent(token.logprob))}
          </caption>
          <thead>
            <tr>
              <th scope="col">{words.token}</th>
              <th scope="col">{words.probability}</th>
            </tr>
          </thead>
          <tbody>
            {token.top.map(({ text, logprob }, i) => (
              <tr key={i}>
                <th scope="row">
                  <code>{visible(text)}</code>
                </th>
                <td class="chance" style={{ '--share': percent(logprob).replace(' ', '') }}>
                  {percent(logprob)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
