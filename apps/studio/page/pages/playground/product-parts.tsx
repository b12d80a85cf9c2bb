/**
 * Parts of the playground for a product that learns: its URL, feedback on its responses, and
 * training on the feedback.
 */
import type { CommitAnswer } from '../../../src/control/interface/index.js';
import { useState } from 'preact/hooks';
import { act, messageOf } from '../../api.js';
import { words } from '../../words/playground.js';
import type { Product } from './sources.js';

/** Timeout of requests to the product, in ms. */
const answerMs = 70_000;
interface AddressProps {
  readonly product: Product;
  readonly onChange: (product: Product) => void;
}

export function Address({ product, onChange }: AddressProps) {
  const [said, setSaid] = useState('');
  const commit = (): void => {
    setSaid(words.committing);
    act<CommitAnswer>('playground/commit', product, AbortSignal.timeout(answerMs)).then(
      ({ calls, experiences }) => setSaid(words.committed(calls, experiences)),
      (error: unknown) => setSaid(messageOf(error)),
    );
  };
  return (
    <fieldset>
      <legend>{words.product}</legend>
      <div class="numbers">
        <label>
          {words.url}{' '}
          <input
            type="url"
            placeholder="http://127.0.0.1:8000/v1"
            value={product.url}
            onInput={({ currentTarget: { value } }) => onChange({ ...product, url: value })}
          />
        </label>
        <label>
          {words.apiKey}{' '}
          <input
            type="password"
            autocomplete="off"
            value={product.apiKey}
            onInput={({ currentTarget: { value } }) => onChange({ ...product, apiKey: value })}
          />
        </label>
      </div>
      <button type="button" onClick={commit}>
        {words.commit}
      </button>
      <p role="status">{said}</p>
    </fieldset>
  );
}

interface FeedbackProps {
  readonly product: Product;
  readonly answer: string;
  readonly task: string;
  readonly run: number;
}

export function Feedback({ product, answer, task, run }: FeedbackProps) {
  const [said, setSaid] = useState('');
  const give = (reward: number): void => {
    act(
      'playground/feedback',
      { ...product, reward, answer, task, run },
      AbortSignal.timeout(answerMs),
    ).then(
      () => setSaid(words.given(reward)),
      (error: unknown) => setSaid(messageOf(error)),
    );
  };
  return (
    <p class="controls">
      <button type="button" onClick={() => give(1)}>
        {words.good}
      </button>
      <button type="button" onClick={() => give(0)}>
        {words.bad}
      </button>
      <span role="status">{said}</span>
    </p>
  );
}
