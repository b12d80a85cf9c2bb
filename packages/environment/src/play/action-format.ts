/** Reads and writes actions in a format such as `<action>{action}</action>`. */
import { actionSlot } from '../seam/define.js';

/**
 * Creates a regular expression that finds every action in a text. Its first group is the text
 * between the end of the format and the nearest opening before it. A search takes time proportional
 * to the length of the text.
 */
export function patternOf(format: string): RegExp {
  const [before = '', after = ''] = format.split(actionSlot).map(escaped);
  if (before === '' && after === '') return /^([\s\S]*)$/g;
  if (before === '') return new RegExp(`(?<=^|${after})((?:(?!${after})[\\s\\S])*)${after}`, 'g');
  return new RegExp(`${before}((?:(?!${before})[\\s\\S])*?)${after === '' ? '$' : after}`, 'g');
}

/** Returns the text that the model must write to take an action. */
export const written = (action: string, format = actionSlot): string =>
  format.replace(actionSlot, () => action);

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
