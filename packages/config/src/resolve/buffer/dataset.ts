/** Where rows of tasks or of supervised data are, and how they are read. */
import { rowsKeys } from '../../schema/buffer.js';
import { inherit, resolveSection } from '../../schema/resolve-section.js';
import type { RunInput } from '../../schema/root.js';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import { locate } from '../base/paths.js';
import type { DatasetConfig, ModelConfig } from '../base/resolved.js';

type RowsInput = Pick<
  RunInput['buffer']['trainer_input']['experience_buffer'],
  'path' | 'split' | 'subset_name' | 'format' | 'data_selector'
>;

/** Resolves the dataset at `section`; the caller reports a missing path. */
export function deriveDataset(
  context: StageContext,
  section: KeyPath,
  input: RowsInput & { readonly name: string },
  model: ModelConfig,
): DatasetConfig {
  const location =
    input.path === null ? undefined : locate(context, [...section, 'path'], input.path);
  const rows = resolveSection(rowsKeys, input);
  return {
    ...rows,
    name: input.name,
    path: location?.path ?? input.path ?? '',
    isLocal: location?.isLocal ?? false,
    format: inherit(rows.format, model),
  };
}
