/** Parser of the commands, whose grammar is that of ALFWorld. */

export type Command =
  | { readonly verb: 'look' | 'inventory' }
  | { readonly verb: 'go' | 'open' | 'close' | 'examine' | 'use'; readonly name: string }
  | {
      readonly verb: 'take' | 'put' | 'heat' | 'cool' | 'clean' | 'slice';
      readonly name: string;
      readonly with: string;
    };

const name = String.raw`(\w+ \d+)`;
const one = (verb: 'go' | 'open' | 'close' | 'examine' | 'use', words: string = verb) =>
  form(`${words} ${name}`, ([object = '']) => ({ verb, name: object }));
const two = (verb: 'take' | 'put' | 'heat' | 'cool' | 'clean' | 'slice', words: string) =>
  form(`${words.replace('_', name)} ${name}`, ([object = '', other = '']) => ({
    verb,
    name: object,
    with: other,
  }));

interface Form {
  readonly pattern: RegExp;
  readonly read: (groups: readonly string[]) => Command;
}
function form(pattern: string, read: Form['read']): Form {
  return { pattern: new RegExp(`^${pattern}$`), read };
}

const forms: readonly Form[] = [
  form('look', () => ({ verb: 'look' })),
  form('inventory', () => ({ verb: 'inventory' })),
  one('go', 'go to'),
  one('open'),
  one('close'),
  one('examine'),
  one('use'),
  two('take', 'take _ from'),
  two('put', 'put _ (?:in|on|in/on)'),
  two('put', 'move _ to'),
  two('heat', 'heat _ with'),
  two('cool', 'cool _ with'),
  two('clean', 'clean _ with'),
  two('slice', 'slice _ with'),
];

export function readCommand(text: string): Command | undefined {
  const line = text.trim().toLowerCase().replace(/\s+/g, ' ');
  for (const { pattern, read } of forms) {
    const match = pattern.exec(line);
    if (match !== null) return read(match.slice(1));
  }
  return undefined;
}
