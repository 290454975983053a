#!/usr/bin/env node
/** The program of the commands. What they are made of is imported only once the version of Node is known to do. */
import '../core/node-version.js';

await import('./commands.js');
