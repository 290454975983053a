/** The index of due deliveries puts fresh ones before those of replays. */
import { dropIndexes, type Migration } from './migration.js';

export const freshFirst: Migration = {
  title: 'due deliveries, fresh ones first',
  steps: [(db) => dropIndexes(db, 'deliveries', ['webhookId_1_nextAttemptAt_1__id_1'])],
};
