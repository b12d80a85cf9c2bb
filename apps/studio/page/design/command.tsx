/** A command for the terminal, with a button that copies it. */
import { Copy } from 'lucide';
import { words } from '../words/frame.js';
import { Icon } from './icon.js';
import { toast } from './toast.js';

export const Command = ({ text }: { readonly text: string }) => (
  <div class="command">
    <code tabIndex={0}>{text}</code>
    <button
      type="button"
      class="quiet icon-only"
      aria-label={words.copy(text)}
      title={words.copyShort}
      onClick={() => void copy(text)}
    >
      <Icon of={Copy} />
    </button>
  </div>
);

/**
 * Copies a text. If the browser refuses access to its clipboard, the user can still select the
 * text.
 */
async function copy(text: string): Promise<void> {
  await navigator.clipboard.writeText(text).then(
    () => toast(words.copied),
    () => toast(words.notCopied),
  );
}
