export { importRows, type ImportOptions } from './import-rows.js';
export { renderImport } from './report/render.js';
export type { ImportReport, Lengths, Place, ScoreRange, Skipped } from './report/report.js';
export type { RedactedCounts, RedactedKind } from './redact/redact.js';
export type { RowOptions } from './rows/row-writing.js';
export { rowKinds, type RowKind } from './record/row-kind.js';
export { sourceNames, type SourceName } from './sources/table.js';
