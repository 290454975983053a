/** The room's entrance: events, their numbers, and those who follow them. */
export { createEventCounterStore } from './event-counters.js';
export { type SentEvent, toEventBody } from './event-resource.js';
export { createEventStore, type EventStore } from './event-store.js';
export { createEventTail, type EventTail } from './event-tail.js';
export { createEventService } from './events.js';
export { createEventNotifier, type EventNotifier } from './notifier.js';
export { createOutbox, type FollowEvents, type Outbox, type OutboxEvent, type StoredEvent } from './outbox.js';
export { CounterConflict, type OpeningPlan, type Subscriber } from './sequence.js';
export { createSequencer, type Sequencer, type SequencerDeps } from './sequencer.js';
