// What only packages of this repository share.
export { experienceJson, type ExperienceJson } from './experience-json.js';
export { checkRows } from './supervised/check-rows.js';
