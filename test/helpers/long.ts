/** What `npm test` leaves to `npm run test:long`, which runs the files that import this, too. */

/** Whether this is a run of the long tests. */
export const IS_LONG = process.env.TEST_LONG === 'true';

/** Option of a test that works or waits for long. */
export const LONG = IS_LONG ? {} : { skip: 'npm run test:long' };

/** For fast-check: all draws in the long tests, a fifth of them in `npm test`. */
export const draws = (all: number): { numRuns: number } => ({ numRuns: IS_LONG ? all : Math.ceil(all / 5) });
