export type { ExperienceDetail, TokenDetail } from './records/detail.js';
export type { StorePlace } from './records/records.js';
export { openViewer, type Viewer, type ViewerOptions } from './viewer.js';
