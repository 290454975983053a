/** The program of the service. An old Node is refused before anything is imported that it may not understand. */
import './core/node-version.js';

await import('./start.js');
