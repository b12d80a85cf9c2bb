/** Format in which the model writes actions, such as `<action>{action}</action>`. */
import { actionSlot } from '../seam/define.js';

/**
 * Creates a pattern that finds every action in a text. Its first group is the action, which begins
 * after the last text before it that opens an action.
 */
export function patternOf(format: string): RegExp {
  const [before = '', after = ''] = format.split(actionSlot).map(escaped);
  if (before === '')
    return new RegExp(after === '' ? '^([\\s\\S]*)$' : `([\\s\\S]*?)${after}`, 'g');
  return new RegExp(`${before}((?:(?!${before})[\\s\\S])*?)${after === '' ? '$' : after}`, 'g');
}

/** Returns the action in the format in which the model writes it. */
export const written = (action: string, format = actionSlot): string =>
  format.replace(actionSlot, () => action);

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
