export { openControl } from './control.js';
