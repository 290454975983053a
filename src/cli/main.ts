#!/usr/bin/env node
/** The program of the cli. An old Node is refused before anything is imported that it may
 *  not understand. */
import '../app/node-version.js';

const { program, args } = await import('./commands.js');
const { runProgram } = await import('./program.js');
process.exitCode = await runProgram(program, args);
