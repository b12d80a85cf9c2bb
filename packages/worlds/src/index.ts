export { builtInEnvironments } from './worlds/table.js';
export { countdown } from './worlds/countdown/definition.js';
export { emailSearch } from './worlds/email-search/definition.js';
export { frozenLake } from './worlds/frozen-lake/definition.js';
export { household } from './worlds/household/definition.js';
export { intercodeSql } from './worlds/intercode-sql/definition.js';
export { learnToAsk } from './worlds/learn-to-ask/definition.js';
export { retailDesk } from './worlds/retail-desk/definition.js';
export { sudoku } from './worlds/sudoku/definition.js';
export { toolCall } from './worlds/tool-call/definition.js';
export { webSearch } from './worlds/web-search/definition.js';
export { webshop } from './worlds/webshop/definition.js';
export {
  createWebShop,
  type WebShop,
  type WebShopOptions,
  type WebShopStep,
} from './worlds/webshop/web-shop.js';
export {
  environmentWorkflow,
  withWorldTypes,
  worldWorkflows,
} from './workflows/world-workflows.js';
