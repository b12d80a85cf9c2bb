/** Types of the interface's answers. */
import type { z } from 'zod';
import type * as schemas from './schemas.js';

export type RunNotes = z.infer<typeof schemas.runNotes>;
export type RunSummary = z.infer<typeof schemas.runSummary>;
export type MetricInfo = z.infer<typeof schemas.metricInfo>;
export type MetricList = z.infer<typeof schemas.metricList>;
export type Mark = z.infer<typeof schemas.mark>;
export type Marks = z.infer<typeof schemas.marks>;
export type RunSettings = z.infer<typeof schemas.runSettings>;
export type Diagnosis = z.infer<typeof schemas.diagnosis>;
export type WhatIfAnswer = z.infer<typeof schemas.whatIf>;
export type WhatIfChoices = z.infer<typeof schemas.whatIfChoices>;
export type Curve = z.infer<typeof schemas.curve>;
export type RolloutRow = z.infer<typeof schemas.rolloutRow>;
export type ListedRollout = z.infer<typeof schemas.listedRollout>;
export type RolloutPage = z.infer<typeof schemas.rolloutPage>;
export type RolloutDetail = z.infer<typeof schemas.rolloutDetail>;
export type Conversation = z.infer<typeof schemas.conversation>;
export type RecordedCall = Conversation['calls'][number];
export type Segment = RecordedCall['segments'][number];
export type Group = z.infer<typeof schemas.group>;
export type Attempt = Group['attempts'][number];
export type TaskHistory = z.infer<typeof schemas.taskHistory>;
export type TaskPage = z.infer<typeof schemas.taskPage>;
export type TokenDetail = z.infer<typeof schemas.tokenDetail>;
export type RunEvent = z.infer<typeof schemas.runEvent>;
