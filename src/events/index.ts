/** The room's entrance: events, their numbers, and those who follow them. */
export { createEventCounterStore } from './event-counters.js';
export { CounterConflict, type OpeningPlan, type Subscriber } from './event-numbers.js';
export { createEventStore, type EventStore } from './event-store.js';
export { createEventTail, type EventTail } from './event-tail.js';
export { createEventService, type SentEvent, toEventBody } from './events.js';
export { createEventNotifier, type EventNotifier } from './notifier.js';
export { createOutbox, type FollowEvents, type Outbox, type OutboxEvent, type StoredEvent } from './outbox.js';
export { createSequencer, type Sequencer, type SequencerDeps } from './sequencer.js';
