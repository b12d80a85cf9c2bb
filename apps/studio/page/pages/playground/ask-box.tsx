/** Message box at the lower edge, and suggestions for a first prompt above it. */
import { RotateCcw, SendHorizontal, Square } from 'lucide';
import { useState } from 'preact/hooks';
import { Icon } from '../../design/icon.js';
import { words } from '../../words/playground.js';

interface AskBoxProps {
  readonly isBusy: boolean;
  readonly canAsk: boolean;
  /** True if the conversation has at least one turn. */
  readonly hasBegun: boolean;
  readonly questions: readonly string[];
  readonly onSend: (question: string) => void;
  readonly onStop: () => void;
  readonly onClear: () => void;
}

export function AskBox({ isBusy, canAsk, hasBegun, questions, ...on }: AskBoxProps) {
  const [text, setText] = useState('');
  const send = (): void => {
    if (text.trim() === '' || isBusy || !canAsk) return;
    on.onSend(text);
    setText('');
  };
  return (
    <form
      class="ask"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {!hasBegun && canAsk && questions.length > 0 && (
        <div class="controls" role="group" aria-label={words.questions}>
          <small class="faint">{words.questions}</small>
          {questions.map((question) => (
            <button key={question} type="button" class="chip" onClick={() => on.onSend(question)}>
              {question}
            </button>
          ))}
        </div>
      )}
      <div class="message">
        <textarea
          rows={2}
          aria-label={words.message}
          placeholder={canAsk ? words.message : words.chooseFirst}
          value={text}
          onInput={({ currentTarget: { value } }) => setText(value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            send();
          }}
        />
        {hasBegun && (
          <button
            type="button"
            class="quiet icon-only"
            aria-label={words.clear}
            title={words.clear}
            disabled={isBusy}
            onClick={on.onClear}
          >
            <Icon of={RotateCcw} />
          </button>
        )}
        {isBusy ? (
          <button type="button" onClick={on.onStop}>
            <Icon of={Square} /> {words.stop}
          </button>
        ) : (
          <button type="submit" class="primary" disabled={!canAsk || text.trim() === ''}>
            <Icon of={SendHorizontal} /> {words.send}
          </button>
        )}
      </div>
    </form>
  );
}
