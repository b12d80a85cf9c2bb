/** Placeholders for content that is empty, is loading, or failed to load. */
import { Inbox, TriangleAlert, type IconNode } from 'lucide';
import type { ComponentChildren } from 'preact';
import { words } from '../words/frame.js';
import { Command } from './command.js';
import { Icon } from './icon.js';

interface EmptyProps {
  readonly icon?: IconNode;
  readonly title: string;
  /** Sentence that says what the user can do next. */
  readonly text?: string;
  /** Command for the next step. */
  readonly command?: string;
  readonly children?: ComponentChildren;
}

export const Empty = ({ icon = Inbox, title, text, command, children }: EmptyProps) => (
  <div class="empty">
    <Icon of={icon} />
    <h2>{title}</h2>
    {text !== undefined && <p>{text}</p>}
    {command !== undefined && <Command text={command} />}
    {children}
  </div>
);

/** Grey bars in place of content that is loading. */
export const Skeleton = ({ lines = 4 }: { readonly lines?: number }) => (
  <div class="skeleton" role="status">
    <p class="faint">{words.loading}</p>
    {Array.from({ length: lines }, (_, i) => (
      <div key={i} />
    ))}
  </div>
);

interface ProblemProps {
  readonly text: string;
  /** Change by the user that fixes the problem. */
  readonly fix?: string;
}

export const Problem = ({ text, fix }: ProblemProps) => (
  <div class="callout danger" role="alert">
    <Icon of={TriangleAlert} />
    <div>
      <p>{text}</p>
      {fix !== undefined && <p>{fix}</p>}
    </div>
  </div>
);
