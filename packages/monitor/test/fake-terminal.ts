/** A terminal that records what a person would see on it. */
import { stripVTControlCharacters } from 'node:util';
import type { Terminal } from '../src/index.js';

export interface FakeTerminal extends Terminal {
  /** Everything written so far. */
  readonly output: string;
  /** The lines on the screen, without colours; the cursor is on the last one. */
  screen(): readonly string[];
}

export function fakeTerminal({ isTTY = true, columns = 80 } = {}): FakeTerminal {
  let output = '';
  return {
    isTTY,
    columns: () => columns,
    write: (text) => {
      output += text;
    },
    get output() {
      return output;
    },
    screen: () =>
      output.split('\n').map((line) => stripVTControlCharacters(line.split('\r\u001B[2K').at(-1)!)),
  };
}
