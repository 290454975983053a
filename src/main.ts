/** The program of the service. Refuses an old Node before importing code that it may not parse. */
import './app/node-version.js';

await import('./app/start.js');
