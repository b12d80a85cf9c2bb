export { addToProject, type AddedToProject, type AddToProjectOptions } from './add-to-project.js';
export { createProject, type CreatedProject, type CreateProjectOptions } from './create-project.js';
export { packageManagerOf, type PackageManager } from './next-steps.js';
export { templates, type Template } from './templates.js';
