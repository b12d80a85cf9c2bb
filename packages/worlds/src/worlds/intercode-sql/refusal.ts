/**
 * Refuses queries that write, might run for minutes, or make large values. The text of a query must
 * show this beforehand, because a running query cannot be interrupted: SQLite returns only when it
 * has a row, and neither node:sqlite nor terminating the thread can stop it.
 */

/**
 * Returns the reason to refuse a query, or undefined if it is allowed. EXPLAIN is allowed only
 * before SELECT and WITH, because SQLite sets the flags of a PRAGMA when it compiles the statement,
 * even after EXPLAIN.
 */
export function refusalOf(sql: string): string | undefined {
  if (sql.length > 2000) return 'A query has at most 2,000 characters.';
  if (!isQuery.test(sql))
    return 'Only queries are possible: SELECT, WITH, EXPLAIN, PRAGMA table_info.';
  if (largeValues.test(sql))
    return 'RECURSIVE and functions that make large values are not possible.';
  if (manyRows.test(sql)) return 'VALUES and functions that make rows are not possible.';
  if (countOf(longerValues, sql) > 2) return 'At most two calls of replace, hex and quote.';
  return refusalOfSources(sql);
}

/** Pattern of the white space and comments between two tokens. */
const gap = String.raw`(?:\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*`;
/** Matches the beginning of a call, whose name may be quoted. */
const longerValues = new RegExp(`\\b(?:replace|hex|quote)\\b["'\`\\]]?${gap}\\(`, 'gi');
const isQuery =
  /^\s*(?:(?:explain\s+(?:query\s+plan\s+)?)?(?:select|with)\b|pragma\s+table_info\b)/i;
const largeValues = /\b(?:recursive|randomblob|zeroblob|printf|format|load_extension)\b/i;
const manyRows =
  /\b(?:values|jsonb?_(?:each|tree)|dbstat|fts3tokenize|pragma_(?!table_info\b)\w+)\b/i;

/**
 * Maximum number of tables in a query. Four tables have at most 2.56 million combinations of rows,
 * which SQLite counts quickly.
 */
const mostSources = 4;

/**
 * Matches the names of tables and the keyword UNION, which adds rows as a table does. Does not
 * match a table name that qualifies a column, as in `books.title`.
 */
const fixedSources =
  /\b(?:(?:authors|books|customers|sales|sqlite_\w+|pragma_\w+)\b(?!\.)|union\b)/gi;

/**
 * Returns the reason to refuse a query that combines too many tables, or undefined if it does not.
 * Each use of a common table expression (WITH) counts as a table, because it may have as many rows
 * as its tables combined.
 */
function refusalOfSources(sql: string): string | undefined {
  const defined = [...sql.matchAll(definition)].map(([, name = '']) => name);
  if (defined.length < countOf(anyDefinition, sql))
    return 'A name that WITH defines consists of letters, digits and _.';
  const uses = defined.map((name) => countOf(new RegExp(`\\b${name}\\b(?!\\.)`, 'gi'), sql) - 1);
  const sources = uses.reduce((sum, each) => sum + each, countOf(fixedSources, sql));
  return sources > mostSources
    ? 'A query names at most four tables, counting UNION and each use of a name that WITH defines.'
    : undefined;
}

const asQuery = `\\bas\\b${gap}(?:(?:not\\b${gap})?materialized\\b${gap})?\\(`;
const anyDefinition = new RegExp(asQuery, 'gi');
/**
 * Matches the beginning of a common table expression: its name, which may be quoted, and its
 * columns.
 */
const definition = new RegExp(`\\b(\\w+)["'\`\\]]?${gap}(?:\\([^()]*\\)${gap})?${asQuery}`, 'gi');

const countOf = (pattern: RegExp, text: string): number => text.match(pattern)?.length ?? 0;
