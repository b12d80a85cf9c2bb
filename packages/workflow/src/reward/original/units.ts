/**
 * Words from MathQA that Trinity-RFT treats as units, which include single letters. As in
 * Trinity-RFT, each word is a regular expression, so that a dot matches any character.
 */

const units =
  `east|degree|mph|kmph|ft|m sqaure| m east|sq m|deg|mile|q .|monkey|prime|ratio|profit of rs|rd|o|gm|p . m|lb|tile|per|dm|lt|gain|ab
|way|west|a .|b .|c .|d .|e .|f .|g .|h .|t|a|h|no change|men|soldier|pie|bc|excess|st|inches|noon|percent|by|gal|kmh|c|acre|rise|a . m|th|π r 2|sq
|mark|l|toy|coin|sq . m|gallon|° f|profit|minw|yr|women|feet|am|pm|hr|cu cm|square|v â € ™|are|rupee|rounds|cubic|cc|mtr|s|ohm|number|kmph|day|hour
|minute|min|second|man|woman|sec|cube|mt|sq inch|mp|∏ cm ³|hectare|more|sec|unit|cu . m|cm 2|rs .|rs|kg|g|month|km|m|cm|mm|apple|liter|loss|yard|pure
|year|increase|decrease|d|less|Surface|litre|pi sq m|s .|metre|meter|inch`
    .replaceAll('\n', '')
    .split('|');

/** Pattern for a unit and its neighbouring characters, which are kept. */
interface UnitPattern {
  /**
   * Literal text of the unit, by which texts without the unit are skipped quickly. Undefined for a
   * unit with a dot, because the dot matches any character.
   */
  readonly literal: string | undefined;
  readonly pattern: RegExp;
}

/**
 * Returns the patterns of all units, followed by those of all plurals. The order is Trinity-RFT's,
 * because removing one unit may reveal another.
 */
function unitPatterns(): readonly UnitPattern[] {
  return [...units, ...units.map((unit) => `${unit}s`)].map((unit) => ({
    literal: unit.includes('.') ? undefined : unit,
    pattern: new RegExp(String.raw`(^|[^\p{L}\p{N}_])${unit}($|[^\p{L}\p{N}_])`, 'gu'),
  }));
}

// Created on first use, because this takes forty milliseconds and few training runs need the
// patterns.
let patterns: readonly UnitPattern[] | undefined;

/**
 * Removes units that have non-word characters on both sides, in two rounds. Skips a removal that
 * would leave no text. `a/b` becomes `/b`.
 */
export function eraseUnits(text: string): string {
  patterns ??= unitPatterns();
  let erased = text;
  for (let round = 0; round < 2; round++) {
    for (const { literal, pattern } of patterns) {
      if (literal === undefined || erased.includes(literal))
        erased = erased.replace(pattern, '$1$2') || erased;
    }
  }
  return erased;
}
