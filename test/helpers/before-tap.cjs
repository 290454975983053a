/** Loaded before tap in every test file. Tap follows every module, in the programs that tests start too, for a coverage that is switched off, and every
 *  promise, to know whose test an uncaught error belongs to. That doubles what it costs to start a program, and takes up to a fifth of the CPU of what is
 *  tested; an uncaught error ends the file as a failure all the same. */
'use strict';

const isTaps = (name) => String(name).includes('@tapjs/processinfo');

const modules = require('node:module');
const { register } = modules;
modules.register = (specifier, ...others) => (isTaps(specifier) ? undefined : register(specifier, ...others));
process.env.__TAPJS_PROCESSINFO_TESTING_NO_REGISTER__ = String(process.pid);

require('node:async_hooks').createHook = () => {
  const hook = { enable: () => hook, disable: () => hook };
  return hook;
};

const options = (process.env.NODE_OPTIONS ?? '').split(' ').filter((option) => !isTaps(option));
if (options.length > 0) process.env.NODE_OPTIONS = options.join(' ');
else delete process.env.NODE_OPTIONS;
