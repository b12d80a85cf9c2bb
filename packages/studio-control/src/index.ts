export { openControl, type ControlOptions } from './control.js';
