/** Adds the routes of stories, diagnoses and what-if comparisons. */
import { diagnosisOf } from '../insight/diagnosis.js';
import { choicesOf, whatIfOf } from '../insight/what-if.js';
import { insightRoutes } from '../interface/insight.js';
import { storyRoutes } from '../interface/story.js';
import { storyOf } from '../story/story.js';
import { notFound, type AddRoutes } from './api.js';

export const addInsight: AddRoutes = (api) => {
  api.ofRun(storyRoutes, '/api/runs/{run}/story', async (run) => Response.json(await storyOf(run)));
  api.ofRun(insightRoutes, '/api/runs/{run}/diagnosis', async (run) =>
    Response.json(await diagnosisOf(run)),
  );
  api.ofRun(insightRoutes, '/api/runs/{run}/what-if/choices', (run) =>
    Response.json(choicesOf(run)),
  );
  api.ofRun(insightRoutes, '/api/runs/{run}/what-if', async (run, query) => {
    const answer = await whatIfOf(run, query);
    if (answer) return Response.json(answer);
    return notFound(`${run.place.id} has no recorded experiences to compare settings on.`);
  });
};
