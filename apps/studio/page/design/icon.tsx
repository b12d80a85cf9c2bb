/** Icons in the colour of the surrounding text. */
import type { IconNode } from 'lucide';
import { h } from 'preact';

interface IconProps {
  readonly of: IconNode;
  /**
   * Label for an icon that has no text next to it.
   * @default no label; the icon is hidden from screen readers
   */
  readonly label?: string;
}

export const Icon = ({ of: node, label }: IconProps) => (
  <svg
    class="icon"
    viewBox="0 0 24 24"
    role={label === undefined ? undefined : 'img'}
    aria-hidden={label === undefined}
    aria-label={label}
  >
    {node.map(([tag, attributes], i) => h(tag, { ...attributes, key: i }))}
  </svg>
);
