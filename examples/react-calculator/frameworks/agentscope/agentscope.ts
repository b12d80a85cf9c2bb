/**
 * In place of `@agentscope-ai/agentscope`, which npm does not have: our stand-in for it. Yours
 * comes from the framework's repository.
 */
export {
  Agent,
  createMsg,
  OpenAIChatModel,
  Toolkit,
  type Msg,
} from '@trinity-rft/testing/agentscope';
