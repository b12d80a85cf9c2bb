/** Parsing and writing of the action format, such as `<action>{action}</action>`. */
import { actionSlot } from '../seam/define.js';

/**
 * Creates a pattern that finds every action in a text. Its first group is the action, which begins
 * after the nearest preceding opening of an action.
 */
export function patternOf(format: string): RegExp {
  const [before = '', after = ''] = format.split(actionSlot).map(escaped);
  if (before === '')
    return new RegExp(after === '' ? '^([\\s\\S]*)$' : `([\\s\\S]*?)${after}`, 'g');
  return new RegExp(`${before}((?:(?!${before})[\\s\\S])*?)${after === '' ? '$' : after}`, 'g');
}

/** Returns the action as the model must write it. */
export const written = (action: string, format = actionSlot): string =>
  format.replace(actionSlot, () => action);

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
