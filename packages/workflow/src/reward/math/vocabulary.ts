/** Words and LaTeX commands that the math checker recognises. */

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/**
 * Plain spellings of LaTeX commands. The spelling is empty if the command only affects space or
 * size.
 */
export const commandTokens: ReadonlyMap<string, string> = new Map([
  ...words(
    'left right big Big bigg Bigg bigl bigr Bigl Bigr displaystyle textstyle limits newline quad qquad boxed fbox',
  ).map((name) => [name, ''] as const),
  ...words('frac dfrac tfrac cfrac').map((name) => [name, '\\frac'] as const),
  ...words('cdot times ast').map((name) => [name, '*'] as const),
  ...words('le leq leqslant').map((name) => [name, '\\le'] as const),
  ...words('ge geq geqslant').map((name) => [name, '\\ge'] as const),
  ...words('ne neq').map((name) => [name, '\\ne'] as const),
  ...words('emptyset varnothing').map((name) => [name, '\\emptyset'] as const),
  ...words('degree textdegree').map((name) => [name, '°'] as const),
  ['div', '/'],
  ['lt', '<'],
  ['gt', '>'],
  ['lbrace', '\\{'],
  ['rbrace', '\\}'],
  ['infin', '\\infty'],
  ...words('vert lvert rvert').map((name) => [name, '|'] as const),
  ...words('binom dbinom tbinom').map((name) => [name, '\\binom'] as const),
  ['langle', '('],
  ['rangle', ')'],
]);

/** Commands for text and fonts, of which only the content in braces counts. */
export const wrapperCommands: ReadonlySet<string> = new Set(
  words(
    'text textbf textit textrm textsf texttt mathrm mathbf mathit mathsf mathbb mathcal rm bf it mbox hbox operatorname boldsymbol bm',
  ),
);

/** Names of functions, with or without a backslash. */
export const functionNames: ReadonlySet<string> = new Set(
  words('sin cos tan cot sec csc arcsin arccos arctan ln log exp'),
);

/** Other names that have the same meaning with and without a backslash. */
export const plainCommands: ReadonlyMap<string, string> = new Map([
  ['sqrt', '\\sqrt'],
  ['pi', '\\pi'],
  ['infty', '\\infty'],
  ['infinity', '\\infty'],
]);

/** Commands that name a variable. */
export const symbolCommands: ReadonlySet<string> = new Set(
  words(
    'alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega infty ell emptyset',
  ).map((name) => `\\${name}`),
);

/** Superscript digits and signs, in the order of `0123456789-+`. */
export const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺';

/**
 * Replacements of characters. Vulgar fractions (½) are replaced before Unicode normalization, which
 * would join them with a preceding number.
 */
export const characterTexts: ReadonlyMap<string, string> = new Map([
  ...Object.entries({
    '½': '1/2',
    '⅓': '1/3',
    '⅔': '2/3',
    '¼': '1/4',
    '¾': '3/4',
    '⅕': '1/5',
    '⅛': '1/8',
  }).map(([character, fraction]) => [character, ` ${fraction}`] as const),
  ...words('− – — ‐ ‑').map((character) => [character, '-'] as const),
  ...words('× ⋅ · ∙ ∗').map((character) => [character, '*'] as const),
  ...words('÷ ⁄ ∕').map((character) => [character, '/'] as const),
  // Thin spaces, which separate groups of three digits.
  ...['\u00a0', '\u2009', '\u202f'].map((character) => [character, '\\,'] as const),
  ['π', '\\pi '],
  ['√', '\\sqrt '],
  ['∞', '\\infty '],
  ['≤', '\\le '],
  ['≥', '\\ge '],
  ['≠', '\\ne '],
  ['±', '\\pm '],
  ['∓', '\\mp '],
  ['∪', '\\cup '],
  ['∈', '\\in '],
  ['∅', '\\emptyset '],
  ['≈', '\\approx '],
  ['θ', '\\theta '],
  ['α', '\\alpha '],
  ['β', '\\beta '],
  ['，', ','],
  ['、', ','],
  ['。', '.'],
]);

/**
 * Spellings of units. Each line lists all spellings of one unit. The first spelling is the name of
 * the unit.
 */
const unitRows = `
mm millimeter millimeters millimetre millimetres
cm centimeter centimeters centimetre centimetres
m meter meters metre metres
km kilometer kilometers kilometre kilometres
in inch inches
ft foot feet
yd yard yards
mi mile miles
mg milligram milligrams
g gram grams
kg kilogram kilograms
lb lbs pound pounds
oz ounce ounces
ton tons tonne tonnes
ml milliliter milliliters millilitre millilitres
L l liter liters litre litres
gal gallon gallons
ms millisecond milliseconds
s sec secs second seconds
min mins minute minutes
h hr hrs hour hours
day days
week weeks
month months
year years yr yrs
mph
kph
dollar dollars usd
cent cents
euro euros eur
degree degrees deg
rad radian radians
N newton newtons
J joule joules
W watt watts
V volt volts
Hz hertz
sq square
cu cubic
per
`;

/** Maps every spelling of a unit to its name. Spellings of one letter are case-sensitive. */
export const unitNames: ReadonlyMap<string, string> = new Map(
  unitRows
    .trim()
    .split('\n')
    .map(words)
    .flatMap((row) => row.map((spelling) => [spelling, row[0] ?? spelling] as const)),
);

/** Factors by their word, as in `2 million`. */
export const scaleWords: ReadonlyMap<string, bigint> = new Map([
  ['hundred', 100n],
  ['thousand', 1_000n],
  ['million', 1_000_000n],
  ['billion', 1_000_000_000n],
  ['trillion', 1_000_000_000_000n],
  ['dozen', 12n],
]);

/**
 * Words for fractions. After a number, as in `2 thirds`, such a word changes the value, so it is
 * never part of a remark.
 */
export const fractionWords: ReadonlySet<string> = new Set(
  words(
    'half halves third thirds quarter quarters fourth fourths fifth fifths sixth sixths seventh sevenths eighth eighths ninth ninths tenth tenths hundredth hundredths thousandth thousandths',
  ),
);

/** English words for numbers below one hundred. */
export const numberWords: ReadonlyMap<string, bigint> = new Map([
  ...words(
    'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen',
  ).map((word, value) => [word, BigInt(value)] as const),
  ...words('twenty thirty forty fifty sixty seventy eighty ninety').map(
    (word, index) => [word, BigInt(20 + 10 * index)] as const,
  ),
]);
