/** Adds the routes of stories, diagnoses and what-if comparisons. */
import { diagnosisOf } from '../insight/diagnosis.js';
import { choicesOf, whatIfOf } from '../insight/what-if.js';
import { storyOf } from '../story/story.js';
import { notFound, type AddRoutes } from './api.js';

export const addInsight: AddRoutes = (api) => {
  api.ofRun('story', async (run, context) => context.json(await storyOf(run)));
  api.ofRun('diagnosis', async (run, context) => context.json(await diagnosisOf(run)));
  api.ofRun('what-if/choices', (run, context) => context.json(choicesOf(run)));
  api.ofRun('what-if', async (run, context) => {
    const given = Object.entries(context.req.query()).filter(([, value]) => value !== '');
    const answer = await whatIfOf(run, Object.fromEntries(given));
    return answer ? context.json(answer) : context.json(notFound, 404);
  });
};
