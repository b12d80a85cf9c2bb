/** Native dialog, which traps the focus, closes with Escape, and restores the focus. */
import { X } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { words } from '../words/frame.js';
import { Icon } from './icon.js';

interface DialogProps {
  readonly title: string;
  /** Called when the dialog closes: by Escape, the button, or a click outside. */
  readonly onClose: () => void;
  /** `palette`: no visible title. `side`: at the right edge, as high as the window. */
  readonly kind?: 'plain' | 'palette' | 'side';
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, kind = 'plain', children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next key, so that Escape closes a dialog that is shown.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${kind}`}
      aria-label={title}
      onClose={onClose}
      onClick={({ target, currentTarget }) => {
        if (target === currentTarget) currentTarget.close();
      }}
    >
      <div class="dialog-body">
        {kind !== 'palette' && (
          <header class="dialog-head">
            <h2>{title}</h2>
            <button
              type="button"
              class="quiet icon-only"
              aria-label={words.close}
              onClick={() => dialog.current?.close()}
            >
              <Icon of={X} />
            </button>
          </header>
        )}
        {children}
      </div>
    </dialog>
  );
}
