export { runCommand, type Command, type CommandResult } from './run-command.js';
export type { TranscriptLine } from './transcript.js';
export { processWorkflow, type ProcessContext, type ProcessWorkflowOptions } from './workflow.js';
