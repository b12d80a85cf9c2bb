/** Pane of one model: choice of the model, and conversation. */
import { Help } from '../../design/help.js';
import { Skeleton } from '../../design/states.js';
import { words } from '../../words/playground.js';
import { AnswerView } from './answer-view.js';
import type { Pane } from './conversation.js';
import { Feedback } from './product-parts.js';
import type { Answer, Offer, Product, Source } from './sources.js';

interface PaneProps {
  readonly at: number;
  readonly pane: Pane;
  /** Models to choose from; undefined while loading. */
  readonly offers: readonly Offer[] | undefined;
  readonly product: Product;
  readonly onSource: (source: Source) => void;
}

export function PaneView({ at, pane, offers, product, onSource }: PaneProps) {
  const { source, turns } = pane;
  return (
    <section class="card pane" aria-label={words.pane(at + 1)}>
      <header class="controls">
        <label>
          {words.pane(at + 1)} <Choice source={source} offers={offers ?? []} onSource={onSource} />
        </label>
        {at === 0 && <Help of={words.models}>{words.about}</Help>}
        {source.kind === 'checkpoint' && <small class="faint">{source.run}</small>}
      </header>
      {offers === undefined && <Skeleton lines={3} />}
      {turns.length === 0 && offers !== undefined && (
        <p class="faint waiting">{source.kind === 'none' ? words.noneHere : words.askHere}</p>
      )}
      {turns.map(({ id, question, answer, task, run }) => (
        <div key={id} class="exchange">
          <p class="turn user">{question}</p>
          <div class="turn model">
            <AnswerView answer={answer} />
            {answer.id !== undefined && <Feedback {...{ product, answer: answer.id, task, run }} />}
          </div>
        </div>
      ))}
      <p role="status" class="hidden">
        {spokenOf(turns.at(-1)?.answer)}
      </p>
    </section>
  );
}

/** Text for screen readers; empty until the response is complete. */
const spokenOf = (answer: Answer | undefined): string =>
  answer?.isOver === true ? (answer.problem ?? answer.text) : '';

/** Returns the value of the list item that stands for a source. */
const valueOf = (source: Source): string =>
  source.kind === 'checkpoint' ? `${source.run} ${source.checkpoint}` : source.kind;

interface ChoiceProps {
  readonly source: Source;
  readonly offers: readonly Offer[];
  readonly onSource: (source: Source) => void;
}

function Choice({ source, offers, onSource }: ChoiceProps) {
  const choices: readonly Source[] = [
    { kind: 'none' },
    ...offers.flatMap(({ run, checkpoints }) =>
      checkpoints.map(({ name }): Source => ({ kind: 'checkpoint', run, checkpoint: name })),
    ),
    { kind: 'product' },
  ];
  return (
    <select
      value={valueOf(source)}
      onChange={({ currentTarget: { value } }) =>
        onSource(choices.find((choice) => valueOf(choice) === value) ?? { kind: 'none' })
      }
    >
      <option value="none">{words.noModel}</option>
      {offers.map(({ run, checkpoints }) => (
        <optgroup key={run} label={run}>
          {checkpoints.map(({ name, step }, i) => (
            <option key={name} value={`${run} ${name}`}>
              {name === 'start' ? words.base : words.trained(step, i === 0)}
            </option>
          ))}
        </optgroup>
      ))}
      <optgroup label={words.elsewhere}>
        <option value="product">{words.aProduct}</option>
      </optgroup>
    </select>
  );
}
