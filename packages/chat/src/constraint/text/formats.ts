/** String formats as regular expressions, which only cover common notations of each format. */

const hex = '[0-9A-Fa-f]';
const monthDay =
  '(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))';
const leapYear = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';
const date = `(?:\\d{4}-${monthDay}|${leapYear}-02-29)`;
const clock = '(?:[01]\\d|2[0-3]):[0-5]\\d';
const time = `${clock}:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-]${clock})`;
const octet = '(?:\\d|[1-9]\\d|1\\d\\d|2[0-4]\\d|25[0-5])';
const label = '[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*';
const shortLabel = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?';
const group = `${hex}{1,4}`;
/** IPv6 address: eight groups. One `::` may replace one or more of the groups. */
const ipv6 = [
  `(?:${group}:){7}${group}`,
  `(?:${group}:){1,7}:`,
  ...[1, 2, 3, 4, 5, 6].map((after) => `(?:${group}:){1,${7 - after}}(?::${group}){1,${after}}`),
  `:(?::${group}){1,7}`,
  '::',
].join('|');
const pathChar = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";

/**
 * Regular expressions by the name of the format. Formats that are not listed restrict nothing,
 * because JSON Schema treats them as annotations.
 */
export const formats: Readonly<Record<string, string>> = {
  date: `^${date}$`,
  time: `^${time}$`,
  'date-time': `^${date}T${time}$`,
  duration:
    '^P(?!$)(?:(?:\\d+Y)?(?:\\d+M)?(?:\\d+D)?(?:T(?=\\d)(?:\\d+H)?(?:\\d+M)?(?:\\d+S)?)?|\\d+W)$',
  email: `^[A-Za-z0-9_+-]+(?:\\.[A-Za-z0-9_+-]+)*@(?:${label}\\.)+[A-Za-z]{2,}$`,
  hostname: `^${shortLabel}(?:\\.${shortLabel}){0,6}$`,
  ipv4: `^(?:${octet}\\.){3}${octet}$`,
  ipv6: `^(?:${ipv6})$`,
  uuid: `^${hex}{8}-${hex}{4}-${hex}{4}-${hex}{4}-${hex}{12}$`,
  uri: `^[A-Za-z][A-Za-z0-9+.-]*://(?:${label}(?:\\.${label})*|${octet}(?:\\.${octet}){3})(?::\\d{1,5})?(?:/${pathChar}*)*(?:\\?(?:${pathChar}|[/?])*)?(?:#(?:${pathChar}|[/?])*)?$`,
};
