export type { ExperienceDetail, TokenDetail } from './detail.js';
export type { StorePlace } from './records.js';
export { openViewer, type Viewer, type ViewerOptions } from './viewer.js';
