/** Environment whose reward depends on every letter: an extra or missing letter changes it. */
import { defineEnvironment } from '../../src/seam/define.js';
import { nativeEnvironment } from '../../src/native/native-environment.js';
import { rowsOfSplit } from '../../src/native/splits.js';

export const episodeLength = 3;

export class Letters {
  #state: number;
  #said = 0;

  constructor(seed: number) {
    this.#state = seed % 11;
  }

  get observation(): string {
    return String(this.#state);
  }

  say(text: string): {
    readonly observation: string;
    readonly reward?: number;
    readonly done: boolean;
  } {
    this.#said++;
    this.#state = (this.#state * 7 + (text.codePointAt(0) ?? 3)) % 11;
    const done = this.#said === episodeLength;
    return { observation: this.observation, reward: done ? this.score : undefined, done };
  }

  /** Score that depends on every letter and on the number of letters. */
  get score(): number {
    return (this.#state + this.#said) / 20;
  }
}

export const letters = defineEnvironment({
  name: 'letters',
  description: 'Say three letters.',
  open: () =>
    nativeEnvironment(({ row }) => {
      const world = new Letters(Number(row['seed']));
      return {
        observation: world.observation,
        step: (action) => world.say(action.type === 'text' ? action.text : ''),
      };
    }),
  tasks: (range) => rowsOfSplit(range, (seed) => ({ seed }), JSON.stringify),
});
