/** Format in which the model writes actions, such as `<action>{action}</action>`. */

const slot = '{action}';

/** Creates a pattern that finds every action in a text. Its first group is the action. */
export function patternOf(format: string): RegExp {
  const [before = '', after = ''] = format.split(slot).map(escaped);
  return new RegExp(`${before}([\\s\\S]*?)${after === '' ? '$' : after}`, 'g');
}

/** Returns the action in the format in which the model writes it. */
export const written = (action: string, format = slot): string =>
  format.replace(slot, () => action);

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
