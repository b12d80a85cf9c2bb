/** Actions as the model writes them: `<action>{action}</action>`. */

const slot = '{action}';

/** Finds every action in a text; the first group is the action. */
export function patternOf(format: string): RegExp {
  const [before = '', after = ''] = format.split(slot).map(escaped);
  return new RegExp(`${before}([\\s\\S]*?)${after === '' ? '$' : after}`, 'g');
}

/** The action as the model writes it. */
export const written = (action: string, format = slot): string =>
  format.replace(slot, () => action);

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
