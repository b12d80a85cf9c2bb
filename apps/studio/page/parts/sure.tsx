/** Confirmation in the place of the button that asked for it. */
import { words } from '../words/control.js';

interface SureProps {
  readonly label: string;
  readonly question: string;
  readonly yes: string;
  readonly onYes: () => void;
  readonly onNo: () => void;
}

export const Sure = ({ label, question, yes, onYes, onNo }: SureProps) => (
  <div role="group" aria-label={label}>
    <p>{question}</p>
    <button type="button" class="sure" ref={focus} onClick={onYes}>
      {yes}
    </button>{' '}
    <button type="button" onClick={onNo}>
      {words.no}
    </button>
  </div>
);

const focus = (button: HTMLButtonElement | null): void => button?.focus();
