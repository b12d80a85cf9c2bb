/**
 * Playground page: two models side by side, with responses that appear token by token, and feedback
 * for a product.
 */
import { MessagesSquare } from 'lucide';
import { useEffect, useRef } from 'preact/hooks';
import { Empty } from '../design/states.js';
import { useKept } from '../kept.js';
import type { PageProps } from '../place.js';
import { words as frame } from '../words/frame.js';
import { words } from '../words/playground.js';
import { AskBox } from './playground/ask-box.js';
import {
  answered,
  asked,
  ended,
  isUntouched,
  messagesOf,
  newTurn,
  panesAtFirst,
  suggested,
  type Pane,
  type Sampling,
} from './playground/conversation.js';
import { useOffers, useQuestions } from './playground/offers.js';
import { PaneView } from './playground/pane.js';
import { Settings } from './playground/settings.js';
import { askSource, type Product, type Source } from './playground/sources.js';
import './playground.css';

export function Playground({ place, runs }: PageProps) {
  // Chosen runs come first.
  const offers = useOffers(runs && [...new Set([...place.runs, ...runs.map(({ id }) => id)])]);
  const [panes, setPanes] = useKept('playground panes', panesAtFirst);
  const [product, setProduct] = useKept<Product>('playground product', { url: '', apiKey: '' });
  const [sampling, setSampling] = useKept<Sampling>('playground sampling', {
    system: '',
    temperature: 1,
    maxTokens: 128,
    seed: 1,
  });
  /** Abort controllers of the panes' requests, in the order of the panes. */
  const { current: stops } = useRef<(AbortController | undefined)[]>([]);
  const stopAll = (): void => stops.forEach((stop) => stop?.abort());
  useEffect(() => {
    // Leaving the page aborts its requests, so answers kept from an earlier visit are over.
    setPanes((before) => before.map(ended));
    return stopAll;
  }, []);
  const [shown] = place.runs;
  useEffect(() => {
    // Until the offers have arrived, the panes show no models of another run.
    setPanes((before) => (isUntouched(before) ? suggested(offers ?? [], shown) : before));
  }, [offers, shown]);
  const questions = useQuestions(runOf(panes));
  const isBusy = panes.some(({ turns }) => turns.at(-1)?.answer.isOver === false);
  const setPane = (at: number, change: (before: Pane) => Pane): void =>
    setPanes((before) => before.map((pane, i) => (i === at ? change(pane) : pane)));

  /** Restarts a pane's conversation with another model. */
  const choose = (at: number, source: Source): void => {
    stops[at]?.abort();
    setPane(at, () => ({ source, turns: [] }));
  };

  const send = (question: string): void => {
    panes.forEach(({ source, turns }, at) => {
      if (source.kind === 'none') return;
      const { system, ...numbers } = sampling;
      const messages = [...messagesOf(system, turns, question)];
      const request = { ...numbers, messages };
      const turn = newTurn(question, messages);
      const stop = (stops[at] = new AbortController());
      setPane(at, (pane) => asked(pane, turn));
      void askSource(source, request, product, stop.signal, (change) =>
        setPane(at, (pane) => answered(pane, turn.id, change)),
      );
    });
  };
  const hasProduct = panes.some(({ source }) => source.kind === 'product');
  return (
    <section class="playground" aria-label={frame.pages.playground}>
      <Settings
        sampling={sampling}
        onSampling={setSampling}
        product={hasProduct ? product : undefined}
        onProduct={setProduct}
      />
      {offers?.length === 0 && (
        <Empty
          icon={MessagesSquare}
          title={words.noCheckpoints}
          text={words.noCheckpointsText}
          command="npx trinity run train.yaml"
        />
      )}
      <div class="panes">
        {panes.map((pane, at) => (
          <PaneView
            key={at}
            {...{ at, pane, offers, product }}
            onSource={(source) => choose(at, source)}
          />
        ))}
      </div>
      <AskBox
        isBusy={isBusy}
        canAsk={panes.some(({ source }) => source.kind !== 'none')}
        hasBegun={panes.some(({ turns }) => turns.length > 0)}
        questions={questions}
        onSend={send}
        onStop={stopAll}
        onClear={() => setPanes((before) => before.map((pane) => ({ ...pane, turns: [] })))}
      />
    </section>
  );
}

/**
 * Returns the run whose tasks are suggested as prompts: that of the last pane that shows a
 * checkpoint.
 */
const runOf = (panes: readonly Pane[]): string | undefined =>
  panes.flatMap(({ source }) => (source.kind === 'checkpoint' ? source.run : [])).at(-1);
