/** Two models side by side: what they answer, token by token, and feedback where a product learns. */
import type { Checkpoint, Message } from '../../src/control/interface/index.js';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, runPath } from '../api.js';
import { useKept } from '../kept.js';
import type { PageProps } from '../place.js';
import { words as frame } from '../words/frame.js';
import { words } from '../words/playground.js';
import { AnswerView } from './playground/answer-view.js';
import { Address, Feedback } from './playground/product-parts.js';
import {
  askSource,
  nothingYet,
  type Answer,
  type Offer,
  type Product,
  type Source,
} from './playground/sources.js';
import './playground.css';

/** One question and its answers, in one of the panes. */
interface Turn {
  readonly question: string;
  readonly answer: Answer;
  /** Attempt at the same conversation. */
  readonly attempt: number;
}

interface Pane {
  readonly source: Source;
  readonly turns: readonly Turn[];
}

interface Sampling {
  readonly system: string;
  readonly temperature: number;
  readonly maxTokens: number;
  readonly seed: number;
}

const panesAtFirst: readonly Pane[] = [
  { source: { kind: 'none' }, turns: [] },
  { source: { kind: 'none' }, turns: [] },
];

/** Feedback of another visit is about other tasks. */
const visit = crypto.randomUUID();
const answerMs = 8000;
/** Whose checkpoints are offered, the chosen ones first. */
const mostRuns = 20;

function useOffers(ids: readonly string[]): readonly Offer[] {
  const [offers, setOffers] = useState<readonly Offer[]>([]);
  const key = ids.join('\n');
  useEffect(() => {
    const look = async (run: string): Promise<Offer> => {
      const signal = AbortSignal.timeout(answerMs);
      const found = ask<Checkpoint[]>(runPath(run, 'checkpoints'), signal);
      return { run, checkpoints: await found.catch(() => []) };
    };
    void Promise.all(ids.map(look)).then(setOffers);
  }, [key]);
  return offers;
}

export function Playground({ place, runs }: PageProps) {
  const others = (runs ?? []).map(({ id }) => id).filter((id) => !place.runs.includes(id));
  const offers = useOffers([...place.runs, ...others].slice(0, mostRuns));
  const [panes, setPanes] = useKept('playground panes', panesAtFirst);
  const [product, setProduct] = useKept<Product>('playground product', { url: '', apiKey: '' });
  const [sampling, setSampling] = useKept<Sampling>('playground sampling', {
    system: '',
    temperature: 1,
    maxTokens: 128,
    seed: 1,
  });
  const stop = useRef<AbortController>(undefined);
  useEffect(() => {
    // What was under way when one left the page has been stopped.
    setPanes((before) => before.map(ended));
    return () => stop.current?.abort();
  }, []);
  const isBusy = panes.some(({ turns }) => turns.at(-1)?.answer.isOver === false);
  const setPane = (at: number, change: (before: Pane) => Pane): void =>
    setPanes((before) => before.map((pane, i) => (i === at ? change(pane) : pane)));

  const send = (question: string): void => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    panes.forEach(({ source, turns }, at) => {
      if (source.kind === 'none') return;
      const messages = messagesOf(sampling.system, turns, question);
      const attempt = attempts(panes, at, question);
      setPane(at, (pane) => ({
        ...pane,
        turns: [...pane.turns, { question, answer: nothingYet, attempt }],
      }));
      const { temperature, maxTokens, seed } = sampling;
      const asked = { messages: [...messages], temperature, maxTokens, seed };
      void askSource(source, asked, product, signal, (change) =>
        setPane(at, (pane) => ({
          ...pane,
          turns: pane.turns.map((turn, i) =>
            i === pane.turns.length - 1 ? { ...turn, answer: change(turn.answer) } : turn,
          ),
        })),
      );
    });
  };
  const hasProduct = panes.some(({ source }) => source.kind === 'product');
  return (
    <section class="playground" aria-label={frame.pages.playground}>
      <p class="about">{words.about}</p>
      {hasProduct && <Address product={product} onChange={setProduct} />}
      <Settings sampling={sampling} onChange={setSampling} />
      <div class="panes">
        {panes.map((pane, at) => (
          <PaneView
            key={at}
            {...{ at, pane, offers, product, system: sampling.system }}
            onSource={(source) => setPane(at, () => ({ source, turns: [] }))}
          />
        ))}
      </div>
      <Ask
        isBusy={isBusy}
        canAsk={panes.some(({ source }) => source.kind !== 'none')}
        onSend={send}
        onStop={() => stop.current?.abort()}
        onClear={() => setPanes((before) => before.map((pane) => ({ ...pane, turns: [] })))}
      />
    </section>
  );
}

const ended = (pane: Pane): Pane => ({
  ...pane,
  turns: pane.turns.map((turn) => ({
    ...turn,
    answer: { ...turn.answer, waits: undefined, isOver: true },
  })),
});

function messagesOf(system: string, turns: readonly Turn[], question: string): readonly Message[] {
  const before = turns.flatMap(({ question: asked, answer }): Message[] => [
    { role: 'user', content: asked },
    { role: 'assistant', content: answer.text },
  ]);
  const first: Message[] = system === '' ? [] : [{ role: 'system', content: system }];
  return [...first, ...before, { role: 'user', content: question }];
}

/** How often this has been asked of products before, in this visit. */
function attempts(panes: readonly Pane[], at: number, question: string): number {
  const asked = panes.flatMap(({ turns }) => turns).filter((turn) => turn.question === question);
  const inThisRound = panes.slice(0, at).filter(({ source }) => source.kind === 'product').length;
  return asked.length + inThisRound;
}

interface SettingsProps {
  readonly sampling: Sampling;
  readonly onChange: (sampling: Sampling) => void;
}

function Settings({ sampling, onChange }: SettingsProps) {
  const number = (name: 'temperature' | 'maxTokens' | 'seed', step: string) => (
    <label>
      {words[name]}{' '}
      <input
        type="number"
        min="0"
        step={step}
        value={sampling[name]}
        onChange={({ currentTarget: { valueAsNumber: value } }) =>
          Number.isFinite(value) && onChange({ ...sampling, [name]: value })
        }
      />
    </label>
  );
  return (
    <div class="controls">
      <label>
        {words.system}{' '}
        <input
          value={sampling.system}
          onInput={({ currentTarget: { value } }) => onChange({ ...sampling, system: value })}
        />
      </label>
      {number('temperature', '0.1')}
      {number('maxTokens', '1')}
      {number('seed', '1')}
    </div>
  );
}

interface PaneProps {
  readonly at: number;
  readonly pane: Pane;
  readonly offers: readonly Offer[];
  readonly product: Product;
  readonly system: string;
  readonly onSource: (source: Source) => void;
}

function PaneView({ at, pane: { source, turns }, offers, product, system, onSource }: PaneProps) {
  const all: readonly Source[] = offers.flatMap(({ run, checkpoints }) =>
    checkpoints.map(({ name }) => ({ kind: 'checkpoint' as const, run, checkpoint: name })),
  );
  const choices: readonly Source[] = [{ kind: 'none' }, ...all, { kind: 'product' }];
  const titles = choices.map(titleOf);
  return (
    <section aria-label={words.pane(at + 1)}>
      <label>
        {words.pane(at + 1)}{' '}
        <select
          value={titleOf(source)}
          onChange={({ currentTarget: { selectedIndex } }) =>
            onSource(choices[selectedIndex] ?? { kind: 'none' })
          }
        >
          {titles.map((title) => (
            <option key={title}>{title}</option>
          ))}
        </select>
      </label>
      {turns.map(({ question, answer, attempt }, i) => (
        <div key={i}>
          <p class="turn user">{question}</p>
          <AnswerView answer={answer} />
          {answer.id !== undefined && (
            <Feedback
              {...{ product, answer: answer.id, run: attempt }}
              task={`${visit} ${taskOf(system, turns.slice(0, i), question)}`}
            />
          )}
        </div>
      ))}
      <p role="status" class="hidden">
        {spokenOf(turns.at(-1)?.answer)}
      </p>
    </section>
  );
}

/** Once, when it is complete. */
const spokenOf = (answer: Answer | undefined): string =>
  answer?.isOver === true ? (answer.problem ?? answer.text) : '';

const titleOf = (source: Source): string =>
  source.kind === 'checkpoint'
    ? `${source.run} ${source.checkpoint}`
    : source.kind === 'product'
      ? words.aProduct
      : words.noModel;

/** Short, and the same for the same conversation. */
function taskOf(system: string, turns: readonly Turn[], question: string): string {
  const text = JSON.stringify(messagesOf(system, turns, question));
  let hash = 0;
  for (const character of text) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) | 0;
  return (hash >>> 0).toString(36);
}

interface AskProps {
  readonly isBusy: boolean;
  readonly canAsk: boolean;
  readonly onSend: (question: string) => void;
  readonly onStop: () => void;
  readonly onClear: () => void;
}

function Ask({ isBusy, canAsk, onSend, onStop, onClear }: AskProps) {
  const [text, setText] = useState('');
  const send = (): void => {
    if (text.trim() === '' || isBusy || !canAsk) return;
    onSend(text);
    setText('');
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label>
        {words.message}
        <textarea
          rows={3}
          value={text}
          onInput={({ currentTarget: { value } }) => setText(value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey) return;
            event.preventDefault();
            send();
          }}
        />
      </label>
      <div class="controls">
        <button type="submit" disabled={isBusy || !canAsk}>
          {words.send}
        </button>
        <button type="button" disabled={!isBusy} onClick={onStop}>
          {words.stop}
        </button>
        <button type="button" disabled={isBusy} onClick={onClear}>
          {words.clear}
        </button>
      </div>
    </form>
  );
}
