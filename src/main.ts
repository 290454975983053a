/** The program of the service. Refuses an old Node before importing code that it may not parse. */
import './core/node-version.js';

await import('./start.js');
