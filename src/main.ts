/** The service's program. What it is made of is imported only once the version of Node is known to do. */
import './core/node-version.js';

await import('./start.js');
