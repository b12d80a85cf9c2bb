export { pageFolder } from './page-folder.js';
export { openControl, type ControlOptions } from './control/control.js';
