/** Colours for token values, from red to green. */
import { numberText } from '../numbers.js';

/** Colour of a share: 0 is red, 1 is green. */
const hue = (share: number): string => `hsl(${Math.round(120 * share)} 80% 45%)`;

/**
 * Colour of a probability. Most tokens have probabilities near 1, so the colours change fastest
 * there: 0.9 and 0.99 are distinguishable.
 */
export const heatOfChance = (probability: number): string =>
  hue(1 - Math.sqrt(Math.max(0, 1 - probability)));

/** Colour of a signed share: -1 is red, 1 is green; undefined at 0. */
export const heatOfSign = (share: number): string | undefined =>
  Math.abs(share) < 1e-6 ? undefined : hue((Math.min(1, Math.max(-1, share)) + 1) / 2);

const chances = [1, 0.99, 0.9, 0.5, 0.1] as const;

/** Legend with the colours of probabilities. */
export const ChanceScale = () => (
  <small>
    {chances.map((chance) => (
      <span key={chance}>
        <span class="swatch heat" style={{ '--heat': heatOfChance(chance) }} />{' '}
        {numberText(chance)}{' '}
      </span>
    ))}
  </small>
);
