export { answerCalls, type AnswerOptions, type CallContext, type Handlers } from './answer.js';
export { Link, type CallArguments, type CallOptions, type LinkOptions } from './link.js';
export type { MethodTable, ResultOf } from './protocol.js';
export { startThread, type ThreadExit, type ThreadOptions, type ThreadTask } from './thread.js';
