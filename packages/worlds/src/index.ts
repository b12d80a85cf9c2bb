export { builtInEnvironments } from './worlds/table.js';
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
