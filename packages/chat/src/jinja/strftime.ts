/** Python's `strftime` in the C locale. */
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

const two = (value: number): string => String(value).padStart(2, '0');

const dayOfYear = (date: Date): number =>
  Math.round(
    (Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) -
      Date.UTC(date.getFullYear(), 0, 1)) /
      86_400_000,
  ) + 1;

const directives: Readonly<Record<string, (date: Date) => string>> = {
  a: (date) => (days[date.getDay()] ?? '').slice(0, 3),
  A: (date) => days[date.getDay()] ?? '',
  b: (date) => (months[date.getMonth()] ?? '').slice(0, 3),
  B: (date) => months[date.getMonth()] ?? '',
  d: (date) => two(date.getDate()),
  e: (date) => String(date.getDate()).padStart(2),
  H: (date) => two(date.getHours()),
  I: (date) => two(date.getHours() % 12 || 12),
  j: (date) => String(dayOfYear(date)).padStart(3, '0'),
  m: (date) => two(date.getMonth() + 1),
  M: (date) => two(date.getMinutes()),
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  S: (date) => two(date.getSeconds()),
  u: (date) => String(date.getDay() || 7),
  w: (date) => String(date.getDay()),
  y: (date) => two(date.getFullYear() % 100),
  Y: (date) => String(date.getFullYear()),
  Z: () => '',
  z: () => '',
  '%': () => '%',
};

const combined: Readonly<Record<string, string>> = {
  c: '%a %b %e %H:%M:%S %Y',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  h: '%b',
  R: '%H:%M',
  T: '%H:%M:%S',
  x: '%m/%d/%y',
  X: '%H:%M:%S',
};

/**
 * Formats a date. Unknown directives in `format` are left unchanged. `%-d` is `%d` without leading
 * zeros or spaces, and likewise for other directives.
 */
export function strftime(date: Date, format: string): string {
  return format.replaceAll(/%(-?)([a-zA-Z%])/g, (directive, bare: string, key: string) => {
    if (bare === '' && Object.hasOwn(combined, key)) return strftime(date, combined[key]!);
    const print = Object.hasOwn(directives, key) ? directives[key] : undefined;
    const text = print?.(date) ?? directive;
    return bare === '' ? text : text.replace(/^[0 ]+(?=\d)/, '');
  });
}
