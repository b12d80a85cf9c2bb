/** Server for several models over HTTP. */
export {
  openModelServer,
  type LoggedRequest,
  type ModelServer,
  type ModelServerOptions,
} from './model-server.js';
export type { ServedModels } from './served-models.js';
