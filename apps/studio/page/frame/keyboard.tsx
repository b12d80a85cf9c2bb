/** Keyboard shortcuts of every page, and their list. */
import { useEffect } from 'preact/hooks';
import { Dialog } from '../design/dialog.js';
import { runPages } from '../pages.js';
import { addressOf, type Place } from '../place.js';
import { words } from '../words/frame.js';

interface Actions {
  readonly openPalette: () => void;
  readonly openHelp: () => void;
  readonly place: Place;
}

/** True for an input field, where shortcuts are off. */
const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName));

export function useKeyboard({ openPalette, openHelp, place }: Actions): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const isPalette = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k';
      if (!isPalette && (event.ctrlKey || event.metaKey || event.altKey)) return;
      if (!isPalette && (isField(event.target) || document.querySelector('dialog[open]'))) return;
      const run = place.runs.slice(0, 1);
      const tab = run.length > 0 ? runPages[Number(event.key) - 1] : undefined;
      if (isPalette) openPalette();
      else if (event.key === '?') openHelp();
      else if (event.key === '/')
        document.querySelector<HTMLElement>('main input[type=search]')?.focus();
      else if (tab) location.hash = addressOf(tab.name, run);
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [place]);
}

const keys: readonly (readonly [string, string])[] = [
  ['Ctrl K', words.keyboard.keys.palette],
  ['/', words.keyboard.keys.search],
  [`1 – ${runPages.length}`, words.keyboard.keys.tabs],
  ['?', words.keyboard.keys.help],
];

export const KeyboardHelp = ({ onClose }: { readonly onClose: () => void }) => (
  <Dialog title={words.keyboard.title} onClose={onClose}>
    <dl class="keys">
      {keys.map(([key, text]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  </Dialog>
);
