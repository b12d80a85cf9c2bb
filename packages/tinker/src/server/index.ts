export { openTinkerServer, type TinkerServer, type TinkerServerOptions } from './server.js';
export type { ServiceOptions, TinkerModel } from './service/service.js';
