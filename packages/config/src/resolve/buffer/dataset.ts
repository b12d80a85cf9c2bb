/** Resolves the location and layout of rows of tasks or supervised data. */
import { rowsKeys } from '../../schema/buffer.js';
import { inherit, resolveSection } from '../../schema/resolve-section.js';
import type { RunInput } from '../../schema/root.js';
import type { KeyPath } from '../../source/node.js';
import { sayIgnored, type StageContext } from '../base/context.js';
import { isPostgres, locate, sqlitePath } from '../base/paths.js';
import type { DatasetConfig, ModelConfig } from '../base/resolved.js';

type RowsInput = Pick<
  RunInput['buffer']['trainer_input']['experience_buffer'],
  'path' | 'split' | 'subset_name' | 'format' | 'data_selector'
>;

/** Resolves the dataset at `section`. The caller must report a missing path. */
export function deriveDataset(
  context: StageContext,
  section: KeyPath,
  input: RowsInput & { readonly name: string; readonly storage_type: string | null },
  model: ModelConfig,
): DatasetConfig {
  const location =
    input.path === null || input.storage_type === 'sql'
      ? undefined
      : locate(context, [...section, 'path'], input.path);
  const rows = resolveSection(rowsKeys, input);
  return {
    ...rows,
    name: input.name,
    path: location?.path ?? input.path ?? '',
    isLocal: location?.isLocal ?? false,
    format: inherit(rows.format, model),
  };
}

type DatabaseInput = Pick<
  RunInput['buffer']['explorer_input']['tasksets'][number],
  'path' | 'table' | 'query'
>;

/** Resolves the location of a task set in a database: an SQLite file, or a PostgreSQL URL. */
export function deriveDatabase(
  context: StageContext,
  section: KeyPath,
  { path, table, query }: DatabaseInput,
): Pick<DatasetConfig, 'path' | 'isLocal'> {
  const reason = 'A database has no parts; use table or query.';
  sayIgnored(context, section, ['subset_name', 'split'], reason);
  if (table !== null && query !== null)
    context.report([...section, 'table'], 'is given beside query. Remove one of the two.');
  if (query !== null && !/\border\s+by\b/i.test(query))
    context.warn(
      [...section, 'query'],
      'has no ORDER BY, so the database may return its rows in another order when the run is resumed. Add one.',
    );
  if (path === null) return { path: '', isLocal: false };
  if (isPostgres(path)) return { path, isLocal: false };
  const file = sqlitePath(context, [...section, 'path'], path);
  if (file !== undefined && context.disk.kind(file) !== 'file')
    context.report(
      [...section, 'path'],
      `got "${path}", but there is no database ${file}. Relative paths start at the working directory, ${context.disk.resolve('.')}.`,
    );
  return { path: file ?? '', isLocal: true };
}
