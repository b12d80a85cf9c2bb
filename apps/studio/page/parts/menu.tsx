/** A button that opens a popover of the browser below it. */
import type { IconNode } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { Icon } from '../design/icon.js';

interface MenuProps {
  readonly icon: IconNode;
  readonly label: string;
  /** Returns the content of the popover when it opens. `close` hides the popover. */
  readonly children: (close: () => void) => ComponentChildren;
}

export function Menu({ icon, label, children }: MenuProps) {
  const id = useId();
  const popover = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="menu">
      <button type="button" popovertarget={id}>
        <Icon of={icon} />
        {label}
      </button>
      <div
        ref={popover}
        id={id}
        popover="auto"
        class="popover"
        role="dialog"
        aria-label={label}
        onToggle={({ newState }) => setOpen(newState === 'open')}
      >
        {isOpen && children(() => popover.current?.hidePopover())}
      </div>
    </div>
  );
}
