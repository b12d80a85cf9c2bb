/** Compares answers by their meaning. */
import type { Answer, Equation, Group, Inequality } from './answer.js';
import {
  apply,
  evaluate,
  numeral,
  sameTree,
  testPoints,
  variablesOf,
  type Assignment,
  type Expression,
} from './expression.js';
import { divide, exact, isFiniteDecimal, sameNumber, toApproximate, type Num } from './number.js';
import type { Quantity } from './quantity.js';
import { unitRatio } from './units.js';

/** Returns true if two answers have the same value, whatever their spelling. Symmetric. */
export function sameAnswer(a: Answer, b: Answer): boolean {
  if (a.kind === 'equation' && b.kind === 'equation') return sameEquation(a, b);
  if (a.kind === 'equation') return sameAsValueOf(a, b);
  if (b.kind === 'equation') return sameAsValueOf(b, a);
  if (a.kind === 'group' && b.kind === 'group') return sameGroup(a, b);
  if (a.kind === 'group') return isSetOf(a, b);
  if (b.kind === 'group') return isSetOf(b, a);
  if (a.kind === 'inequality' && b.kind === 'inequality') return sameInequality(a, b);
  if (a.kind === 'quantity' && b.kind === 'quantity') return sameQuantity(a, b);
  return a.kind === 'text' && b.kind === 'text' && a.text === b.text;
}

/** Returns true if the group is a set whose only item equals `item`, as for `\{5\}` and `5`. */
const isSetOf = (group: Group, item: Answer): boolean =>
  group.shape === 'set' &&
  group.items.length === 1 &&
  group.items.every((only) => sameAnswer(only, item));

/**
 * Returns true if an answer equals the value that an equation states. `x = 5` states the value 5,
 * and `6 + 30 = 36` the value 36. `2x + 3y = 6` states no value.
 */
function sameAsValueOf(equation: Equation, value: Answer): boolean {
  const isValue =
    equation.name !== undefined ||
    equation.sides.every(
      (side) => side.kind === 'quantity' && variablesOf(side.expression).size === 0,
    );
  return isValue && sameAnswer(lastSide(equation), value);
}

const lastSide = ({ sides }: Equation): Answer => sides.at(-1) ?? { kind: 'text', text: '' };

/**
 * Returns true if both equations state the same value of the same variable, or if they have the
 * same solutions: the difference of the sides of one is a constant multiple of that of the other.
 */
function sameEquation(a: Equation, b: Equation): boolean {
  if (a.name !== undefined && a.name === b.name) return sameAnswer(lastSide(a), lastSide(b));
  const [left, right] = [differenceOf(a), differenceOf(b)];
  return left !== undefined && right !== undefined && areProportional(left, right);
}

function differenceOf({ sides }: Equation): Expression | undefined {
  const [left, right] = sides;
  if (sides.length !== 2 || left?.kind !== 'quantity' || right?.kind !== 'quantity')
    return undefined;
  return apply('add', left.expression, apply('negate', right.expression));
}

/**
 * Returns true if one expression is a nonzero constant times the other, which is the case if their
 * quotient is the same at all test points.
 */
function areProportional(a: Expression, b: Expression): boolean {
  const quotients = testPoints(new Set([...variablesOf(a), ...variablesOf(b)]))
    .map((point) => divide(evaluate(a, point), evaluate(b, point)))
    .filter((quotient) => quotient !== undefined);
  const [first] = quotients;
  return (
    first !== undefined &&
    quotients.length > 1 &&
    !sameNumber(first, exact(0n)) &&
    quotients.every((quotient) => sameNumber(quotient, first))
  );
}

function sameInequality(a: Inequality, b: Inequality): boolean {
  const isSame = (sides: readonly Answer[]): boolean => sameInOrder(a.sides, sides);
  return (
    a.signs.join() === b.signs.join() &&
    (isSame(b.sides) || (a.signs.join() === '\\ne' && isSame(b.sides.toReversed())))
  );
}

/**
 * Maximum number of items for a comparison in any order, whose time is quadratic. Longer lists are
 * compared in order.
 */
const maxUnordered = 32;

/**
 * Compares groups. Groups with brackets must have the same brackets. For a list without brackets,
 * the order counts if the other group is a tuple, but not if it is a set or another list.
 */
function sameGroup(a: Group, b: Group): boolean {
  const [left, right] = [vectorOf(a), vectorOf(b)];
  if (left && right && (left !== a) !== (right !== b)) return sameGroup(left, right);
  const asSets = a.shape === 'set' || b.shape === 'set';
  const [items, others] = asSets ? [distinct(a.items), distinct(b.items)] : [a.items, b.items];
  if (items.length !== others.length) return false;
  const lists = [a, b].filter(({ shape }) => shape === 'list').length;
  if (a.shape !== b.shape && (lists === 0 || !isListLike(a) || !isListLike(b))) return false;
  const free = lists === 2 || asSets || a.shape === 'union' || b.shape === 'union';
  if (!free || items.length > maxUnordered) return sameInOrder(items, others);
  const rest = [...others];
  return items.every((item) => {
    const match = rest.findIndex((candidate) => sameAnswer(item, candidate));
    return match >= 0 && rest.splice(match, 1).length === 1;
  });
}

/** Returns the distinct items of a set. `\{1, 2, 2\}` equals `\{1, 2\}`. */
const distinct = (items: readonly Answer[]): readonly Answer[] =>
  items.length > maxUnordered
    ? items
    : items.filter(
        (item, index) => !items.slice(0, index).some((earlier) => sameAnswer(earlier, item)),
      );

/** Compares the items of lists of equal length in order. */
function sameInOrder(a: readonly Answer[], b: readonly Answer[]): boolean {
  return a.every((item, index) => {
    const other = b[index];
    return other !== undefined && sameAnswer(item, other);
  });
}

const isListLike = ({ shape }: Group): boolean =>
  shape === 'list' || shape === 'set' || shape === 'union' || shape.includes(',');

/**
 * Returns a matrix of one row or one column as a tuple, and a tuple unchanged. Returns undefined
 * for other groups.
 */
function vectorOf(group: Group): Group | undefined {
  if (group.shape === '(,)') return group;
  const rows = group.items.flatMap((row) =>
    row.kind === 'group' && row.shape === 'row' ? [row.items] : [],
  );
  if (group.shape !== 'matrix' || rows.length !== group.items.length) return undefined;
  if (rows.length === 1 || rows.every((row) => row.length === 1))
    return { kind: 'group', shape: '(,)', items: rows.flat() };
  return undefined;
}

/**
 * Compares quantities. If both have a known unit, the units must be the same or convertible. If
 * only one has a percent sign, `50%` equals both 50 and a half.
 */
function sameQuantity(a: Quantity, b: Quantity): boolean {
  if (a.unit !== undefined && b.unit !== undefined && a.unit !== b.unit) {
    const ratio = unitRatio(a.unit, b.unit);
    return ratio !== undefined && isMultiple(a, b, ratio);
  }
  if (sameExpression(a.expression, b.expression)) return true;
  if (a.percent === b.percent) return false;
  const hundredth: Expression = apply(
    'divide',
    { kind: 'number', digits: '1' },
    { kind: 'number', digits: '100' },
  );
  const [part, whole] = a.percent ? [a, b] : [b, a];
  return sameExpression(apply('multiply', part.expression, hundredth), whole.expression);
}

/**
 * Returns true if `a`, converted by the ratio of the units, equals `b`, as for `100 cm` and `1 m`.
 */
function isMultiple(
  a: Quantity,
  b: Quantity,
  [numerator, denominator]: readonly [bigint, bigint],
): boolean {
  const scaled = apply('multiply', a.expression, numeral(String(numerator)));
  return sameExpression(apply('divide', scaled, numeral(String(denominator))), b.expression);
}

/**
 * Returns true if the expressions have equal values at all test points where both have a value. If
 * there are variables, there must be at least two such points. A constant may also be a rounded
 * decimal of the other.
 */
export function sameExpression(a: Expression, b: Expression): boolean {
  if (sameTree(a, b)) return true;
  const variables = new Set([...variablesOf(a), ...variablesOf(b)]);
  const pairs = testPoints(variables).flatMap((point) => valuesAt(a, b, point));
  const needed = variables.size === 0 ? 1 : 2;
  if (pairs.length >= needed && pairs.every(([x, y]) => sameNumber(x, y))) return true;
  const [only] = pairs;
  return (
    variables.size === 0 &&
    only !== undefined &&
    (rounds(a, only[0], only[1]) || rounds(b, only[1], only[0]))
  );
}

function valuesAt(
  a: Expression,
  b: Expression,
  point: Assignment,
): readonly (readonly [Num, Num])[] {
  const [x, y] = [evaluate(a, point), evaluate(b, point)];
  return x && y ? [[x, y]] : [];
}

/**
 * Returns true if `expression`, whose value is `rounded`, is a decimal number that approximates
 * `value`: it has six or more significant digits, `value` has no finite decimal expansion, and they
 * differ by less than one unit of the last digit.
 */
function rounds(expression: Expression, rounded: Num, value: Num): boolean {
  const literal =
    expression.kind === 'apply' && expression.operator === 'negate'
      ? expression.operands[0]
      : expression;
  if (literal?.kind !== 'number' || (value.kind === 'exact' && isFiniteDecimal(value)))
    return false;
  const match = /^(\d*)\.(\d+)$/.exec(literal.digits);
  const [, whole = '', decimals = ''] = match ?? [];
  if ((whole + decimals).replace(/^0+/, '').length < 6) return false;
  const [x, y] = [toApproximate(rounded), toApproximate(value)];
  return x !== undefined && y !== undefined && Math.abs(x.value - y.value) < 10 ** -decimals.length;
}
