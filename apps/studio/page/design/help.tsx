/** Question-mark button that opens an explanation in a native popover. */
import { CircleQuestionMark } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { words } from '../words/frame.js';
import { Icon } from './icon.js';

interface HelpProps {
  /** Subject of the explanation. */
  readonly of: string;
  readonly children: ComponentChildren;
}

export function Help({ of: what, children }: HelpProps) {
  const id = useId();
  return (
    <>
      <button
        type="button"
        class="quiet icon-only help"
        aria-label={words.helpOf(what)}
        popovertarget={id}
      >
        <Icon of={CircleQuestionMark} />
      </button>
      <div id={id} popover="auto" class="popover" role="note">
        {children}
      </div>
    </>
  );
}
