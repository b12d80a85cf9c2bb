export { pageFolder } from './page-folder.js';
